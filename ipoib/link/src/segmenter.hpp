// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// What the IP stack leaves to an adapter when it sends: checksums, and cutting packets (segmentation offload).
#include "rpcrdma/ipoib/link/packet_device.hpp"

namespace rpcrdma::ipoib {

/// Completes the checksum of a packet. False if it lies outside.
bool complete_checksum(MutableOctets packet, const Offload& offload) noexcept;

/// Cuts a packet that stands for several. Each gets the headers, with its own lengths, IPv4 identification, TCP
/// sequence number and checksums. FIN and PSH are for the last one, CWR for the first (RFC 3168 section 6.1.2).
class Segmenter {
 public:
  /// `packet` stays valid until done(). False if it is not what `offload` says, or has a segment larger than `most`.
  bool begin(Octets packet, const Offload& offload, std::size_t most) noexcept;
  bool done() const noexcept { return left_ == 0; }
  /// Writes the next one to `out`, of at least the `most` bytes, and returns its size. Requires !done().
  std::size_t next(MutableOctets out) noexcept;
  /// Forgets the others, and returns how many they are.
  std::size_t drop() noexcept;
  /// Whether none has been taken yet.
  bool at_first() const noexcept { return index_ == 0; }

 private:
  std::size_t headers_of(Octets packet, const Offload& offload) const noexcept;

  Octets packet_;
  Offload offload_;
  std::size_t headers_ = 0;  // bytes of them
  std::size_t left_ = 0;     // segments
  std::uint32_t index_ = 0;
};

}  // namespace rpcrdma::ipoib
