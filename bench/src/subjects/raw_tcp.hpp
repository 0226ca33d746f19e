// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "subject.hpp"

namespace rpcrdma::bench {

/// The least cost of the iwarp fabric: sendmsg() and recvmsg() of the same bytes between the same buffers, without an
/// event loop, and for the deep bulk cases a one-way stream of them.
std::unique_ptr<Subject> make_raw_tcp();

}  // namespace rpcrdma::bench
