// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A fabric that survives the loss of its device: it owns a provider's fabric, and opens another one when the device is
// back.
#include <chrono>
#include <memory>
#include <string>

#include "rpcrdma/base/log.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric {

/// How a lost fabric is opened again.
struct LastingOptions {
  std::string name = "the device";  ///< the name of the device in log lines, such as "rxe0 at 192.0.2.7"
  /// The bound of the first pause between attempts to open the fabric again or to listen again. The bound doubles with
  /// each pause, up to `last_pause`. Each pause has a random length between half the bound and the bound.
  std::chrono::milliseconds first_pause{250};
  std::chrono::milliseconds last_pause{4000};  ///< the longest pause
};

/// Returns a fabric that outlives its device. It passes operations to `first` until the device of `first` is lost. The
/// connections of `first` then end with FabricError::device_lost. The returned fabric destroys `first` at once, with
/// all registrations and listeners, so that the kernel can remove the device.
///
/// The returned fabric then calls `open` to get a replacement for `first`: at growing intervals, and whenever the user
/// connects, accepts or listens. `open` runs on the fabric's thread and must not block. The replacement is accepted if
/// it has the capabilities of `first` (only lockable_memory may differ) and can register all memory that the user has
/// registered. The user's listeners then listen at the same addresses again.
///
/// Until a replacement is accepted, connecting, accepting and listening fail with FabricError::device_lost.
/// Registrations succeed, and take effect when a replacement is accepted. A timer keeps the io_context from running out
/// of work. The replacement gives memory new keys. MemoryRegion::buffer() returns the present key. A change of
/// Counters::reopened shows that older keys are invalid.
std::unique_ptr<Fabric> make_lasting(std::unique_ptr<Fabric> first,
                                     UniqueFunction<Result<std::unique_ptr<Fabric>>()> open, LastingOptions options,
                                     Log log);

}  // namespace rpcrdma::fabric
