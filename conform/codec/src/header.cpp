// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/conform/codec/header.hpp"

#include <fmt/format.h>

namespace rpcrdma::conform {
namespace {

constexpr std::size_t kSegmentSize = 16;
constexpr std::size_t kPrivateDataSize = 8;

void encode_segment(Out& out, const RdmaSegment& segment) {
  out.u32(segment.handle).u32(segment.length).u64(segment.offset);
}

void encode_chunk(Out& out, const Chunk& chunk) {
  out.u32(static_cast<std::uint32_t>(chunk.size()));
  for (const RdmaSegment& segment : chunk) encode_segment(out, segment);
}

RdmaSegment decode_segment(In& in) {
  RdmaSegment out;
  out.handle = in.u32();
  out.length = in.u32();
  out.offset = in.u64();
  return out;
}

Chunk decode_chunk(In& in) {
  const std::uint32_t count = in.u32();
  if (count > in.left() / kSegmentSize)
    throw DecodeError(fmt::format("a chunk of {} segments in {} bytes", count, in.left()));
  Chunk out;
  for (std::uint32_t i = 0; i < count; ++i) out.push_back(decode_segment(in));
  return out;
}

ChunkLists decode_lists(In& in) {
  ChunkLists out;
  while (in.boolean()) {
    const std::uint32_t position = in.u32();
    out.reads.push_back({position, decode_segment(in)});
  }
  while (in.boolean()) out.writes.push_back(decode_chunk(in));
  if (in.boolean()) out.reply = decode_chunk(in);
  return out;
}

void decode_error(In& in, RdmaHeader& out) {
  out.error = in.u32();
  if (out.error == kErrVers) {
    out.lowest = in.u32();
    out.highest = in.u32();
  } else if (out.error != kErrChunk) {
    throw DecodeError(fmt::format("RDMA_ERROR with rdma_err {}", out.error));
  }
  in.end();
}

}  // namespace

std::uint64_t length_of(const Chunk& chunk) noexcept {
  std::uint64_t sum = 0;
  for (const RdmaSegment& segment : chunk) sum += segment.length;
  return sum;
}

void encode(Out& out, const ChunkLists& lists) {
  for (const ReadSegment& read : lists.reads) encode_segment(out.u32(1).u32(read.position), read.target);
  out.u32(0);
  for (const Chunk& chunk : lists.writes) encode_chunk(out.u32(1), chunk);
  out.u32(0);
  out.u32(lists.reply ? 1 : 0);
  if (lists.reply) encode_chunk(out, *lists.reply);
}

Bytes encode(const RdmaHeader& header) {
  Out out;
  out.words({header.xid, header.version, header.credits, header.procedure});
  if (header.procedure == kError) {
    out.u32(header.error);
    if (header.error == kErrVers) out.u32(header.lowest).u32(header.highest);
  } else {
    encode(out, header.lists);
  }
  return std::move(out).bytes();
}

RdmaHeader decode_header(View message, View& payload) {
  In in(message);
  RdmaHeader out;
  out.xid = in.u32();
  out.version = in.u32();
  out.credits = in.u32();
  out.procedure = in.u32();
  switch (out.procedure) {
    case kMsg: out.lists = decode_lists(in); break;
    case kNomsg:
      out.lists = decode_lists(in);
      in.end();
      break;
    case kError: decode_error(in, out); break;
    default: throw DecodeError(fmt::format("rdma_proc {}", out.procedure));
  }
  payload = in.rest();
  return out;
}

Bytes encode(const PrivateData& data) {
  Out out;
  out.u32(data.magic)
      .u32(std::uint32_t{data.version} << 24 | std::uint32_t{data.flags} << 16 | std::uint32_t{data.send_size} << 8 |
           data.receive_size);
  return std::move(out).bytes();
}

std::optional<PrivateData> find_private_data(View bytes) {
  for (std::size_t at = 0; at + kPrivateDataSize <= bytes.size(); ++at) {
    In in(bytes.subspan(at, kPrivateDataSize));
    PrivateData out;
    if (in.u32() != out.magic) continue;
    const View rest = in.rest();
    out.version = std::to_integer<std::uint8_t>(rest[0]);
    out.flags = std::to_integer<std::uint8_t>(rest[1]);
    out.send_size = std::to_integer<std::uint8_t>(rest[2]);
    out.receive_size = std::to_integer<std::uint8_t>(rest[3]);
    if (out.version != 1) return std::nullopt;
    return out;
  }
  return std::nullopt;
}

}  // namespace rpcrdma::conform
