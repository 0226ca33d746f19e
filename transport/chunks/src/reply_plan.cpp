// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/chunks/reply_plan.hpp"

#include <algorithm>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/connection/error.hpp"

namespace rpcrdma::transport {
namespace {

/// Copies the Write list, with the lengths that the reply uses. Item i of the payload belongs to Write chunk i.
error_code fill_write_list(const Payload& payload, const wire::ChunkLists& offered, ReplyPlan& out) {
  out.reduced.assign(payload.items.size(), false);
  wire::ChunkLists& chunks = out.header.chunks;
  for (std::size_t i = 0; i < offered.write_chunk_count(); ++i) {
    chunks.add_write_chunk(offered.write_chunk(i));  // [8166-3.4.6-b] the reply repeats all segments
    const std::span<Segment> segments = chunks.write_chunk(i);
    // [8166-4.3.2.3-a] [8166-4.3.2.2-a] the item of an empty chunk stays inline, and the reply repeats the empty chunk
    const bool used = i < payload.items.size() && !segments.empty();
    // [8166-4.3.2-a] [8166-4.3.2.1-a] [8166-3.4.6.2-b] [8166-3.4.6.2-c] In the reply, the lengths of the segments of a
    // used chunk add up to the length of its item without the pad. [8166-4.3.2.2-c] The segments of an unused chunk
    // have the length 0.
    if (!fill_lengths(segments, used ? payload.items[i].length : 0)) return TransportError::reply_too_long;
    if (used) out.reduced[i] = true;
  }
  return {};
}

}  // namespace

void ReplyPlan::clear() noexcept {
  header.clear();
  reduced.clear();
  stream.clear();
  long_reply = false;
  header_size = 0;
}

error_code plan_reply(const Payload& payload, const wire::Header& call, std::uint32_t threshold, BufferRef zeros,
                      ReplyPlan& out) {
  const wire::ChunkLists& offered = call.chunks;
  out.clear();
  out.header.version = call.version;  // [8167-5.2-a] [v2-5.3-a] a reply has the version of its call
  out.header.direction = wire::Direction::reply;
  // [8166-3.5.3-f] first fills the Write chunks
  if (const error_code failed = fill_write_list(payload, offered, out)) return failed;
  wire::ChunkLists& chunks = out.header.chunks;
  if (offered.has_reply_chunk()) {
    chunks.begin_reply_chunk();  // [8166-4.3.3-c] the reply repeats the Reply chunk
    for (const Segment& segment : offered.reply_chunk()) chunks.add_reply_segment(segment);
    fill_lengths(chunks.reply_chunk(), 0);
  }
  append_stream(out.stream, payload, out.reduced, zeros);
  const std::uint64_t length = total_size(out.stream);
  out.header_size = static_cast<std::uint32_t>(wire::encoded_size(out.header));
  // [8166-4.3.2.3-b] A result without a Write chunk is part of `stream`. [8166-4.3.3-b] The reply is sent inline if its
  // size with the header is at most the threshold.
  if (out.header_size + length <= threshold) return {};
  // [8166-3.5.3-d] Otherwise the reply is a Long Reply, if the Reply chunk is large enough.
  if (out.header_size > threshold || !offered.has_reply_chunk() || length > total_length(offered.reply_chunk()))
    return TransportError::reply_too_long;
  for (std::size_t i = 0; i < offered.reply_chunk().size(); ++i)
    chunks.reply_chunk()[i].length = offered.reply_chunk()[i].length;
  fill_lengths(chunks.reply_chunk(), length);
  out.header.procedure = wire::Procedure::nomsg;
  out.long_reply = true;
  return {};
}

std::uint64_t total_length(std::span<const Segment> segments) noexcept {
  std::uint64_t sum = 0;  // [8166-3.4.4-b] a chunk is as long as its segments together
  for (const Segment& segment : segments) sum += segment.length;
  return sum;
}

bool fill_lengths(std::span<Segment> segments, std::uint64_t bytes) noexcept {
  if (bytes > total_length(segments)) return false;
  for (Segment& segment : segments) {
    // [8166-3.4.6-c] the length of each segment becomes the number of bytes written to it
    segment.length = static_cast<std::uint32_t>(std::min<std::uint64_t>(segment.length, bytes));
    bytes -= segment.length;
  }
  return true;
}

}  // namespace rpcrdma::transport
