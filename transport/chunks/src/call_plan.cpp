// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/chunks/call_plan.hpp"

#include <limits>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/connection/error.hpp"

namespace rpcrdma::transport {
namespace {

std::uint64_t padded_total(std::span<const boost::container::small_vector<BufferRef, 1>> results) noexcept {
  std::uint64_t sum = 0;
  for (const auto& parts : results) sum += (total_size(parts) + 3) & ~std::uint64_t{3};
  return sum;
}

/// Builds the Write list, for results that might not fit inline with the rest of the reply [8166-4.3.2-b].
void plan_writes(const CallShape& shape, CallPlan& out) {
  for (const auto& parts : shape.results) {
    out.header.chunks.begin_write_chunk();
    const std::size_t first = out.writes.size();
    GatherList joined;
    // [8166-3.4.6-a] [8166-3.4.6.2-a] The Write chunk covers exactly the memory that the caller has provided for the
    // result. It has no additional room for the XDR pad.
    for (const BufferRef& part : parts) append(joined, part);
    out.writes.insert(out.writes.end(), joined.begin(), joined.end());
    for (std::size_t i = first; i < out.writes.size(); ++i)
      out.header.chunks.add_write_segment({0, out.writes[i].size, 0});
  }
  out.offers_writes = true;
}

error_code plan_reply_resources(const CallShape& shape, const PlanLimits& limits, CallPlan& out) {
  const std::uint64_t results = padded_total(shape.results);
  std::uint64_t longest = std::uint64_t{shape.max_reply} + results;
  // [8166-8.2.2.3-a] [8166-3.4.2-b] results are reduced only if permitted, and if the reply may be too long to return
  // inline
  if (shape.may_reduce && results != 0 && wire::min_header(limits.version) + longest > limits.receive) {
    plan_writes(shape, out);
    longest = shape.max_reply;
  }
  // The reply's header repeats the Write list; it has no Read list.
  const std::size_t reply_header = wire::encoded_size(out.header);
  // [8166-4.3.3-a] [8166-6.2-a] A reply whose header and stream together are exactly as long as the inline threshold
  // needs no Reply chunk.
  if (reply_header + longest > limits.receive) {
    longest = (longest + 3) & ~std::uint64_t{3};
    if (longest > std::numeric_limits<std::uint32_t>::max()) return TransportError::reply_too_long;
    out.reply_chunk = static_cast<std::uint32_t>(longest);
    out.header.chunks.begin_reply_chunk();
    out.header.chunks.add_reply_segment({0, out.reply_chunk, 0});
    if (wire::encoded_size(out.header) > limits.receive) return TransportError::reply_too_long;
  }
  return {};
}

void add_read_chunk(std::span<const BufferRef> parts, std::uint32_t position, CallPlan& out) {
  GatherList joined;
  for (const BufferRef& part : parts) append(joined, part);  // [8166-3.4.5.2-a] [8166-3.4.5.2-c] the chunk has no pad
  for (const BufferRef& part : joined) {
    // [8166-3.4.5-c] all segments of a chunk have its position
    out.header.chunks.reads.push_back({position, {0, part.size, 0}});
    out.reads.push_back(part);
  }
}

/// Makes the Read list anew, with one chunk for each reduced item [8166-3.4.2-a] [8166-3.4.4.4-a]. [8166-6.1-a] Only
/// data that the upper layer has passed as an item can be reduced.
void plan_reads(const CallShape& shape, CallPlan& out) {
  out.header.chunks.reads.clear();
  out.reads.clear();
  for (std::size_t i = 0; i < shape.payload->items.size(); ++i) {
    const PayloadItem& item = shape.payload->items[i];
    // [8166-3.4.5-a] [8166-4.3.1.1-a] the position is that of the item's first byte in the unreduced stream
    if (out.reduced[i]) add_read_chunk(item.parts, item.position, out);
  }
}

/// The number of bytes of the Payload stream without the reduced items.
std::uint64_t stream_size(const Payload& payload, const ItemFlags& reduced) noexcept {
  std::uint64_t sum = payload.reduced_length();
  for (std::size_t i = 0; i < payload.items.size(); ++i)
    if (!reduced[i]) sum += pad4(payload.items[i].length);
  return sum;
}

/// The index of the largest item still in the stream, or the number of items if there is none.
std::size_t largest_left(const Payload& payload, const ItemFlags& reduced) noexcept {
  std::size_t best = payload.items.size();
  for (std::size_t i = 0; i < payload.items.size(); ++i) {
    if (reduced[i]) continue;
    if (best == payload.items.size() || payload.items[i].length > payload.items[best].length) best = i;
  }
  return best;
}

/// Moves items from the stream into Read chunks, the largest item first, until the header and the stream together fit
/// into one Send. Returns false if they do not fit when no further item can be moved.
bool fit_inline(const CallShape& shape, const PlanLimits& limits, CallPlan& out) {
  for (;;) {
    // The previous round may have added a Read chunk, which makes the header longer.
    out.header_size = static_cast<std::uint32_t>(wire::encoded_size(out.header));
    // [8166-3.3.2-a] [8166-4.2.4-e] header and stream together fit the threshold
    if (out.header_size + stream_size(*shape.payload, out.reduced) <= limits.send) return true;
    const std::size_t next = largest_left(*shape.payload, out.reduced);
    // [8166-8.2.2-a] If the call must not be reduced, no item is moved to a Read chunk. If no item is left in the
    // stream, nothing more can be moved.
    if (!shape.may_reduce || next == shape.payload->items.size()) return false;
    out.reduced[next] = true;
    plan_reads(shape, out);
  }
}

/// [8166-6.1-e] Plans an RDMA_NOMSG: the whole remaining stream becomes the Position-Zero Read chunk [8166-3.5.3-a].
error_code plan_long_call(const CallShape& shape, const PlanLimits& limits, CallPlan& out) {
  if (stream_size(*shape.payload, out.reduced) > limits.max_long_call) return TransportError::call_too_long;
  out.header.procedure = wire::Procedure::nomsg;
  out.header.chunks.reads.clear();
  out.reads.clear();
  GatherList stream;
  append_stream(stream, *shape.payload, out.reduced, shape.zeros);
  add_read_chunk(stream, 0, out);  // [8166-3.5.3-b] the long call has position 0
  for (std::size_t i = 0; i < shape.payload->items.size(); ++i)
    if (out.reduced[i]) add_read_chunk(shape.payload->items[i].parts, shape.payload->items[i].position, out);
  out.header_size = static_cast<std::uint32_t>(wire::encoded_size(out.header));
  return out.header_size <= limits.send ? error_code{} : TransportError::call_too_long;
}

}  // namespace

void CallPlan::clear() noexcept {
  header.clear();
  reads.clear();
  writes.clear();
  reply_chunk = 0;
  inline_stream.clear();
  reduced.clear();
  header_size = 0;
  offers_writes = false;
}

error_code plan_call(const CallShape& shape, const PlanLimits& limits, CallPlan& out) {
  out.clear();
  out.header.version = limits.version;
  if (const error_code failed = plan_reply_resources(shape, limits, out)) return failed;
  out.reduced.assign(shape.payload->items.size(), false);
  if (fit_inline(shape, limits, out)) {
    append_stream(out.inline_stream, *shape.payload, out.reduced, shape.zeros);
  } else if (const error_code failed = plan_long_call(shape, limits, out)) {
    return failed;
  }
  if (out.header.chunks.segment_count() > limits.max_segments) return TransportError::call_too_long;
  return {};
}

}  // namespace rpcrdma::transport
