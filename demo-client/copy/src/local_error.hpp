// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cerrno>

#include "rpcrdma/base/error.hpp"

namespace rpcrdma::nfs {

inline error_code last_system_error() noexcept { return {errno, boost::system::system_category()}; }

}  // namespace rpcrdma::nfs
