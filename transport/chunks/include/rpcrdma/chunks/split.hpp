// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Cuts a transfer between local memory and the segments of a chunk into single RDMA operations. Does no I/O.
#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <span>

#include "rpcrdma/base/buffer_ref.hpp"

namespace rpcrdma::transport {

/// One RDMA Write: from pieces of local memory, in order, to one remote range.
struct WriteOperation {
  boost::container::small_vector<BufferRef, 8> gather;
  std::uint32_t handle = 0;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
};

/// One RDMA Read: from one remote range into one piece of local memory.
struct ReadOperation {
  BufferRef sink;
  std::uint32_t handle = 0;
  std::uint64_t offset = 0;
};

/// Walks memory and segments in parallel, until one of them ends. The spans belong to the caller and must outlive the
/// walk. Empty segments and empty memory yield no operation.
class Splitter {
 public:
  Splitter() = default;
  Splitter(std::span<const BufferRef> memory, std::span<const Segment> segments, std::uint32_t max_message) noexcept
      : memory_(memory), segments_(segments), max_message_(max_message) {}

  /// Skips the first `of_segments` bytes of the segments and the first `of_memory` bytes of the memory. Call it at most
  /// once, before the first next().
  void skip(std::uint64_t of_segments, std::uint64_t of_memory) noexcept;
  /// Makes the next operation that writes `memory` to the segments, from at most `max_gather` pieces; false at the end.
  bool next(WriteOperation& out, std::uint32_t max_gather);
  /// Makes the next operation that reads the segments into `memory`; false at the end.
  bool next(ReadOperation& out) noexcept;
  bool done() noexcept { return !settle(); }

 private:
  bool settle() noexcept;
  BufferRef take(std::uint32_t most) noexcept;

  std::span<const BufferRef> memory_;
  std::span<const Segment> segments_;
  std::uint32_t max_message_ = 0;
  std::uint32_t memory_used_ = 0;   // bytes used of memory_.front()
  std::uint32_t segment_used_ = 0;  // bytes used of segments_.front()
};

}  // namespace rpcrdma::transport
