// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/ipoib/link/statistics.hpp"

#include <fmt/format.h>

namespace rpcrdma::ipoib {

std::string Statistics::text() const {
  return fmt::format(
      "sent={} sent_bytes={} received={} received_bytes={} cut={} joined={} pauses={} multicast={} no_neighbour={} "
      "unreachable={} "
      "too_big={} stalled={} lost={} invalid={} bad_frames={} bad_types={} bad_sources={} not_taken={} connected={} "
      "accepted={} rejected={} failed={} refused_crossing={} refused_unknown={} refused_mtu={} refused_malformed={} "
      "refused_busy={} ended={} idle={}",
      sent, sent_bytes, received, received_bytes, cut, joined, pauses, multicast, no_neighbour, unreachable, too_big,
      stalled, lost, invalid, bad_frames, bad_types, bad_sources, not_taken, connected, accepted, rejected, failed,
      refused_crossing, refused_unknown, refused_mtu, refused_malformed, refused_busy, ended, idle);
}

}  // namespace rpcrdma::ipoib
