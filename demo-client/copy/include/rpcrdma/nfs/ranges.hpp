// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Which parts of a file still have to be moved, and which have been written but not committed.
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "rpcrdma/nfs/types.hpp"

namespace rpcrdma::nfs {

/// Octets [offset, offset + length) of a file.
struct Range {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

/// Walks a file in ranges until the caller finds its end, as its length may differ from the one seen before: first the
/// expected part, then ever longer ranges. None crosses a multiple of `stride`.
class FileWalk {
 public:
  /// From `start` to `expected_end` first; behind it `piece` bytes, twice as many, and so on.
  FileWalk(std::uint64_t start, std::uint64_t expected_end, std::uint64_t stride, std::uint32_t piece) noexcept
      : at_(start), expected_end_(expected_end), stride_(stride), ahead_(piece) {}

  Range next() noexcept;
  /// True once next() has returned ranges behind the expected end.
  bool has_grown() const noexcept { return has_grown_; }

 private:
  std::uint64_t at_;
  std::uint64_t expected_end_;
  std::uint64_t stride_;
  std::uint64_t ahead_;
  bool has_grown_ = false;
};

/// Deals a file out to concurrent workers, in order, in pieces of a bounded size.
class RangeQueue {
 public:
  RangeQueue(std::vector<Range> ranges, std::uint32_t piece) : ranges_(std::move(ranges)), piece_(piece) {}

  /// The next piece: nothing when all have been dealt out.
  std::optional<Range> next();
  /// The file ends at `size`: pieces from there on are not dealt out any more.
  void end_at(std::uint64_t size) noexcept;

 private:
  std::vector<Range> ranges_;
  std::size_t at_ = 0;
  std::uint32_t piece_;
  std::uint64_t end_ = UINT64_MAX;
};

/// What UNSTABLE writes have put on the server, with the verifier each came back with (RFC 1813 section
/// 4.8). Neighbours with one verifier are one entry, so that the memory is bounded by the writes in flight
/// and the server's restarts, not by the file.
class UncommittedRanges {
 public:
  /// `range` was written, now under `verifier`; that replaces what was known of it.
  void add(Range range, const Verifier& verifier);
  /// COMMIT came back with `verifier`: forgets what is safe now and returns what was lost, in order.
  std::vector<Range> commit(const Verifier& verifier);
  bool empty() const noexcept { return entries_.empty(); }
  std::size_t entries() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::uint64_t end = 0;
    Verifier verifier{};
  };
  void erase(Range range);
  std::map<std::uint64_t, Entry> entries_;  // by offset, disjoint
};

}  // namespace rpcrdma::nfs
