// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Connection private data of RPC-over-RDMA version 1 (RFC 8797). Does no I/O; may be used on any thread.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::wire {

/// The smallest inline threshold, which is also the threshold without private data (RFC 8166 section 3.3.3).
inline constexpr std::uint32_t kMinThreshold = 1024;
/// The largest size that private data can encode (RFC 8797 section 4.2).
inline constexpr std::uint32_t kMaxThreshold = 262144;
inline constexpr std::size_t kPrivateDataSize = 8;

/// The properties that one side announces. The defaults hold for a peer that announces none (section 5.1).
struct PrivateData {
  bool remote_invalidation = false;            ///< flag R: accepts Send with Invalidate
  std::uint32_t send_size = kMinThreshold;     ///< largest Send of this side, bytes
  std::uint32_t receive_size = kMinThreshold;  ///< size of this side's Receive buffers, bytes
  friend bool operator==(const PrivateData&, const PrivateData&) = default;
};

/// Returns the size that the peer decodes if this side announces `size`: limited to the range from kMinThreshold to
/// kMaxThreshold, and rounded down to a multiple of 1024 (section 4.2).
std::uint32_t advertised_size(std::uint32_t size) noexcept;

std::array<std::byte, kPrivateDataSize> encode(const PrivateData& data) noexcept;

/// Searches for the format identifier at any offset, aligned or not (section 5.2). Returns nothing if the structure is
/// absent, has an unknown version, or is cut short; the receiver then assumes PrivateData{}.
std::optional<PrivateData> find_private_data(Octets received) noexcept;

/// The inline thresholds that one side of a connection uses: `send` for the messages that this side sends, `receive`
/// for the messages that it receives. A threshold is the largest size of one Send in bytes, including the transport
/// header. Both thresholds apply to calls and to replies, and to the forward and the reverse direction.
struct Thresholds {
  std::uint32_t send = kMinThreshold;
  std::uint32_t receive = kMinThreshold;
  /// Whether Send with Invalidate may be used. negotiate() sets this member to true if both sides have set flag R.
  bool remote_invalidation = false;
};
Thresholds negotiate(const PrivateData& ours, const PrivateData& peers) noexcept;

}  // namespace rpcrdma::wire
