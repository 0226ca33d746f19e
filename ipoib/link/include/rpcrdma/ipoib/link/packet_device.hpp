// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::ipoib {

/// The work on one packet that the IP stack leaves to the network interface, as in struct virtio_net_hdr: cutting the
/// packet into segments, and completing its checksum. A PacketDevice passes these values on without checking them.
struct Offload {
  enum class Cut : std::uint8_t { none, tcp, udp };
  /// If `cut` is not `none`, the packet must be cut into segments. Each segment has the packet's headers and `cut_size`
  /// bytes of the packet's payload. The last segment may have fewer bytes of the payload.
  Cut cut = Cut::none;
  std::uint16_t cut_size = 0;
  /// If true, the TCP or UDP checksum must be completed. The checksum covers the packet from byte `checksum_start` to
  /// the end. The checksum field lies `checksum_offset` bytes after `checksum_start`. It holds the sum of the pseudo
  /// header.
  bool checksum = false;
  std::uint16_t checksum_start = 0;
  std::uint16_t checksum_offset = 0;
};

/// The largest packet that the stack passes in place of several TCP segments or UDP datagrams.
inline constexpr std::size_t kMaxUncut = 65535 + 40;

/// The interface of the link to the IP stack: packets without a link-layer header. Used on one thread.
class PacketDevice {
 public:
  virtual ~PacketDevice() = default;
  /// Calls `ready` once, from the io_context, when a packet can be read. Only one wait is permitted at a time.
  virtual void wait(UniqueFunction<void()> ready) = 0;
  /// Reads one packet and returns its size; 0 if there is no packet now. Bytes for which `out` has no room are written
  /// to `rest`.
  virtual Result<std::size_t> read(MutableOctets out, MutableOctets rest, Offload& offload) noexcept = 0;
  /// Passes one packet, which may stand for several, to the stack. False if the stack did not accept it.
  virtual bool write(std::span<const Octets> parts, const Offload& offload) noexcept = 0;
};

}  // namespace rpcrdma::ipoib
