// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "setting.hpp"
#include "subject.hpp"

namespace rpcrdma::bench {

/// Makes the subject that measures this library. The client and the server run on one thread each. In addition to the
/// measured connections, another process holds `idle` connections to the server. Throws Unavailable if the limits of
/// this machine do not permit so many connections.
std::unique_ptr<Subject> make_rpcrdma(const Setting& setting, std::uint32_t idle = 0);

}  // namespace rpcrdma::bench
