// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "unit/xdr/stream.hpp"

namespace rpcrdma::fuzz {

/// Appends `octets` to a received message in pieces of `step` bytes, or in one piece if `step` is 0.
inline void cut(test::InMessage& to, Octets octets, std::size_t step) {
  std::uint32_t position = 0;
  do {
    const std::size_t size = step == 0 ? octets.size() : std::min(step, octets.size());
    to.piece(octets.first(size), position);
    position += static_cast<std::uint32_t>(size);
    octets = octets.subspan(size);
  } while (!octets.empty());
}

}  // namespace rpcrdma::fuzz
