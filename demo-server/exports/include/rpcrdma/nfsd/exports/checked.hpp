// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/system/result.hpp>
#include <string>
#include <string_view>

namespace rpcrdma::nfsd {

/// Why something that the operator asked for cannot be had: one line, to be shown as it is.
struct Refusal {
  std::string text;
};

/// A value, or why there is none.
template <class T>
using Checked = boost::system::result<T, Refusal>;

/// `checked` with `prefix` before its refusal, if it is one.
template <class T>
Checked<T> prefixed(Checked<T> checked, std::string_view prefix) {
  if (!checked) return Refusal{std::string(prefix) + checked.error().text};
  return checked;
}

}  // namespace rpcrdma::nfsd
