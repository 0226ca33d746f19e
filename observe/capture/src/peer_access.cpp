// SPDX-License-Identifier: BSD-3-Clause
#include "peer_access.hpp"

namespace rpcrdma::capture {

void PeerAccess::bound(const Segment& segment, BufferRef memory, fabric::Access access) {
  windows_[segment.handle] = {segment, memory, access};
}

bool PeerAccess::decode(Octets message) {
  return !windows_.empty() &&
         wire::decode(message, header_, {.lowest_version = wire::kVersion, .highest_version = wire::kVersionTwo})
             .has_value();
}

void PeerAccess::sent(Octets message) {
  if (!decode(message)) return;
  for (const wire::ReadSegment& read : header_.chunks.reads) {
    const auto found = windows_.find(read.target.handle);
    if (found == windows_.end()) continue;
    found->second.xid = header_.xid;
    found->second.named = true;
  }
}

const std::vector<AccessPart>& PeerAccess::received(Octets message) {
  parts_.clear();
  if (!decode(message)) return parts_;
  for (auto& [handle, exposed] : windows_) {
    if (exposed.access != fabric::Access::remote_read || !exposed.named || exposed.xid != header_.xid) continue;
    exposed.named = false;
    parts_.push_back({exposed.access, exposed.segment, exposed.memory});
  }
  for (std::size_t chunk = 0; chunk < header_.chunks.write_chunk_count(); ++chunk)
    for (const Segment& segment : std::as_const(header_.chunks).write_chunk(chunk)) add_written(segment);
  for (const Segment& segment : std::as_const(header_.chunks).reply_chunk()) add_written(segment);
  return parts_;
}

/// Adds the local memory of `segment` to parts_. The peer may have sent any values in `segment`. Therefore the function
/// ignores a segment that does not lie completely in a window for remote writes.
void PeerAccess::add_written(const Segment& segment) {
  const auto found = windows_.find(segment.handle);
  if (found == windows_.end() || found->second.access != fabric::Access::remote_write || segment.length == 0) return;
  const Exposed& exposed = found->second;
  const std::uint64_t skipped = segment.offset - exposed.segment.offset;  // huge if the offset is below the range
  if (skipped > exposed.memory.size || segment.length > exposed.memory.size - skipped) return;
  parts_.push_back(
      {exposed.access, segment, exposed.memory.slice(static_cast<std::uint32_t>(skipped), segment.length)});
}

}  // namespace rpcrdma::capture
