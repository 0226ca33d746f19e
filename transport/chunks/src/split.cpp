// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/chunks/split.hpp"

namespace rpcrdma::transport {

/// Advances past buffers and segments that are used up. Returns false if no buffer or no segment is left.
bool Splitter::settle() noexcept {
  while (!memory_.empty() && memory_used_ == memory_.front().size) {
    memory_ = memory_.subspan(1);
    memory_used_ = 0;
  }
  while (!segments_.empty() && segment_used_ == segments_.front().length) {
    segments_ = segments_.subspan(1);
    segment_used_ = 0;
  }
  return !memory_.empty() && !segments_.empty();
}

void Splitter::skip(std::uint64_t of_segments, std::uint64_t of_memory) noexcept {
  while (!segments_.empty() && of_segments >= segments_.front().length) {
    of_segments -= segments_.front().length;
    segments_ = segments_.subspan(1);
  }
  segment_used_ = static_cast<std::uint32_t>(of_segments);
  while (!memory_.empty() && of_memory >= memory_.front().size) {
    of_memory -= memory_.front().size;
    memory_ = memory_.subspan(1);
  }
  memory_used_ = static_cast<std::uint32_t>(of_memory);
}

/// Returns the next part of the memory, and advances in the memory and in the segments by its size. The part ends after
/// `most` bytes, or earlier if the current piece of memory or the current segment ends earlier.
BufferRef Splitter::take(std::uint32_t most) noexcept {
  const std::uint32_t in_segment = segments_.front().length - segment_used_;
  const std::uint32_t in_memory = memory_.front().size - memory_used_;
  const std::uint32_t count = std::min({most, in_segment, in_memory});
  const BufferRef out = memory_.front().slice(memory_used_, count);
  memory_used_ += count;
  segment_used_ += count;
  return out;
}

// [8166-3.4.4-a] memory and segments may be split at any boundary
bool Splitter::next(WriteOperation& out, std::uint32_t max_gather) {
  out.gather.clear();
  out.length = 0;
  if (!settle()) return false;
  out.handle = segments_.front().handle;
  out.offset = segments_.front().offset + segment_used_;
  // [8166-3.4.6-c] writes in order, contiguously, and never beyond the segment
  std::uint32_t left = std::min(max_message_, segments_.front().length - segment_used_);
  while (left != 0 && out.gather.size() < max_gather && !memory_.empty()) {
    if (memory_used_ == memory_.front().size) {
      memory_ = memory_.subspan(1);
      memory_used_ = 0;
      continue;
    }
    const BufferRef part = take(left);
    out.gather.push_back(part);
    out.length += part.size;
    left -= part.size;
  }
  return true;
}

bool Splitter::next(ReadOperation& out) noexcept {
  if (!settle()) return false;
  out.handle = segments_.front().handle;
  out.offset = segments_.front().offset + segment_used_;
  out.sink = take(max_message_);  // [8166-3.4.5-d] reads the segments in list order
  return true;
}

}  // namespace rpcrdma::transport
