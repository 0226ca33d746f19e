// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The ranges of numbers on the command line and in the configuration.
#include <cstdint>

namespace rpcrdma::nfsd {

struct NumberRange {
  std::uint32_t least;
  std::uint32_t most;
  std::uint32_t unit = 1;  ///< values must be multiples of this number
};

inline constexpr NumberRange kThreadsRange{1, 256};
inline constexpr NumberRange kCreditsRange{1, 1024};
inline constexpr NumberRange kInlineThresholdRange{1024, 262144, 1024};
inline constexpr NumberRange kMaxConnectionsRange{1, 1000000};
inline constexpr NumberRange kKeepaliveRange{1, 7200};

}  // namespace rpcrdma::nfsd
