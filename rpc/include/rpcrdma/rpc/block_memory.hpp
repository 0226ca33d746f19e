// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <vector>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/payload_builder.hpp"

namespace rpcrdma::rpc {

/// Unregistered memory for messages that are copied, or written to a socket. Keeps its blocks for the next message.
class RPCRDMA_EXPORT BlockMemory final : public PayloadMemory {
 public:
  /// Starts a message in `out`. Reuses the memory of the previous message.
  void start(PayloadBuilder& out) {
    used_ = 0;
    out.start(next_block(kBlock), this);
  }
  Result<BufferRef> more_payload_memory(std::uint32_t at_least) override { return next_block(at_least); }
  /// Frees all blocks but the first. The message that was built last is no longer valid.
  void shrink() noexcept {
    if (blocks_.size() > 1) blocks_.resize(1);
  }

 private:
  static constexpr std::uint32_t kBlock = 1024;
  BufferRef next_block(std::uint32_t at_least);

  std::vector<std::vector<std::byte>> blocks_;
  std::size_t used_ = 0;
};

/// Returns `room_in_front` zero bytes and then a copy of the message in the form that a byte stream carries. In this
/// form, no item is reduced: each item stands at its position, followed by its XDR pad.
RPCRDMA_EXPORT std::vector<std::byte> flatten(const Payload& message, std::size_t room_in_front = 0);

}  // namespace rpcrdma::rpc
