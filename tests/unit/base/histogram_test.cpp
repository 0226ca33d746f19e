// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace rpcrdma {
namespace {

TEST(HistogramTest, IsEmptyAtFirst) {
  const Histogram empty;
  EXPECT_EQ(empty.count(), 0u);
  EXPECT_EQ(empty.sum(), 0u);
  EXPECT_EQ(empty.quantile(0.5), 0u);
  EXPECT_EQ(empty.count_below(std::uint64_t{1} << 36), 0u);
}

TEST(HistogramTest, SmallValuesAreExact) {
  for (std::uint64_t value = 0; value < 16; ++value) {
    Histogram one;
    one.add(value);
    EXPECT_EQ(one.quantile(0.5), value);
    EXPECT_EQ(one.sum(), value);
  }
}

TEST(HistogramTest, BucketsAreContiguousAndNarrow) {
  Histogram all;
  std::vector<std::uint64_t> values;
  for (unsigned bits = 0; bits < Histogram::kMaxBits; ++bits)
    for (std::uint64_t part = 0; part < 8; ++part) {
      const std::uint64_t base = std::uint64_t{1} << bits;
      values.push_back(base + part * base / 8);
    }
  for (const std::uint64_t value : values) all.add(value);
  std::uint64_t count = 0;
  std::uint64_t next = 1;
  all.for_each([&](std::uint64_t low, std::uint64_t high, std::uint64_t in_bucket) {
    EXPECT_EQ(low, next);
    EXPECT_LE(high - low, low / 8) << low;
    next = high + 1;
    count += in_bucket;
  });
  EXPECT_EQ(next, std::uint64_t{1} << Histogram::kMaxBits);
  EXPECT_EQ(count, values.size());
}

TEST(HistogramTest, HugeValuesAreCountedAtTheEnd) {
  Histogram one;
  one.add(~std::uint64_t{0} / 2);
  EXPECT_EQ(one.count(), 1u);
  EXPECT_EQ(one.quantile(1), (std::uint64_t{1} << Histogram::kMaxBits) - 1);
}

// Compares the quantiles with those of a sorted list of the same values.
TEST(HistogramTest, QuantilesAreAtMostAnEighthTooHigh) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> latency(10, 2);
  Histogram histogram;
  std::vector<std::uint64_t> sorted;
  for (int i = 0; i < 20000; ++i) {
    sorted.push_back(static_cast<std::uint64_t>(latency(random)));
    histogram.add(sorted.back());
  }
  std::ranges::sort(sorted);
  for (const double q : {0.01, 0.25, 0.5, 0.9, 0.99, 0.999}) {
    const auto rank = static_cast<std::size_t>(q * 20000 + 0.5) - 1;
    EXPECT_GE(histogram.quantile(q), sorted[rank]) << q;
    EXPECT_LE(static_cast<double>(histogram.quantile(q)), static_cast<double>(sorted[rank]) * 1.125 + 1) << q;
  }
  EXPECT_EQ(histogram.quantile(0), histogram.quantile(0.00001));
}

TEST(HistogramTest, CountsBelowPowersOfTwoExactly) {
  Histogram histogram;
  for (std::uint64_t value = 0; value < 5000; ++value) histogram.add(value);
  for (std::uint64_t limit = 1; limit <= 4096; limit *= 2) EXPECT_EQ(histogram.count_below(limit), limit);
  EXPECT_EQ(histogram.count_below(8192), 5000u);
}

TEST(HistogramTest, SumOfTwoIsTheHistogramOfBoth) {
  Histogram one, two, both;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    (i % 3 == 0 ? one : two).add(i * i);
    both.add(i * i);
  }
  one += two;
  EXPECT_EQ(one.count(), both.count());
  EXPECT_EQ(one.sum(), both.sum());
  for (const double q : {0.1, 0.5, 0.99}) EXPECT_EQ(one.quantile(q), both.quantile(q));
}

TEST(HistogramTest, CountsRunsOfEqualValues) {
  Histogram histogram;
  for (const std::uint64_t value : {0u, 0u, 40u, 40u, 40u, 7u, 40u}) histogram.add(value);
  EXPECT_EQ(histogram.count(), 7u);
  EXPECT_EQ(histogram.sum(), 167u);
  EXPECT_EQ(histogram.count_below(8), 3u);
  EXPECT_EQ(histogram.quantile(0.4), 7u);
  Histogram sum;
  sum += histogram;
  sum += sum;
  std::vector<std::array<std::uint64_t, 3>> buckets;
  sum.for_each([&buckets](std::uint64_t low, std::uint64_t high, std::uint64_t count) {
    buckets.push_back({low, high, count});
  });
  EXPECT_EQ(buckets, (std::vector<std::array<std::uint64_t, 3>>{{0, 0, 4}, {7, 7, 2}, {40, 43, 8}}));
  EXPECT_EQ(sum.sum(), 334u);
}

}  // namespace
}  // namespace rpcrdma
