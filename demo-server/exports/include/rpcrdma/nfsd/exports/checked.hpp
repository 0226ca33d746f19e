// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/system/result.hpp>
#include <string>
#include <string_view>

namespace rpcrdma::nfsd {

/// The reason why a request of the operator is refused: one line, to be shown unchanged.
struct Refusal {
  std::string text;
};

/// A value, or the reason why there is none.
template <class T>
using Checked = boost::system::result<T, Refusal>;

/// Returns `checked`; if it is a refusal, puts `prefix` before its text.
template <class T>
Checked<T> prefixed(Checked<T> checked, std::string_view prefix) {
  if (!checked) return Refusal{std::string(prefix) + checked.error().text};
  return checked;
}

}  // namespace rpcrdma::nfsd
