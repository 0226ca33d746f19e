// SPDX-License-Identifier: BSD-3-Clause
#include "stream/stag_table.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <deque>
#include <random>
#include <set>

namespace rpcrdma::fabric::iwarp {
namespace {

TEST(StagTable, FindsWhatIsIn) {
  StagTable table;
  std::deque<Exposure> exposures(5000);  // the table grows several times
  for (Exposure& exposure : exposures) exposure.segment.handle = table.insert(exposure);
  EXPECT_EQ(table.size(), exposures.size());
  for (Exposure& exposure : exposures) EXPECT_EQ(table.find(exposure.segment.handle), &exposure);
}

TEST(StagTable, ForgetsWhatIsErased) {
  StagTable table;
  std::mt19937 random(1);
  std::deque<Exposure> exposures(400);
  std::vector<Exposure*> in;
  for (int round = 0; round < 20000; ++round) {
    Exposure& exposure = exposures[random() % exposures.size()];
    if (exposure.bound) {
      const std::uint32_t stag = exposure.segment.handle;
      table.erase(stag);
      exposure.bound = false;
      EXPECT_EQ(table.find(stag), nullptr);
    } else {
      exposure.segment.handle = table.insert(exposure);
      exposure.bound = true;
    }
  }
  std::size_t bound = 0;
  for (Exposure& exposure : exposures) {
    bound += exposure.bound ? 1 : 0;
    EXPECT_EQ(table.find(exposure.segment.handle), exposure.bound ? &exposure : nullptr);
  }
  EXPECT_EQ(table.size(), bound);
}

TEST(StagTable, ErasingAStranger) {
  StagTable table;
  Exposure exposure;
  const std::uint32_t stag = table.insert(exposure);
  table.erase(stag + 1);
  EXPECT_EQ(table.find(stag), &exposure);
}

// [5040-8.1.1-c] [8166-8.1.2-a] every bit of an STag is random; no value recurs soon
TEST(StagTable, TagsAreHardToGuess) {
  StagTable table;
  constexpr int kCount = 20000;
  std::set<std::uint32_t> seen;
  std::array<int, 32> ones{};
  int changed = 0;
  std::uint32_t last = 0;
  for (int i = 0; i < kCount; ++i) {
    Exposure exposure;
    const std::uint32_t stag = table.insert(exposure);
    table.erase(stag);
    EXPECT_NE(stag, 0u);
    seen.insert(stag);
    for (std::size_t bit = 0; bit < ones.size(); ++bit) ones[bit] += static_cast<int>(stag >> bit & 1);
    changed += std::popcount(stag ^ last);
    last = stag;
  }
  EXPECT_GE(seen.size(), kCount - 3u);  // tolerates three random collisions
  for (const int count : ones) EXPECT_NEAR(count, kCount / 2.0, kCount / 25.0);
  EXPECT_NEAR(changed, kCount * 16, kCount);
}

TEST(StagTable, OffsetsDoNotWrap) {
  StagTable table;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t offset = table.draw_offset();
    EXPECT_EQ(offset % 4096, 0u);
    EXPECT_LT(offset, std::uint64_t{1} << 47);
  }
}

}  // namespace
}  // namespace rpcrdma::fabric::iwarp
