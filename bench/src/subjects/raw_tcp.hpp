// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "subject.hpp"

namespace rpcrdma::bench {

/// Makes the subject that measures a lower bound on the cost of the iwarp fabric. For each operation, it sends and
/// receives about as many bytes as the operation transfers over that fabric. It uses sendmsg() and recvmsg() without an
/// event loop. In bulk cases with several calls in flight, the bytes form a one-way stream.
std::unique_ptr<Subject> make_raw_tcp();
/// A lower bound on the latency of the iwarp fabric. Does the same as make_raw_tcp(), but both sides poll for the next
/// small message before they block. Each side needs a processor of its own.
std::unique_ptr<Subject> make_raw_tcp_spin();

}  // namespace rpcrdma::bench
