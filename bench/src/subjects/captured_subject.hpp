// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "setting.hpp"
#include "subject.hpp"

namespace rpcrdma::bench {

enum class CapturedSide : std::uint8_t { server, client };

/// As make_rpcrdma(), with a capture of the traffic of one side.
std::unique_ptr<Subject> make_captured(const Setting& setting, CapturedSide side);

}  // namespace rpcrdma::bench
