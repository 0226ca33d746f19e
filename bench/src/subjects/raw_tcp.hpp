// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "subject.hpp"

namespace rpcrdma::bench {

/// The floor of this fabric: sendmsg() and recvmsg() of the same bytes between the same buffers, without any event
/// loop, and for the deep bulk cases a one-way stream of them.
std::unique_ptr<Subject> make_raw_tcp();

}  // namespace rpcrdma::bench
