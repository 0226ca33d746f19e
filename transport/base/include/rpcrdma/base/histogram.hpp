// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace rpcrdma {

/// Counts how often values occur, in buckets. Each value below 16 has a bucket of its own. From 16 on, eight buckets of
/// equal width lie between a power of two and the next one, so a quantile is at most 12.5 % too high. The histogram
/// takes 2.3 KB and never allocates memory. It may be used on one thread only: give each thread a histogram of its own,
/// and add them up.
class Histogram {
 public:
  /// Values of 2^kMaxBits and more are counted in the highest bucket; sum() includes them in full.
  static constexpr unsigned kMaxBits = 37;

  /// Counts one value. Fastest if the value equals the previous one.
  void add(std::uint64_t value) noexcept {
    if (value != last_) {
      count_run();
      last_ = value;
      run_ = 0;
    }
    ++run_;
  }
  /// Adds the counts of another histogram.
  Histogram& operator+=(const Histogram& other) noexcept {
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    counts_[bucket_of(other.last_)] += other.run_;
    sum_ += other.sum();
    return *this;
  }
  /// The number of values.
  std::uint64_t count() const noexcept { return std::accumulate(counts_.begin(), counts_.end(), run_); }
  /// The sum of the values.
  std::uint64_t sum() const noexcept { return sum_ + last_ * run_; }
  /// The number of values below `limit`, which is a power of two less than 2^kMaxBits.
  std::uint64_t count_below(std::uint64_t limit) const noexcept {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < kBuckets && lowest(i) < limit; ++i) below += at(i);
    return below;
  }
  /// The highest value of the bucket that holds the quantile `q`, from 0 to 1; 0 if there are no values.
  std::uint64_t quantile(double q) const noexcept {
    const std::uint64_t all = count();
    if (all == 0) return 0;
    const auto rank =
        std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::llround(q * static_cast<double>(all))), 1, all);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i)
      if ((seen += at(i)) >= rank) return lowest(i + 1) - 1;
    return lowest(kBuckets) - 1;
  }
  /// Calls `visit(lowest value, highest value, count)` for each bucket that is not empty, in ascending order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < kBuckets; ++i)
      if (at(i) != 0) visit(lowest(i), lowest(i + 1) - 1, at(i));
  }

 private:
  static constexpr unsigned kParts = 3;  // log2 of the number of buckets for each power of two
  static constexpr std::size_t kBuckets = (kMaxBits - kParts + 1) << kParts;

  static constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
    value = std::min(value, (std::uint64_t{1} << kMaxBits) - 1);
    // For values below 1 << kParts, this bit makes the shift 0, so that each of these values has its own bucket. For
    // larger values the bit does not change the bit width.
    const auto bits = static_cast<unsigned>(std::bit_width(value | (1u << kParts)));
    const unsigned shift = bits - kParts - 1;
    return (static_cast<std::size_t>(shift) << kParts) + static_cast<std::size_t>(value >> shift);
  }
  static constexpr std::uint64_t lowest(std::size_t bucket) noexcept {
    constexpr std::size_t kEach = std::size_t{1} << kParts;
    if (bucket < 2 * kEach) return bucket;
    return (kEach + bucket % kEach) << (bucket / kEach - 1);
  }

  std::uint64_t at(std::size_t bucket) const noexcept {
    return counts_[bucket] + (bucket == bucket_of(last_) ? run_ : 0);
  }
  void count_run() noexcept {
    counts_[bucket_of(last_)] += run_;
    sum_ += last_ * run_;
  }

  // The value that add() has received most recently, run_ times in succession. counts_ and sum_ do not include these
  // run_ values yet.
  std::uint64_t last_ = 0;
  std::uint64_t run_ = 0;
  std::uint64_t sum_ = 0;
  std::array<std::uint64_t, kBuckets> counts_{};
};

}  // namespace rpcrdma
