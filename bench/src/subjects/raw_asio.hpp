// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "subject.hpp"

namespace rpcrdma::bench {

/// A bare echo on Boost.Asio, asynchronous on both sides: the cost of an event loop by itself.
std::unique_ptr<Subject> make_raw_asio();

}  // namespace rpcrdma::bench
