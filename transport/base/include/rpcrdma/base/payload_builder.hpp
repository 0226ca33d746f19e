// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <limits>
#include <span>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/payload.hpp"

namespace rpcrdma {

/// Lends further memory to a PayloadBuilder whose buffer is full.
class RPCRDMA_EXPORT PayloadMemory {
 public:
  /// Returns at least `at_least` bytes that stay valid as long as the message does. Fails with BaseError::out_of_memory
  /// if no memory is available at present, and with another error if the message must not become that long.
  virtual Result<BufferRef> more_payload_memory(std::uint32_t at_least) = 0;

 protected:
  ~PayloadMemory() = default;
};

/// Why a PayloadBuilder failed.
enum class BuildFailure : std::uint8_t {
  none,
  too_long,       ///< the message is longer than the memory meant for it, or than 2^32 - 1 bytes
  out_of_memory,  ///< no memory is available at present
  invalid,        ///< a value has no encoding
};

/// Builds an outgoing Payload in the memory that start() receives. item() and borrow() add bytes by reference, without
/// copying them. After a failure, ok() is false and nothing is added until the next start(). Used on one thread.
class RPCRDMA_EXPORT PayloadBuilder {
 public:
  /// Starts a new message in the memory `first`. When `first` is full, `memory` provides more. `memory` must outlive
  /// the message. If it is null, a message that does not fit in `first` fails with BuildFailure::too_long.
  void start(BufferRef first, PayloadMemory* memory) noexcept;

  bool ok() const noexcept { return failure_ == BuildFailure::none; }
  BuildFailure failure() const noexcept { return failure_; }
  /// Offset of the next byte in the unreduced stream.
  std::uint32_t position() const noexcept { return payload_.length; }
  /// Returns room for `count` consecutive bytes, at most 64 KiB, and counts them as written. Returns null on failure.
  std::byte* reserve(std::uint32_t count) noexcept {
    if (!ok() || cut_ || count > room_.size || payload_.length > kLongest - count) return reserve_elsewhere(count);
    return advance(count);
  }
  /// As reserve(), but returns null if the current buffer does not have this room at an address that is a multiple of
  /// 4. This does not count as a failure.
  std::byte* reserve_aligned(std::uint32_t count) noexcept;
  void octets(Octets value) noexcept;
  void u32(std::uint32_t value) noexcept {
    if (std::byte* at = reserve(4)) Writer(MutableOctets(at, 4)).u32(value);
  }
  /// Adds the bytes of a counted item by reference. The caller writes the count word first. The caller does not write
  /// the XDR pad: this function adds it to position(). The memory behind `parts` belongs to the caller and must stay
  /// valid and unchanged until the message is no longer used.
  void item(std::span<const BufferRef> parts) noexcept;
  /// Adds `octets` to the stream by reference. The memory of `octets` is registered and belongs to the caller. It must
  /// stay valid and unchanged until the message is no longer used.
  void borrow(BufferRef octets) noexcept;
  void fail(BuildFailure why = BuildFailure::invalid) noexcept {
    if (ok()) failure_ = why;
  }

  /// The message so far. Valid until the next start().
  const Payload& payload() const noexcept { return payload_; }

 private:
  static constexpr std::uint32_t kLongest = std::numeric_limits<std::uint32_t>::max();

  std::byte* reserve_elsewhere(std::uint32_t count) noexcept;
  bool grow(std::uint32_t count) noexcept;
  std::byte* advance(std::uint32_t count) noexcept {
    std::byte* const at = room_.data;
    payload_.pieces.back().octets.size += count;
    payload_.length += count;
    room_ = room_.slice(count, room_.size - count);
    return at;
  }

  Payload payload_;
  BufferRef room_;  // the unused part of the current buffer
  PayloadMemory* memory_ = nullptr;
  BuildFailure failure_ = BuildFailure::invalid;
  bool cut_ = true;  // the next byte starts a new piece
};

}  // namespace rpcrdma
