// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The work that the IP stack leaves to an adapter when it sends: checksums, and segmentation.
#include "rpcrdma/ipoib/link/packet_device.hpp"

namespace rpcrdma::ipoib {

/// Completes the checksum of a packet. False if the checksum field lies outside the packet.
bool complete_checksum(MutableOctets packet, const Offload& offload) noexcept;

/// Cuts a large TCP or UDP packet into segments. Each segment has a copy of the headers of the packet, but with
/// its own lengths, IPv4 identification, TCP sequence number and checksums. Only the last segment keeps the flags FIN
/// and PSH. Only the first segment keeps the flag CWR (RFC 3168 section 6.1.2).
class Segmenter {
 public:
  /// Starts to cut `packet`, which must stay valid until done() returns true. Returns false if the packet does not have
  /// the headers that `offload` describes, if `offload` has a cut_size of 0, or if a segment would be larger than
  /// `most` bytes. There are no segments then.
  bool begin(Octets packet, const Offload& offload, std::size_t most) noexcept;
  bool done() const noexcept { return left_ == 0; }
  /// Writes the next segment to `out`, which must have room for `most` bytes. Returns the size of the segment. Requires
  /// !done().
  std::size_t next(MutableOctets out) noexcept;
  /// Drops the remaining segments, and returns their number.
  std::size_t drop() noexcept;
  /// Whether no segment has been taken yet.
  bool at_first() const noexcept { return index_ == 0; }

 private:
  std::size_t headers_of(Octets packet, const Offload& offload) const noexcept;

  Octets packet_;
  Offload offload_;
  std::size_t headers_ = 0;  // bytes of all headers
  std::size_t left_ = 0;     // segments left
  std::uint32_t index_ = 0;
};

}  // namespace rpcrdma::ipoib
