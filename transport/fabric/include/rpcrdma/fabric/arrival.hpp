// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

#include "rpcrdma/base/export.hpp"

namespace rpcrdma::fabric {

/// How far the peer has written the range of a window. If the provider can tell (iwarp), its Window is also an Arrival.
/// Devices cannot tell: data is known to be placed only when a later Send has been received.
class RPCRDMA_EXPORT Arrival {
 public:
  /// The number of bytes written from the start of the range on, as long as each Write begins where the previous one
  /// ended; the first Write that begins elsewhere freezes the number. Valid from one bind until the next.
  virtual std::uint32_t arrived() const noexcept = 0;
  /// True if a Write did not begin where the last one ended.
  virtual bool out_of_order() const noexcept = 0;

 protected:
  ~Arrival() = default;
};

}  // namespace rpcrdma::fabric
