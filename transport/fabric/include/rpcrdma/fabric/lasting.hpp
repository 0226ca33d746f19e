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
  /// Wait between attempts to open the fabric again, and to listen again: doubles from the first value to the last,
  /// with jitter.
  std::chrono::milliseconds first_pause{250};
  std::chrono::milliseconds last_pause{4000};  ///< the longest wait
};

/// A fabric that does not end. When `first` ends, its connections end with FabricError::device_lost. `first` is then
/// destroyed at once, with all registrations and listeners, so that the device can be removed. `open` runs on the
/// fabric's thread, at growing intervals and whenever the user connects, accepts or listens; it must not block. The
/// attempts end when `open` returns a fabric of the same capabilities (lockable_memory may differ) and all memory can
/// be registered with it. The listeners then listen at the same addresses again.
///
/// While there is no device, connecting, accepting and listening fail with FabricError::device_lost, and new
/// registrations take effect with the next device. A timer keeps the io_context from running out of work. The next
/// device gives memory new keys: MemoryRegion::buffer() returns the present key, and a change of Counters::reopened
/// shows that older keys are invalid.
std::unique_ptr<Fabric> make_lasting(std::unique_ptr<Fabric> first,
                                     UniqueFunction<Result<std::unique_ptr<Fabric>>()> open, LastingOptions options,
                                     Log log);

}  // namespace rpcrdma::fabric
