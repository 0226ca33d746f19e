// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>

#include "exposure.hpp"
#include "fabric_state.hpp"

namespace rpcrdma::fabric::iwarp {

/// One work request of the send queue, from posting to completion.
struct Work {
  enum class Kind : std::uint8_t { send, write, read, invalidate };

  Kind kind = Kind::send;
  bool done = false;
  bool holds_slot = true;  ///< of the send queue; what the stream posts for itself does not
  WorkContext* context = nullptr;
  std::array<BufferRef, kMaxWorkGather> gather;  ///< read: the sink
  std::uint32_t pieces = 0;
  std::uint32_t length = 0;
  SendOptions options;       ///< send
  std::uint32_t handle = 0;  ///< write, read: the peer's
  std::uint64_t offset = 0;
  Exposure* exposure = nullptr;  ///< invalidate; null when its window has gone meanwhile

  // Progress.
  std::uint32_t sent = 0;  ///< octets in frames made so far; read: octets received
  std::uint32_t piece = 0;
  std::uint32_t piece_offset = 0;
  std::uint32_t sink_stag = 0;  ///< read
};

/// One posted receive.
struct Receive {
  BufferRef buffer;
  WorkContext* context = nullptr;
  std::uint32_t length = 0;
  std::optional<std::uint32_t> invalidated;
  Exposure* exposure = nullptr;  ///< invalidated with it, and its pins are waited for
};

/// A Read Request of the peer, while it is being answered. Pins its source.
struct InboundRead {
  Exposure* exposure = nullptr;  ///< null: an empty Read
  const std::byte* source = nullptr;
  std::uint32_t size = 0;
  std::uint32_t sent = 0;
  std::uint32_t sink_stag = 0;
  std::uint64_t sink_offset = 0;
};

}  // namespace rpcrdma::fabric::iwarp
