// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

#include "handles.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/fabric/verbs/verbs.hpp"

namespace rpcrdma::fabric::verbs {

/// What the provider needs to know of a device, queried once.
struct DeviceLimits {
  std::uint32_t max_gather = 1;
  std::uint32_t max_message = 0;
  std::uint32_t max_inbound_reads = 0;
  std::uint32_t max_outbound_reads = 0;
  std::uint32_t max_work = 0;  ///< work requests of one queue
  bool windows = false;        ///< memory windows of type 2B: exposures that a peer can invalidate
  bool exact_window_bounds = false;
  bool send_with_invalidate = false;
  bool iwarp = false;  ///< RDMA Reads tell the peer the key of their sink
  /// An accepted connector is told its own read depths instead of the peer's (siw).
  bool swapped_read_depths = false;
  /// The sink of an RDMA Read must be writable by the peer (iWARP adapters; siw does not insist): as long as the Read
  /// is outstanding, and no more than the sink.
  bool remote_writable_sinks = false;
  /// What is posted after an RDMA Read may complete before it, so that a completion speaks for itself only and
  /// every operation needs its own (siw).
  bool overtakes_reads = false;

  friend bool operator==(const DeviceLimits&, const DeviceLimits&) = default;
};

/// What is asked, in the bounds that VerbsOptions gives.
VerbsOptions within_bounds(VerbsOptions options) noexcept;
Result<DeviceLimits> query_limits(ibv_pd* domain, std::uint8_t port, const VerbsOptions& options);

}  // namespace rpcrdma::fabric::verbs
