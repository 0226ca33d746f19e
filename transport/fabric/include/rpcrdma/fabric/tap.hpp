// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric {

/// Observes the calls and callbacks of fabrics: wraps each fabric in another one of the same behaviour. A fabric that
/// is not wrapped has no extra cost.
class RPCRDMA_EXPORT Tap {
 public:
  virtual ~Tap() = default;
  /// A fabric that passes all calls and callbacks to and from `fabric`, which it owns. The result may outlive the tap.
  /// Any thread.
  virtual std::unique_ptr<Fabric> wrap(std::unique_ptr<Fabric> fabric) = 0;
};

}  // namespace rpcrdma::fabric
