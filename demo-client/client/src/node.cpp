// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfs/node.hpp"

namespace rpcrdma::nfs {

bool is_plain_name(std::string_view name) noexcept {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

}  // namespace rpcrdma::nfs
