// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <vector>

#include "rpcrdma/base/payload_builder.hpp"

namespace rpcrdma::rpc {

/// Ordinary, unregistered memory for messages that are copied or written to a socket anyway. Keeps its
/// blocks from message to message.
class BlockMemory final : public PayloadMemory {
 public:
  /// Starts a message in `out`; what the previous one was written to is used again.
  void start(PayloadBuilder& out) {
    used_ = 0;
    out.start(next_block(kBlock), this);
  }
  Result<BufferRef> more_payload_memory(std::uint32_t at_least) override { return next_block(at_least); }
  /// Gives back what a large message took. The message is gone.
  void shrink() noexcept {
    if (blocks_.size() > 1) blocks_.resize(1);
  }

 private:
  static constexpr std::uint32_t kBlock = 1024;
  BufferRef next_block(std::uint32_t at_least);

  std::vector<std::vector<std::byte>> blocks_;
  std::size_t used_ = 0;
};

/// The message behind its positions, items and pads included: what goes over a byte stream.
std::vector<std::byte> flatten(const Payload& message, std::size_t room_in_front = 0);

}  // namespace rpcrdma::rpc
