// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "subject.hpp"

namespace rpcrdma::bench {

/// A lower bound on the cost of the iwarp fabric: sendmsg() and recvmsg() of the same bytes between the same buffers,
/// without an event loop. In bulk cases with several calls in flight, the bytes form a one-way stream.
std::unique_ptr<Subject> make_raw_tcp();
/// A lower bound on the latency of the iwarp fabric. Does the same as make_raw_tcp(), but both sides poll for the next
/// small message before they block. Each side needs a processor of its own.
std::unique_ptr<Subject> make_raw_tcp_spin();

}  // namespace rpcrdma::bench
