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
  /// The ranges first cover the part from `start` to `expected_end`; then `piece` bytes, twice as many, and so on up to
  /// `stride`.
  FileWalk(std::uint64_t start, std::uint64_t expected_end, std::uint64_t stride, std::uint32_t piece) noexcept
      : at_(start), expected_end_(expected_end), stride_(stride), ahead_(piece) {}

  Range next() noexcept;
  /// True once next() has returned a range after the expected end.
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
  /// The file ends at `size`: drops all pieces from there on.
  void end_at(std::uint64_t size) noexcept;

 private:
  std::vector<Range> ranges_;
  std::size_t at_ = 0;
  std::uint32_t piece_;
  std::uint64_t end_ = UINT64_MAX;
};

/// The ranges of UNSTABLE writes with the verifier of each reply (RFC 1813 section 4.8). Adjacent ranges with the same
/// verifier are one entry: the memory is bounded by the writes in flight and the server's restarts, not by the file's
/// size.
class UncommittedRanges {
 public:
  /// Adds `range`, written with `verifier`; replaces earlier verifiers of these bytes.
  void add(Range range, const Verifier& verifier);
  /// Takes the `verifier` that COMMIT returned: drops all ranges, and returns those that were lost, in order.
  std::vector<Range> commit(const Verifier& verifier);
  bool empty() const noexcept { return entries_.empty(); }
  std::size_t entries() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::uint64_t end = 0;
    Verifier verifier{};
  };
  void erase(Range range);
  std::map<std::uint64_t, Entry> entries_;  // disjoint; the key is the offset
};

}  // namespace rpcrdma::nfs
