// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

#include "rpcrdma/base/export.hpp"

namespace rpcrdma::fabric {

/// How far the peer has written the range of a window. A Window of a provider that can tell is also an Arrival (iwarp).
/// Devices do not tell: there, data is known to be placed only when a later Send has been received.
class RPCRDMA_EXPORT Arrival {
 public:
  /// Bytes from the start of the range that are placed, if each Write began where the last one had ended. It does not
  /// change any more after a Write that did not. Valid from one bind until the next.
  virtual std::uint32_t arrived() const noexcept = 0;
  /// A Write began elsewhere.
  virtual bool out_of_order() const noexcept = 0;

 protected:
  ~Arrival() = default;
};

}  // namespace rpcrdma::fabric
