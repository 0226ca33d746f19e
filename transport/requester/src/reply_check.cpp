// SPDX-License-Identifier: BSD-3-Clause
#include "reply_check.hpp"

#include <algorithm>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/chunks/reply_plan.hpp"
#include "rpcrdma/connection/error.hpp"

namespace rpcrdma::transport {
namespace {

constexpr std::uint32_t kReplyType = 1;

/// [8166-3.4.6-b] True if `got` has the segments of `sent` in the same order, no segment is longer than in `sent`, and
/// each segment is full before the next one has bytes.
bool is_echo(std::span<const Segment> sent, std::span<const Segment> got) noexcept {
  if (sent.size() != got.size()) return false;
  bool full = true;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (sent[i].handle != got[i].handle || sent[i].offset != got[i].offset) return false;
    // [8166-3.4.6-c] segments are filled in order
    if (got[i].length > sent[i].length || (got[i].length != 0 && !full)) return false;
    full = got[i].length == sent[i].length;
  }
  return true;
}

/// [8166-3.4.6.1-a] Adds an item to `out` for the result in one Write chunk. The item refers to the first `length`
/// bytes of `memory`, which the responder has written. [8166-4.3.2.2-d] If the chunk is unused, `length` is 0 and the
/// item has no memory, because the responder may have changed the memory of an unused chunk.
void take_result(std::span<const BufferRef> memory, std::uint64_t length, Payload& out) {
  PayloadItem& item = out.items.emplace_back();
  item.position = PayloadItem::kNoPosition;
  item.length = static_cast<std::uint32_t>(length);
  for (const BufferRef& part : memory) {
    if (length == 0) break;
    const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(part.size, length));
    item.parts.push_back(part.slice(0, size));
    length -= size;
  }
}

/// Adds an item to `out` for the result in each Write chunk. Sets `written` to the number of bytes that the reply
/// reports for all Write chunks together. Returns false if the Write list of the reply does not match that of the call.
bool take_write_list(const ReplyContext& context, const wire::ChunkLists& reply, Payload& out, std::uint64_t& written) {
  const wire::ChunkLists& sent = context.sent->chunks;
  written = 0;
  if (reply.write_chunk_count() != sent.write_chunk_count()) return false;
  for (std::size_t i = 0; i < sent.write_chunk_count(); ++i) {
    const std::span<const Segment> got = reply.write_chunk(i);
    // [8166-4.3.2.2-c] in an unused chunk all lengths are 0 or, as in the NFSv4 binding, there are no segments
    if (!got.empty() && !is_echo(sent.write_chunk(i), got)) return false;
    const std::uint64_t length = total_length(got);
    take_result(context.results[i], length, out);
    written += length;
  }
  return true;
}

bool begins_as_reply(BufferRef payload, std::uint32_t xid) noexcept {
  Reader reader(payload.octets());
  // [8166-4.2.1-a] header and message have the same XID
  return reader.u32() == xid && reader.u32() == kReplyType && reader.ok();
}

}  // namespace

bool is_broken_header(const wire::Header& reply) noexcept {
  if (!reply.chunks.reads.empty()) return true;  // [8166-4.3.1-b] a reply has no Read list
  // [8166-4.2.4-a] The payload of an RDMA_NOMSG reply is in its Reply chunk, so the reply must have one.
  return reply.procedure == wire::Procedure::nomsg && !reply.chunks.has_reply_chunk();
}

error_code accept_reply(const ReplyContext& context, const wire::Header& reply, Payload& out) {
  out.clear();
  std::uint64_t written = 0;
  if (!take_write_list(context, reply.chunks, out, written)) return TransportError::bad_reply;
  BufferRef payload = context.inline_payload;
  const wire::ChunkLists& sent = context.sent->chunks;
  if (reply.chunks.has_reply_chunk()) {
    const std::span<const Segment> got = reply.chunks.reply_chunk();
    const bool unused = reply.procedure == wire::Procedure::msg && got.empty();
    if (!sent.has_reply_chunk() || (!unused && !is_echo(sent.reply_chunk(), got))) return TransportError::bad_reply;
    if (reply.procedure == wire::Procedure::nomsg)
      payload = context.reply_memory.slice(0, static_cast<std::uint32_t>(total_length(got)));
  }
  if (!begins_as_reply(payload, context.sent->xid)) return TransportError::bad_reply;
  // [8166-6.1-d] The responder must not return a result in the message if the call has a usable Write chunk for it.
  // `max_reply` does not include such results. Therefore a reply that used no Write chunk and exceeds `max_reply`
  // contains a result. (The upper layer detects an item whose length contradicts the count word in the stream.)
  if (sent.write_chunk_count() != 0 && written == 0 && payload.size > context.max_reply)
    return TransportError::bad_reply;
  out.pieces.push_back({0, payload});
  out.length = payload.size;
  return {};
}

}  // namespace rpcrdma::transport
