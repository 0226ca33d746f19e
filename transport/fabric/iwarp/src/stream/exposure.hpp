// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric::iwarp {

class Exposures;

/// The state of one window. While the window is bound, the peer of its stream may access exactly the bytes of `memory`,
/// under the STag in `segment`.
struct Exposure {
  const Exposures* owner = nullptr;  ///< the Exposures of its stream
  BufferRef memory;
  Access access = Access::remote_read;
  Segment segment;
  bool bound = false;         ///< the table of STags contains the exposure
  bool invalidating = false;  ///< invalidate() is posted and has not completed
  /// The number of transfers that use this exposure: the segment that is being placed, and Read Responses that are not
  /// yet written to the socket.
  std::uint32_t pins = 0;
  std::uint32_t arrived = 0;  ///< bytes that the peer has written in order, from the start of the range
  bool out_of_order = false;  ///< the peer has written a part of the range out of order
};

}  // namespace rpcrdma::fabric::iwarp
