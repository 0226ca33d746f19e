// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "rpcrdma/fabric/open/open.hpp"
#include "subject.hpp"

namespace rpcrdma::bench {

/// This library, client and server, on one thread each; the server holds `idle` more connections.
std::unique_ptr<Subject> make_rpcrdma(const fabric::OpenOptions& options, std::uint32_t idle = 0);

}  // namespace rpcrdma::bench
