// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "subject.hpp"

namespace rpcrdma::bench {

/// What an RPC program has today: an rpcgen service on libtirpc over TCP, one call at a time.
std::unique_ptr<Subject> make_tirpc_tcp();

}  // namespace rpcrdma::bench
