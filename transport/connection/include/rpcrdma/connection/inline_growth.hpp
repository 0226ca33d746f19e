// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

namespace rpcrdma::transport {

/// Decides when to ask the peer for larger or smaller Receives. Does no I/O.
///
/// A call that fits inline costs neither windows nor an RDMA Read, but each Receive of the peer must be as large as the
/// largest inline call. Therefore the policy asks for a larger size when a quarter of the last 64 calls were too long
/// for the present size and would fit the larger one. It asks for the first size when none of 1024 calls in a row
/// needed a larger one. The large distance between 64 and 1024 keeps the size from changing back and forth. If the peer
/// rejects a size, the policy asks for a larger size again only after 16384 calls.
class InlineGrowth {
 public:
  static constexpr std::uint32_t kWindow = 64;           ///< calls that are examined together
  static constexpr std::uint32_t kEnough = kWindow / 4;  ///< calls among them that justify a larger size
  static constexpr std::uint32_t kQuiet =
      1024;  ///< after this number of calls in a row that need no larger size, the policy asks for the first size
  static constexpr std::uint32_t kPause = 16384;  ///< calls after pause() in which the policy asks for no larger size

  /// The policy asks for sizes from `least`, the first size of the peer's Receives, up to `most` bytes.
  InlineGrowth(std::uint32_t least, std::uint32_t most) noexcept : least_(least), most_(std::max(least, most)) {}

  /// To be called once for each call. `size` is the number of bytes that the call would have without chunks. `limit` is
  /// the maximum size that a Send may have at present. Returns the Receive Buffer Size to request from the peer now, if
  /// any.
  std::optional<std::uint32_t> on_call(std::uint64_t size, std::uint32_t limit) noexcept {
    if (pause_ != 0) --pause_;
    const bool needs_more = size > least_ && size <= most_;
    quiet_ = needs_more ? 0 : quiet_ + 1;
    if (needs_more && size > limit) {
      ++large_;
      largest_ = std::max(largest_, static_cast<std::uint32_t>(size));
    }
    if (++calls_ < kWindow) return std::nullopt;
    const bool grow = large_ >= kEnough && largest_ > limit && pause_ == 0;
    const std::uint32_t wanted = std::min(std::bit_ceil(largest_), most_);
    calls_ = large_ = largest_ = 0;
    if (grow) return wanted;
    if (quiet_ < kQuiet || limit <= least_) return std::nullopt;
    quiet_ = 0;
    return least_;
  }
  /// The size to ask for when no call needs a larger one.
  std::uint32_t least() const noexcept { return least_; }
  /// Makes on_call() request no larger size for a while (kPause). To be called when the peer has rejected a requested
  /// size, when a request has failed, and when the peer wants a smaller size.
  void pause() noexcept { pause_ = kPause; }

 private:
  std::uint32_t least_;
  std::uint32_t most_;
  std::uint32_t calls_ = 0;
  std::uint32_t large_ = 0;
  std::uint32_t largest_ = 0;
  std::uint32_t quiet_ = 0;
  std::uint32_t pause_ = 0;
};

}  // namespace rpcrdma::transport
