// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "setting.hpp"
#include "subject.hpp"

namespace rpcrdma::bench {

enum class CapturedSide : std::uint8_t { server, client };

/// Makes the same subject as make_rpcrdma(), except that `side` captures its traffic in a temporary file.
std::unique_ptr<Subject> make_captured(const Setting& setting, CapturedSide side);

}  // namespace rpcrdma::bench
