// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric::iwarp {

class Exposures;

/// What a window exposes: one exact range, to the peer of one stream, by one STag.
struct Exposure {
  const Exposures* owner = nullptr;  ///< the Exposures of its stream
  BufferRef memory;
  Access access = Access::remote_read;
  Segment segment;
  bool bound = false;         ///< in the table of STags
  bool invalidating = false;  ///< invalidate() is posted and has not completed
  /// Frames that name this exposure: a segment being placed, Read Responses not yet written to the socket.
  std::uint32_t pins = 0;
  std::uint32_t arrived = 0;  ///< bytes from the start that were written in order
  bool out_of_order = false;
};

}  // namespace rpcrdma::fabric::iwarp
