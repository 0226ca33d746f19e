// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "subject.hpp"

namespace rpcrdma::bench {

/// The floor of this fabric: blocking send() and recv() of the same octets, and for the deep bulk cases a
/// one-way stream of them.
std::unique_ptr<Subject> make_raw_tcp();

}  // namespace rpcrdma::bench
