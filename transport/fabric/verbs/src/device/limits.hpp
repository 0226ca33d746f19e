// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

#include "handles.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/fabric/verbs/verbs.hpp"

namespace rpcrdma::fabric::verbs {

/// Limits and properties of a device, queried once.
struct DeviceLimits {
  std::uint32_t max_gather = 1;
  std::uint32_t max_message = 0;
  std::uint32_t max_inbound_reads = 0;
  std::uint32_t max_outbound_reads = 0;
  std::uint32_t max_work = 0;  ///< work requests of one queue
  bool windows = false;        ///< memory windows of type 2B: exposures that a peer can invalidate
  bool exact_window_bounds = false;
  bool send_with_invalidate = false;
  bool iwarp = false;  ///< an iWARP device: its RDMA Reads disclose the key of their sink to the peer
  /// When the peer accepts, the event at the connector has the two read depths swapped (siw).
  bool swapped_read_depths = false;
  /// The device requires that the sink of an RDMA Read is registered with remote write access. Set for iWARP devices
  /// other than siw. The registration covers only the sink, and ends when the Read completes.
  bool remote_writable_sinks = false;
  /// Operations posted after an RDMA Read may complete before it (siw). Therefore every operation needs its own
  /// completion.
  bool overtakes_reads = false;

  /// True if the device's driver applies the limit of locked memory even to a process with CAP_IPC_LOCK (siw).
  bool limit_binds_always = false;
};

/// Returns `options`, in which a keepalive of less than one second is replaced by one second.
VerbsOptions within_bounds(VerbsOptions options) noexcept;
/// Whether this process has the capability CAP_IPC_LOCK. The limit of locked memory then applies to the process only on
/// devices with limit_binds_always.
bool may_lock_memory() noexcept;
Result<DeviceLimits> query_limits(ibv_pd* domain, std::uint8_t port, const VerbsOptions& options);

}  // namespace rpcrdma::fabric::verbs
