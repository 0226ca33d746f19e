// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/wire/chunk_lists.hpp"

namespace rpcrdma::wire {

void ChunkLists::clear() noexcept {
  reads.clear();
  write_segments_.clear();
  write_ends_.clear();
  reply_.clear();
  has_reply_ = false;
}

std::span<Segment> ChunkLists::write_chunk(std::size_t index) noexcept {
  const std::size_t begin = index == 0 ? 0 : write_ends_[index - 1];
  return std::span(write_segments_).subspan(begin, write_ends_[index] - begin);
}

std::span<const Segment> ChunkLists::write_chunk(std::size_t index) const noexcept {
  const std::size_t begin = index == 0 ? 0 : write_ends_[index - 1];
  return std::span(write_segments_).subspan(begin, write_ends_[index] - begin);
}

void ChunkLists::add_write_chunk(std::span<const Segment> segments) {
  write_segments_.insert(write_segments_.end(), segments.begin(), segments.end());
  write_ends_.push_back(write_segments_.size());
}

void ChunkLists::begin_write_chunk() { write_ends_.push_back(write_segments_.size()); }

void ChunkLists::add_write_segment(const Segment& segment) {
  write_segments_.push_back(segment);
  write_ends_.back() = write_segments_.size();
}

void ChunkLists::begin_reply_chunk() {
  reply_.clear();
  has_reply_ = true;
}

void ChunkLists::add_reply_segment(const Segment& segment) { reply_.push_back(segment); }

}  // namespace rpcrdma::wire
