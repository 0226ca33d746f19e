// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric {

/// Observes the calls and callbacks of fabrics: wraps each fabric in another one of the same behaviour. Without a tap,
/// a fabric has no extra cost.
class RPCRDMA_EXPORT Tap {
 public:
  virtual ~Tap() = default;
  /// Returns a fabric that owns `fabric`. The result passes the calls of its user to `fabric`, and the callbacks of
  /// `fabric` to its user. The result may outlive the tap. May be called on any thread.
  virtual std::unique_ptr<Fabric> wrap(std::unique_ptr<Fabric> fabric) = 0;
};

}  // namespace rpcrdma::fabric
