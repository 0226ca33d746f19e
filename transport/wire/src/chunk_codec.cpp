// SPDX-License-Identifier: BSD-3-Clause
#include "chunk_codec.hpp"

#include <limits>

namespace rpcrdma::wire {
namespace {

class ChunkDecoder {
 public:
  ChunkDecoder(Reader& in, ChunkLists& out, std::size_t max_segments) noexcept
      : in_(in), out_(out), left_(max_segments) {}

  std::optional<WireError> run() {
    while (present()) read_segment();
    while (present()) {
      out_.begin_write_chunk();
      chunk([this](const Segment& segment) { out_.add_write_segment(segment); });
      if (out_.write_chunk_count() > max_chunks_) too_many();
    }
    if (present()) {
      out_.begin_reply_chunk();
      chunk([this](const Segment& segment) { out_.add_reply_segment(segment); });
    }
    if (error_) return error_;
    if (!in_.ok()) return WireError::bad_chunks;
    return std::nullopt;
  }

 private:
  /// The word in front of an optional item. XDR permits only 0 and 1.
  /// [8166-4.2.4-b] 0 means that the list is absent or ends
  bool present() noexcept {
    const std::uint32_t word = in_.u32();
    if (word > 1) in_.fail();
    return in_.ok() && word == 1;
  }

  void read_segment() {
    ReadSegment read;
    read.position = in_.u32();
    read.target = segment();
    // [8166-3.4.5-b] a position is a multiple of four
    if (read.position % 4 != 0) in_.fail();
    if (count(1) && in_.ok()) out_.reads.push_back(read);
  }

  template <class Add>
  void chunk(Add add) {
    const std::uint32_t segments = in_.u32();
    // Check the count before any list grows: the message must be long enough to hold the segments.
    if (segments > in_.remaining() / kSegmentSize) in_.fail();
    if (!in_.ok() || !count(segments)) return;
    for (std::uint32_t i = 0; i < segments; ++i) add(segment());
  }

  Segment segment() noexcept {
    Segment out;
    out.handle = in_.u32();
    out.length = in_.u32();
    out.offset = in_.u64();
    // A segment must not extend beyond 2^64: an RDMA operation there would wrap around to other addresses.
    if (out.length != 0 && out.offset > std::numeric_limits<std::uint64_t>::max() - (out.length - 1)) in_.fail();
    return out;
  }

  // [8267-6.4.2-b] segments beyond the receiver's limit are refused
  bool count(std::size_t segments) noexcept {
    if (segments > left_) {
      too_many();
      return false;
    }
    left_ -= segments;
    return true;
  }

  void too_many() noexcept {
    // If the lists are malformed so far, bad_chunks is reported instead.
    if (in_.ok()) error_ = WireError::too_many_segments;
    in_.fail();
  }

  Reader& in_;
  ChunkLists& out_;
  std::size_t left_;
  // The maximum number of Write chunks, equal to the maximum number of segments. The limit of segments alone would not
  // bound the list, because a Write chunk may have no segments.
  const std::size_t max_chunks_ = left_;
  std::optional<WireError> error_;
};

}  // namespace

std::optional<WireError> decode_chunks(Reader& in, ChunkLists& out, std::size_t max_segments) {
  return ChunkDecoder(in, out, max_segments).run();
}

}  // namespace rpcrdma::wire
