// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfs/ranges.hpp"

#include <algorithm>

namespace rpcrdma::nfs {

std::optional<Range> RangeQueue::next() {
  while (at_ < ranges_.size()) {
    Range& range = ranges_[at_];
    if (range.length == 0 || range.offset >= end_) {
      ++at_;
      continue;
    }
    const Range piece{range.offset, std::min<std::uint64_t>({piece_, range.length, end_ - range.offset})};
    range.offset += piece.length;
    range.length -= piece.length;
    return piece;
  }
  return std::nullopt;
}

void RangeQueue::end_at(std::uint64_t size) noexcept { end_ = std::min(end_, size); }

Range FileWalk::next() noexcept {
  if (at_ >= expected_end_) {
    has_grown_ = true;
    expected_end_ = at_ + ahead_;
    ahead_ = std::min(ahead_ * 2, stride_);
  }
  const Range range{at_, std::min(expected_end_ - at_, stride_ - at_ % stride_)};
  at_ += range.length;
  return range;
}

void UncommittedRanges::erase(Range range) {
  const std::uint64_t end = range.offset + range.length;
  auto entry = entries_.upper_bound(range.offset);
  if (entry != entries_.begin()) --entry;
  while (entry != entries_.end() && entry->first < end) {
    const std::uint64_t from = entry->first;
    const Entry old = entry->second;
    if (old.end <= range.offset) {
      ++entry;
      continue;
    }
    entry = entries_.erase(entry);
    if (from < range.offset) entries_.emplace(from, Entry{range.offset, old.verifier});
    if (old.end > end) entries_.emplace(end, old);
  }
}

void UncommittedRanges::add(Range range, const Verifier& verifier) {
  if (range.length == 0) return;
  erase(range);
  auto entry = entries_.emplace(range.offset, Entry{range.offset + range.length, verifier}).first;
  if (const auto next = std::next(entry);
      next != entries_.end() && next->first == entry->second.end && next->second.verifier == verifier) {
    entry->second.end = next->second.end;
    entries_.erase(next);
  }
  if (entry == entries_.begin()) return;
  const auto previous = std::prev(entry);
  if (previous->second.end == entry->first && previous->second.verifier == verifier) {
    previous->second.end = entry->second.end;
    entries_.erase(entry);
  }
}

std::vector<Range> UncommittedRanges::commit(const Verifier& verifier) {
  std::vector<Range> lost;
  for (const auto& [offset, entry] : entries_) {
    if (entry.verifier != verifier) lost.push_back({offset, entry.end - offset});
  }
  entries_.clear();
  return lost;
}

}  // namespace rpcrdma::nfs
