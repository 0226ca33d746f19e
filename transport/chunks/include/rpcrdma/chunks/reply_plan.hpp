// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Plans a reply: which items the responder writes into Write chunks, and whether it sends the rest inline or in the
// Reply chunk (RFC 8166 sections 3.4.6, 4.3.2 and 4.3.3). These functions post no work.
#include <cstdint>

#include "rpcrdma/chunks/gather.hpp"
#include "rpcrdma/wire/header.hpp"

namespace rpcrdma::transport {

/// The plan of one reply. Reused from reply to reply, so that it keeps its capacity.
struct ReplyPlan {
  /// The header of the reply. Its Write list and Reply chunk are those of the call, but the length of each segment is
  /// the number of bytes to be written to it. plan_reply() sets neither the XID nor the credits.
  wire::Header header;
  ItemFlags reduced;  ///< the items that are written into the Write chunk of the same index
  GatherList stream;  ///< the reply without the reduced items: sent inline after the header, or in the Reply chunk
  bool long_reply = false;
  std::uint32_t header_size = 0;

  void clear() noexcept;
};

/// Plans the reply. Uses only the version and the chunk lists of `call`. `threshold`: the inline threshold of the
/// reply. `zeros`: 3 registered zeros, for pads. Fails with TransportError::reply_too_long if the reply fits neither
/// inline nor in the chunks [8166-4.5.3-b] [8267-3.1-a].
error_code plan_reply(const Payload& payload, const wire::Header& call, std::uint32_t threshold, BufferRef zeros,
                      ReplyPlan& out);

/// Sets the lengths of `segments` for a transfer of `bytes`, which fills each segment before the next. Returns false,
/// and changes nothing, if the bytes do not fit.
bool fill_lengths(std::span<Segment> segments, std::uint64_t bytes) noexcept;

std::uint64_t total_length(std::span<const Segment> segments) noexcept;

}  // namespace rpcrdma::transport
