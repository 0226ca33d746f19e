// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace rpcrdma {

/// Refers to bytes. Contains their address, their number and the local key by which a fabric addresses them. Owns
/// nothing; the function that returns a BufferRef states how long it is valid. Copyable, 16 bytes.
struct BufferRef {
  std::byte* data = nullptr;    ///< the first byte; null: no memory, or see IncomingCall::send_from()
  std::uint32_t size = 0;       ///< bytes
  std::uint32_t local_key = 0;  ///< the key of the memory region that contains the bytes; 0: not registered

  /// The bytes. The span is valid while the memory is valid.
  std::span<std::byte> octets() const noexcept { return {data, size}; }
  /// The part [offset, offset + count). The caller checks the range.
  BufferRef slice(std::uint32_t offset, std::uint32_t count) const noexcept {
    return {data + offset, count, local_key};
  }
};

/// Remote memory as a peer advertises it: a segment of RFC 8166 section 3.4.3 (handle, length, offset). The
/// offset is opaque: it may have any 64-bit value (section 4.4.3).
struct Segment {
  std::uint32_t handle = 0;  ///< the key of the registration
  std::uint32_t length = 0;  ///< bytes
  std::uint64_t offset = 0;  ///< addresses the first byte; the next byte has offset + 1
  friend bool operator==(const Segment&, const Segment&) = default;
};

}  // namespace rpcrdma
