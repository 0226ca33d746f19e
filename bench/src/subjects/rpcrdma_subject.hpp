// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "setting.hpp"
#include "subject.hpp"

namespace rpcrdma::bench {

/// This library, client and server, on one thread each; the server holds `idle` more connections. Throws Unavailable if
/// this machine's limits do not permit so many.
std::unique_ptr<Subject> make_rpcrdma(const Setting& setting, std::uint32_t idle = 0);

}  // namespace rpcrdma::bench
