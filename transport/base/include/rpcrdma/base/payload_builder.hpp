// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <span>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/base/payload.hpp"

namespace rpcrdma {

/// Lends further memory to a PayloadBuilder whose first buffer is full.
class PayloadMemory {
 public:
  /// At least `at_least` octets that stay valid as long as the message does; size 0 when there are none.
  virtual BufferRef more_payload_memory(std::uint32_t at_least) = 0;

 protected:
  ~PayloadMemory() = default;
};

/// Builds an outgoing Payload: small values are copied into the lent memory, large opaques are taken by
/// reference. Failure is sticky, as in Writer. One thread.
class PayloadBuilder {
 public:
  /// Starts a new message in `first`. `memory` (may be null) lends more; it must outlive the message.
  void start(BufferRef first, PayloadMemory* memory) noexcept;

  bool ok() const noexcept { return ok_; }
  /// Offset of the next octet in the unreduced stream.
  std::uint32_t position() const noexcept { return payload_.length; }
  /// Room for `count` consecutive octets, counted as written; null on failure. `count` <= 64 KiB.
  std::byte* reserve(std::uint32_t count) noexcept;
  void octets(Octets value) noexcept;
  void u32(std::uint32_t value) noexcept;
  /// Takes a counted item by reference: its count word must have been written already. The memory behind
  /// `parts` belongs to the caller and stays valid and unchanged until the message is done with. The pad is implied.
  void item(std::span<const BufferRef> parts) noexcept;
  void fail() noexcept { ok_ = false; }

  /// The message so far. Valid until the next start().
  const Payload& payload() const noexcept { return payload_; }

 private:
  std::byte* grow(std::uint32_t count) noexcept;

  Payload payload_;
  BufferRef room_;  // what is left of the current buffer
  PayloadMemory* memory_ = nullptr;
  bool ok_ = false;
  bool cut_ = true;  // the next octet starts a new piece
};

}  // namespace rpcrdma
