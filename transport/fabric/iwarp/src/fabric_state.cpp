// SPDX-License-Identifier: BSD-3-Clause
#include "fabric_state.hpp"

#include <algorithm>
#include <limits>

#include "rpcrdma/base/host_path.hpp"

namespace rpcrdma::fabric::iwarp {
namespace {

IwarpOptions sane(IwarpOptions options) {
  options.max_read_depth = std::min<std::uint32_t>(options.max_read_depth, kDepthNotNegotiated - 1);
  return options;
}

}  // namespace

FabricState::FabricState(boost::asio::io_context& c, const IwarpOptions& o, Log l)
    : context(c), options(sane(o)), log(std::move(l)) {
  capabilities.name = "iwarp";
  capabilities.max_gather = kMaxWorkGather;
  capabilities.max_read_depth = options.max_read_depth;
  capabilities.max_message = std::numeric_limits<std::uint32_t>::max();
  capabilities.remote_invalidation = true;
  capabilities.exact_window_bounds = true;
  capabilities.cheap_registration = true;
  capabilities.reports_access = true;
}

const MutableOctets* FabricState::region_of(const BufferRef& buffer) const noexcept {
  const auto found = regions.find(buffer.local_key);
  if (found == regions.end()) return nullptr;
  const MutableOctets& region = found->second;
  const std::less<const std::byte*> before;
  if (before(buffer.data, region.data())) return nullptr;
  const auto skipped = static_cast<std::size_t>(buffer.data - region.data());
  return skipped <= region.size() && buffer.size <= region.size() - skipped ? &region : nullptr;
}

SetupWishes FabricState::wishes(const QueuePairOptions& wanted, const Endpoint& local,
                                const Endpoint& peer) const noexcept {
  SetupWishes out;
  // [5044-4.4-b] [5044-4.4-k] [5041-3-d] without the option, CRCs are off only if both addresses are loopback
  out.crc = options.crc.value_or(!(unmapped(local.address()).is_loopback() && unmapped(peer.address()).is_loopback()));
  out.markers = options.request_markers;
  out.enhanced = options.enhanced;
  out.peer_to_peer = options.peer_to_peer;
  out.max_reads = static_cast<std::uint16_t>(options.max_read_depth);
  // [5040-8.1.1-e] the number of outstanding Reads is capped
  out.inbound_reads = static_cast<std::uint16_t>(std::min(wanted.inbound_reads, options.max_read_depth));
  out.outbound_reads = static_cast<std::uint16_t>(std::min(wanted.outbound_reads, options.max_read_depth));
  return out;
}

}  // namespace rpcrdma::fabric::iwarp
