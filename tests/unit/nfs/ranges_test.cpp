// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfs/ranges.hpp"

#include <gmock/gmock.h>

#include <random>

namespace rpcrdma::nfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Verifier kFirst{std::byte{1}};
constexpr Verifier kSecond{std::byte{2}};

TEST(RangeQueue, DealsPiecesInOrder) {
  RangeQueue queue({{0, 25}, {100, 10}, {200, 0}}, 10);
  EXPECT_EQ(queue.next(), (Range{0, 10}));
  EXPECT_EQ(queue.next(), (Range{10, 10}));
  EXPECT_EQ(queue.next(), (Range{20, 5}));
  EXPECT_EQ(queue.next(), (Range{100, 10}));
  EXPECT_EQ(queue.next(), std::nullopt);
  EXPECT_EQ(queue.next(), std::nullopt);
}

TEST(RangeQueue, StopsAtTheEndOfTheFile) {
  RangeQueue queue({{0, 100}}, 10);
  EXPECT_EQ(queue.next(), (Range{0, 10}));
  queue.end_at(15);
  queue.end_at(90);  // the earlier end stays
  EXPECT_EQ(queue.next(), (Range{10, 5}));
  EXPECT_EQ(queue.next(), std::nullopt);
}

TEST(FileWalk, StartsWithTheExpectedPart) {
  FileWalk walk(200, 350, 100, 10);
  EXPECT_EQ(walk.next(), (Range{200, 100}));
  EXPECT_EQ(walk.next(), (Range{300, 50}));
  EXPECT_FALSE(walk.has_grown());
}

TEST(FileWalk, RangesBehindTheExpectedEndGrow) {
  FileWalk walk(0, 1, 100, 10);
  EXPECT_EQ(walk.next(), (Range{0, 1}));
  EXPECT_FALSE(walk.has_grown());
  EXPECT_EQ(walk.next(), (Range{1, 10}));
  EXPECT_TRUE(walk.has_grown());
  EXPECT_EQ(walk.next(), (Range{11, 20}));
  EXPECT_EQ(walk.next(), (Range{31, 40}));
  EXPECT_EQ(walk.next(), (Range{71, 29})) << "up to a multiple of the stride";
  EXPECT_EQ(walk.next(), (Range{100, 51}));
  EXPECT_EQ(walk.next(), (Range{151, 49}));
  EXPECT_EQ(walk.next(), (Range{200, 51}));
}

TEST(RangeQueue, LargeFiles) {
  constexpr std::uint64_t kBig = std::uint64_t{5} << 32;
  RangeQueue queue({{kBig - 3, 6}}, 1u << 20);
  EXPECT_EQ(queue.next(), (Range{kBig - 3, 6}));
}

TEST(UncommittedRanges, OneEntryForNeighbours) {
  UncommittedRanges ranges;
  ranges.add({10, 10}, kFirst);
  ranges.add({30, 10}, kFirst);
  EXPECT_EQ(ranges.entries(), 2u);
  ranges.add({20, 10}, kFirst);
  EXPECT_EQ(ranges.entries(), 1u);
  EXPECT_THAT(ranges.commit(kFirst), IsEmpty());
  EXPECT_TRUE(ranges.empty());
}

TEST(UncommittedRanges, RangesWithAnotherVerifierAreLost) {
  UncommittedRanges ranges;
  ranges.add({0, 10}, kFirst);
  ranges.add({10, 10}, kSecond);
  ranges.add({20, 10}, kFirst);
  EXPECT_THAT(ranges.commit(kSecond), ElementsAre(Range{0, 10}, Range{20, 10}));
}

TEST(UncommittedRanges, RewritingReplaces) {
  UncommittedRanges ranges;
  ranges.add({0, 30}, kFirst);
  ranges.add({10, 10}, kSecond);
  EXPECT_EQ(ranges.entries(), 3u);
  EXPECT_THAT(ranges.commit(kSecond), ElementsAre(Range{0, 10}, Range{20, 10}));
  ranges.add({10, 10}, kFirst);
  ranges.add({0, 40}, kSecond);
  EXPECT_THAT(ranges.commit(kFirst), ElementsAre(Range{0, 40}));
}

// Compares the ranges with an array that has one element for each byte.
TEST(UncommittedRanges, AgreesWithAModel) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    UncommittedRanges ranges;
    std::array<int, 64> model{};
    for (int step = 0; step < 20; ++step) {
      const std::uint64_t offset = random() % 60;
      const std::uint64_t length = random() % (64 - offset);
      const bool second = random() % 2 != 0;
      ranges.add({offset, length}, second ? kSecond : kFirst);
      for (std::uint64_t i = offset; i < offset + length; ++i) model[i] = second ? 2 : 1;
    }
    std::array<int, 64> lost{};
    for (const Range& range : ranges.commit(kSecond)) {
      for (std::uint64_t i = range.offset; i < range.offset + range.length; ++i) lost[i] = 1;
    }
    for (std::size_t i = 0; i < model.size(); ++i) EXPECT_EQ(lost[i] == 1, model[i] == 1) << round << ' ' << i;
  }
}

}  // namespace
}  // namespace rpcrdma::nfs
