// SPDX-License-Identifier: BSD-3-Clause
#include "call.hpp"

#include <algorithm>

namespace rpcrdma::conform::client {
namespace {

/// A Write list and a Reply chunk like the offered ones, with all lengths zero.
ChunkLists unused(const ChunkLists& offered) {
  ChunkLists out{.writes = offered.writes, .reply = offered.reply};
  for (Chunk& chunk : out.writes)
    for (RdmaSegment& segment : chunk) segment.length = 0;
  if (out.reply)
    for (RdmaSegment& segment : *out.reply) segment.length = 0;
  return out;
}

/// Adds to `writes` the RDMA Writes that fill the segments of `offered` in order with `data`, as far as it fits.
/// Returns the chunk, in which the length of each segment is the number of bytes written to this segment.
Chunk fill(const Chunk& offered, View data, std::vector<RemoteWrite>& writes) {
  Chunk out = offered;
  for (RdmaSegment& segment : out) {
    const std::size_t count = std::min<std::size_t>(segment.length, data.size());
    segment.length = static_cast<std::uint32_t>(count);
    if (count == 0) continue;
    const View part = data.first(count);
    writes.push_back({segment.handle, segment.offset, {part.begin(), part.end()}});
    data = data.subspan(count);
  }
  return out;
}

}  // namespace

std::optional<std::uint32_t> Call::handle() const {
  if (has_reads()) return header.lists.reads[0].target.handle;
  if (has_writes()) return header.lists.writes[0][0].handle;
  if (has_reply_chunk()) return header.lists.reply->front().handle;
  return std::nullopt;
}

Bytes Reply::bytes() const {
  if (raw) return *raw;
  Bytes out = encode(header);
  out.insert(out.end(), message.begin(), message.end());
  return out;
}

Reply refusal(const Call& call, std::uint32_t credits) {
  Reply out;
  out.header = {.xid = call.header.xid, .credits = credits, .procedure = kError};
  out.header.error = kErrChunk;
  return out;
}

Reply plan_reply(const Call& call, const Answer& answer, const Agreed& agreed, std::uint32_t credits) {
  RpcReply rpc{.xid = call.header.xid, .accept = answer.accept, .low = 3, .high = 3};
  if (answer.accept == kSuccess) rpc.results = answer.results;
  Reply out;
  out.header = {.xid = call.header.xid, .credits = credits};
  out.header.lists = unused(call.header.lists);
  out.message = encode(rpc);
  if (answer.item && answer.accept == kSuccess && call.has_writes()) {
    const std::size_t at = kReplyHead + answer.item->position, size = answer.item->size;
    if (length_of(call.header.lists.writes[0]) < size) return refusal(call, credits);
    out.header.lists.writes[0] = fill(call.header.lists.writes[0], View(out.message).subspan(at, size), out.writes);
    const auto begin = out.message.begin() + static_cast<std::ptrdiff_t>(at);
    out.message.erase(begin, begin + static_cast<std::ptrdiff_t>(padded(size)));
  }
  if (encode(out.header).size() + out.message.size() > agreed.threshold) {
    if (!call.has_reply_chunk() || length_of(*call.header.lists.reply) < out.message.size())
      return refusal(call, credits);
    out.header.procedure = kNomsg;
    out.header.lists.reply = fill(*call.header.lists.reply, out.message, out.writes);
    out.message.clear();
  }
  if (agreed.invalidation) out.invalidate = call.handle();
  return out;
}

Bytes assemble(const Call& call, View data) {
  struct Piece {
    std::uint32_t position;
    View bytes;
  };
  std::vector<Piece> pieces;
  for (const ReadSegment& read : call.header.lists.reads) {
    pieces.push_back({read.position, data.first(read.target.length)});
    data = data.subspan(read.target.length);
  }
  std::ranges::stable_sort(pieces, {}, &Piece::position);
  Out out;
  View inlined(call.payload);
  const auto take = [&](std::size_t count) {
    if (count > inlined.size()) throw DecodeError("a Read chunk beyond the end of the message");
    out.raw(inlined.first(count));
    inlined = inlined.subspan(count);
  };
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool first = i == 0 || pieces[i].position != pieces[i - 1].position;
    if (first && pieces[i].position != 0) {
      if (pieces[i].position < out.size()) throw DecodeError("Read chunks that overlap");
      take(pieces[i].position - out.size());
    }
    out.raw(pieces[i].bytes);
    const bool last = i + 1 == pieces.size() || pieces[i + 1].position != pieces[i].position;
    if (last) out.zeros(padded(out.size()) - out.size());
  }
  take(inlined.size());
  return std::move(out).bytes();
}

void set_word(Bytes& bytes, std::size_t at, std::uint32_t value) {
  if (at + 4 > bytes.size()) return;
  std::ranges::copy(Out().u32(value).bytes(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace rpcrdma::conform::client
