// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "setting.hpp"
#include "subject.hpp"

namespace rpcrdma::bench {

/// The service of examples/hello, through rpcrdma::Server and rpcrdma::Client, on one thread each.
std::unique_ptr<Subject> make_hello(const Setting& setting);

}  // namespace rpcrdma::bench
