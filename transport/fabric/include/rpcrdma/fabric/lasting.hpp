// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The owner of a fabric whose device may be lost: opens another one when the device is back.
#include <chrono>
#include <memory>
#include <string>

#include "rpcrdma/base/log.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric {

struct LastingOptions {
  std::string name = "the device";  ///< in log lines, such as "rxe0 at 192.0.2.7"
  /// Wait between attempts to open the fabric again, and to listen again: doubles from the first value to the last,
  /// with jitter.
  std::chrono::milliseconds first_pause{250};
  std::chrono::milliseconds last_pause{4000};
};

/// A fabric that does not end. When `first` ends, its connections end with FabricError::device_lost, and it is
/// destroyed at once, with all registrations and listeners, so that the device can be removed. `open` then runs on the
/// fabric's thread, at growing intervals and before a connection is made, until it gives a fabric of the same
/// capabilities; it must not block. All memory is registered with that one, and the listeners listen at the same
/// addresses.
///
/// While there is no device, connecting, accepting and listening fail with FabricError::device_lost, and memory that is
/// registered waits for the next device. A timer holds work on the io_context in that time. BufferRefs get new keys:
/// MemoryRegion::buffer() has the present one, and Counters::reopened tells that there are older ones.
std::unique_ptr<Fabric> make_lasting(std::unique_ptr<Fabric> first,
                                     UniqueFunction<Result<std::unique_ptr<Fabric>>()> open, LastingOptions options,
                                     Log log);

}  // namespace rpcrdma::fabric
