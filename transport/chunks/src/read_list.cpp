// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/chunks/read_list.hpp"

#include <limits>

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::transport {
namespace {

/// The size in bytes of the XID and the message type. An RPC message begins with them, so no item may begin before
/// their end.
constexpr std::uint32_t kPrefix = 8;

/// A stable insertion sort: lists are short and usually sorted, and std::stable_sort would allocate.
void sort_by_position(std::vector<wire::ReadSegment>& list) noexcept {
  for (std::size_t i = 1; i < list.size(); ++i)
    for (std::size_t j = i; j > 0 && list[j].position < list[j - 1].position; --j) std::swap(list[j], list[j - 1]);
}

}  // namespace

bool ReadList::parse(const wire::Header& header, std::uint32_t max_chunk) {
  sorted_.assign(header.chunks.reads.begin(), header.chunks.reads.end());
  sort_by_position(sorted_);
  segments_.clear();
  for (const wire::ReadSegment& read : sorted_) segments_.push_back(read.target);
  chunks_.clear();
  long_call_ = {};
  std::uint64_t end = 0;  // the end of the previous chunk in the unreduced stream
  for (std::size_t first = 0, last = 0; first < sorted_.size(); first = last) {
    const std::uint32_t position = sorted_[first].position;
    std::uint64_t length = 0;
    for (; last < sorted_.size() && sorted_[last].position == position; ++last) length += sorted_[last].target.length;
    if (length > max_chunk) return false;  // [8166-8.1.4-a] [8166-3.4.4-c] refuses chunks that are too long
    const Chunk chunk{position, static_cast<std::uint32_t>(length), std::span(segments_).subspan(first, last - first)};
    if (position == 0) {
      // In an RDMA_MSG the inline payload begins at position 0, and would overlap this chunk.
      if (header.procedure != wire::Procedure::nomsg) return false;
      long_call_ = chunk;
      continue;
    }
    if (length == 0) continue;
    if (position < end) return false;  // overlaps the previous chunk
    end = position + ((length + 3) & ~std::uint64_t{3});
    if (end > std::numeric_limits<std::uint32_t>::max()) return false;
    chunks_.push_back(chunk);
  }
  // [8166-4.2.4-a] the Position-Zero Read chunk holds the payload of an RDMA_NOMSG
  return header.procedure != wire::Procedure::nomsg || long_call_.length != 0;
}

bool ReadList::assemble(BufferRef stream, Payload& out) const {
  out.clear();
  std::uint32_t used = 0;      // bytes used of the reduced stream
  std::uint32_t position = 0;  // the position in the unreduced stream
  for (const Chunk& chunk : chunks_) {
    const std::uint32_t gap = chunk.position - position;
    if (gap > stream.size - used) return false;
    if (gap != 0) out.pieces.push_back({position, stream.slice(used, gap)});
    used += gap;
    PayloadItem& item = out.items.emplace_back();
    item.position = chunk.position;
    item.length = chunk.length;
    // The chunk occupies the same positions with or without its pad [8166-3.4.5.2-d].
    position = chunk.position + pad4(chunk.length);
  }
  const std::uint32_t rest = stream.size - used;
  if (rest > std::numeric_limits<std::uint32_t>::max() - position) return false;
  if (rest != 0) out.pieces.push_back({position, stream.slice(used, rest)});
  out.length = position + rest;
  return !out.pieces.empty() && out.pieces.front().position == 0 && out.pieces.front().octets.size >= kPrefix;
}

}  // namespace rpcrdma::transport
