// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/wire/chunk_lists.hpp"
#include "rpcrdma/wire/error.hpp"

namespace rpcrdma::wire {

/// Reads the three lists into `out`, which is empty. On success `in` is positioned after them.
std::optional<WireError> decode_chunks(Reader& in, ChunkLists& out, std::size_t max_segments);

/// A segment on the wire: handle, length, offset (RFC 8166 section 4.1.2).
inline constexpr std::size_t kSegmentSize = 16;

template <class Sink>
void encode_segments(Sink& out, std::span<const Segment> segments) noexcept {
  out.u32(static_cast<std::uint32_t>(segments.size()));
  for (const Segment& segment : segments) {
    out.u32(segment.handle);
    out.u32(segment.length);
    out.u64(segment.offset);
  }
}

/// Writes the three lists; a Sink has u32() and u64(), as Writer does.
template <class Sink>
void encode_chunks(Sink& out, const ChunkLists& chunks) noexcept {
  for (const ReadSegment& read : chunks.reads) {
    out.u32(1);
    out.u32(read.position);
    out.u32(read.target.handle);
    out.u32(read.target.length);
    out.u64(read.target.offset);
  }
  out.u32(0);
  for (std::size_t i = 0; i < chunks.write_chunk_count(); ++i) {
    out.u32(1);
    encode_segments(out, chunks.write_chunk(i));
  }
  out.u32(0);
  out.u32(chunks.has_reply_chunk() ? 1 : 0);
  if (chunks.has_reply_chunk()) encode_segments(out, chunks.reply_chunk());
}

}  // namespace rpcrdma::wire
