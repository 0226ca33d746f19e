// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Plans a reply: what goes into Write chunks, and whether the rest goes inline or into the Reply chunk (RFC 8166
// sections 3.4.6, 4.3.2 and 4.3.3). Pure functions: everything is checked before anything is written.
#include <cstdint>

#include "rpcrdma/chunks/gather.hpp"
#include "rpcrdma/wire/header.hpp"

namespace rpcrdma::transport {

/// The plan of one reply. Reused from reply to reply, so that it keeps its capacity.
struct ReplyPlan {
  wire::Header header;  ///< procedure; the call's Write list and Reply chunk, with the numbers of bytes written
  ItemFlags reduced;    ///< items that go into the Write chunk of the same index
  GatherList stream;    ///< the rest of the reply: inline after the header, or into the Reply chunk
  bool long_reply = false;
  std::uint32_t header_size = 0;

  void clear() noexcept;
};

/// Plans the reply. Uses only the version and the chunk lists of `call`. `threshold`: the inline threshold of the
/// reply. `zeros`: 3 registered zeros, for pads. TransportError::reply_too_long when the reply fits nowhere
/// [8166-4.5.3-b] [8267-3.1-a].
error_code plan_reply(const Payload& payload, const wire::Header& call, std::uint32_t threshold, BufferRef zeros,
                      ReplyPlan& out);

/// Sets the lengths of `segments` for a transfer of `bytes`, which fills each segment before the next. False, without a
/// change, if the bytes do not fit.
bool fill_lengths(std::span<Segment> segments, std::uint64_t bytes) noexcept;

std::uint64_t total_length(std::span<const Segment> segments) noexcept;

}  // namespace rpcrdma::transport
