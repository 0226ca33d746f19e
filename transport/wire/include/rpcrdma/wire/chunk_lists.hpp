// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The three chunk lists of a header (RFC 8166 sections 3.4.4 to 3.4.6 and 4.3).
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rpcrdma/base/buffer_ref.hpp"

namespace rpcrdma::wire {

/// A plain segment and the place in the unreduced XDR stream where its bytes belong. The Read chunk of one
/// argument is all segments of the Read list with the same position, in list order (section 3.4.5).
struct ReadSegment {
  std::uint32_t position = 0;  ///< bytes from the RPC message's XID; a multiple of 4
  Segment target;
  friend bool operator==(const ReadSegment&, const ReadSegment&) = default;
};

/// The chunk lists of one header. Reused from message to message: clear() keeps the capacity of the lists, so that the
/// steady state does not allocate. All Write chunks share one flat list of segments.
class ChunkLists {
 public:
  std::vector<ReadSegment> reads;  ///< the Read list; empty if the header has none

  void clear() noexcept;
  bool empty() const noexcept { return reads.empty() && write_ends_.empty() && !has_reply_; }
  /// Segments in all three lists together.
  std::size_t segment_count() const noexcept { return reads.size() + write_segments_.size() + reply_.size(); }

  /// The Write list, chunk by chunk. A chunk may have no segments. Spans are valid until the next change.
  std::size_t write_chunk_count() const noexcept { return write_ends_.size(); }
  std::span<const Segment> write_chunk(std::size_t index) const noexcept;
  std::span<Segment> write_chunk(std::size_t index) noexcept;
  void add_write_chunk(std::span<const Segment> segments);
  /// Starts an empty Write chunk at the end of the list; add_write_segment() fills it.
  void begin_write_chunk();
  void add_write_segment(const Segment& segment);

  /// The Reply chunk. reply_chunk() is empty both if the Reply chunk is absent and if it has no segments.
  /// has_reply_chunk() tells these two cases apart.
  bool has_reply_chunk() const noexcept { return has_reply_; }
  std::span<const Segment> reply_chunk() const noexcept { return reply_; }
  std::span<Segment> reply_chunk() noexcept { return reply_; }
  void begin_reply_chunk();
  void add_reply_segment(const Segment& segment);

  friend bool operator==(const ChunkLists&, const ChunkLists&) = default;

 private:
  std::vector<Segment> write_segments_;
  std::vector<std::size_t> write_ends_;  // the end of each Write chunk in write_segments_
  std::vector<Segment> reply_;
  bool has_reply_ = false;
};

}  // namespace rpcrdma::wire
