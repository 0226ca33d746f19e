// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

#include "rpcrdma/base/export.hpp"

namespace rpcrdma::fabric {

/// Reports how far the peer has written the range of a window. A Window of iwarp is also an Arrival. Devices do not
/// report this: on a device, data is known to be placed only when a later Send has been received.
class RPCRDMA_EXPORT Arrival {
 public:
  /// The number of bytes that the peer has written in order, from the start of the range. Each Write must begin where
  /// the previous one ended; after the first Write that begins elsewhere, the number stays the same. Valid from one
  /// bind until the next.
  virtual std::uint32_t arrived() const noexcept = 0;
  /// True once a Write has not begun directly after the bytes that arrived() counts. arrived() then no longer grows.
  virtual bool out_of_order() const noexcept = 0;

 protected:
  ~Arrival() = default;
};

}  // namespace rpcrdma::fabric
