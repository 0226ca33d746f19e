// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The parts of a file still to be transferred, and those that are written but not committed.
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "rpcrdma/nfs/types.hpp"

namespace rpcrdma::nfs {

/// Bytes [offset, offset + length) of a file.
struct Range {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

/// Divides a file into ranges: first the expected part, then ranges of growing length, until the caller finds the end
/// of the file. No range crosses a multiple of `stride`.
class FileWalk {
 public:
  /// The ranges cover the file from `start` on, one after the other. The first ranges cover the bytes before
  /// `expected_end`. The next ones cover `piece` further bytes, then twice as many, and so on. The number of further
  /// bytes doubles until it reaches `stride`.
  FileWalk(std::uint64_t start, std::uint64_t expected_end, std::uint64_t stride, std::uint32_t piece) noexcept
      : at_(start), expected_end_(expected_end), stride_(stride), ahead_(piece) {}

  Range next() noexcept;
  /// True if next() has returned a range that begins at or after the `expected_end` of the constructor.
  bool has_grown() const noexcept { return has_grown_; }

 private:
  std::uint64_t at_;
  std::uint64_t expected_end_;
  std::uint64_t stride_;
  std::uint64_t ahead_;
  bool has_grown_ = false;
};

/// Distributes ranges of a file to concurrent workers, in order, in pieces of a bounded size.
class RangeQueue {
 public:
  RangeQueue(std::vector<Range> ranges, std::uint32_t piece) : ranges_(std::move(ranges)), piece_(piece) {}

  /// The next piece; nothing if none is left.
  std::optional<Range> next();
  /// To be called when the file is known to end at `size`. next() then returns no bytes at or after `size`.
  void end_at(std::uint64_t size) noexcept;

 private:
  std::vector<Range> ranges_;
  std::size_t at_ = 0;
  std::uint32_t piece_;
  std::uint64_t end_ = UINT64_MAX;
};

/// Records the ranges of a file that UNSTABLE writes have written, each with the write verifier of the reply (RFC 1813
/// section 4.8). Adjacent ranges with the same verifier form one entry. The number of entries therefore depends on the
/// number of concurrent writes and of restarts of the server, and not on the size of the file.
class UncommittedRanges {
 public:
  /// Adds `range`. `verifier` is the one in the reply to the WRITE of `range`. It replaces the verifiers of earlier
  /// writes of the same bytes.
  void add(Range range, const Verifier& verifier);
  /// To be called when COMMIT has returned `verifier`. Drops all ranges. Returns, in order of offset, the ranges that
  /// have another verifier: the server may have lost them, for example in a restart.
  std::vector<Range> commit(const Verifier& verifier);
  bool empty() const noexcept { return entries_.empty(); }
  std::size_t entries() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::uint64_t end = 0;
    Verifier verifier{};
  };
  void erase(Range range);
  std::map<std::uint64_t, Entry> entries_;  // ranges that do not overlap; the key is the offset of the first byte
};

}  // namespace rpcrdma::nfs
