// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Joins consecutive TCP segments of one flow into a packet that stands for them (as generic receive offload does), so
// that the IP stack handles them as one. Nothing is reordered. If the stack cuts the joined packet, it obtains the
// same segments, except for IPv4 identifications that have no meaning.
#include <array>
#include <optional>

#include "rpcrdma/ipoib/link/packet_device.hpp"

namespace rpcrdma::ipoib {

/// A packet that may be joined with others: a TCP segment in an unfragmented packet without IP options or extension
/// headers, with a payload, the flag ACK, no other flag but PSH, and the length that its IP header states.
struct Joinable {
  Octets packet;
  bool six = false;
  std::size_t transport = 0;  ///< offset of the TCP header
  std::size_t headers = 0;    ///< size of both headers, in bytes
  bool last = false;          ///< PSH is set: no segment is joined after it
};
std::optional<Joinable> parse_joinable(Octets packet) noexcept;

class Joiner {
 public:
  static constexpr std::size_t kMaxSegments = 64;

  bool empty() const noexcept { return count_ == 0; }
  /// The sum of the sizes of the packets that are joined, in bytes. The headers of each packet count.
  std::size_t bytes() const noexcept { return size_ + (count_ - 1) * first_.headers; }
  /// The number of packets that are joined.
  std::size_t count() const noexcept { return count_; }
  /// Starts with `first`, whose memory must stay valid until clear(). Requires empty().
  void start(const Joinable& first) noexcept;
  /// Appends `next` if it continues the joined packets, and if its checksums and those of the first packet are right.
  /// Returns whether it has appended `next`, whose memory must then stay valid until clear().
  bool append(const Joinable& next) noexcept;
  /// Whether no further packet can be appended.
  bool full() const noexcept { return full_; }
  /// The parts of the joined packet; valid until the next call that changes this object. Requires !empty().
  std::span<const Octets> parts() noexcept;
  Offload offload() const noexcept;
  void clear() noexcept { count_ = 0; }

 private:
  bool continues(const Joinable& next) const noexcept;

  Joinable first_;
  std::array<Octets, kMaxSegments + 1> parts_;  // the headers, and the payload of each packet
  std::array<std::byte, 40 + 60> headers_{};
  std::size_t count_ = 0;
  std::size_t size_ = 0;      // bytes of the joined packet: the headers once, and the payload of each packet
  std::size_t cut_size_ = 0;  // payload bytes of the first packet: the Offload::cut_size of the joined packet
  bool full_ = false;
};

}  // namespace rpcrdma::ipoib
