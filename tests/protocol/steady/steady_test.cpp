// SPDX-License-Identifier: BSD-3-Clause
// In the steady state calls allocate nothing and copy no bulk data, on either side.
#include <cstdlib>

#include "bed.hpp"
#include "support/pattern.hpp"

namespace rpcrdma::test {
namespace {

constexpr std::uint32_t kWarming = 200;
constexpr std::uint32_t kCalls = 200;
/// The number of bytes that one call may copy on average, on both sides together. It has room for several copies of the
/// headers and the small arguments, but not for a copy of the bulk data.
constexpr std::uint64_t kOwnOctets = 4096;

struct Load {
  const char* name;
  std::uint32_t octets;
  std::uint32_t depth;
  bool crc = false;
  friend void PrintTo(const Load& load, std::ostream* out) { *out << load.name; }
};

class Steady : public testing::TestWithParam<Load> {
 protected:
  template <class P>
  void expect_no_cost() {
    const Load& load = GetParam();
    // Begins with twice the depth. The server may begin a call before it has released an earlier one, so it may need
    // memory for more than `depth` calls. It must allocate this memory before the measurement.
    bed_.run<P>(load.octets, 2 * load.depth, kWarming);
    bed_.run<P>(load.octets, load.depth, kWarming);
    const Cost cost = bed_.run<P>(load.octets, load.depth, kCalls);
    EXPECT_EQ(cost.allocations, 0u);
    EXPECT_EQ(cost.fabric_copied, 0u);
    if (kCopiesAreCounted) {
      EXPECT_LE(cost.copied, kCalls * kOwnOctets);
    }
  }
  SteadyBed bed_{GetParam().crc};
};

TEST_P(Steady, Null) { expect_no_cost<Null>(); }

TEST_P(Steady, Read) {
  fill_pattern(bed_.source(), 1);
  expect_no_cost<Read>();
  EXPECT_TRUE(has_pattern(bed_.buffer(0).first(GetParam().octets), 1));
}

TEST_P(Steady, Write) {
  for (std::uint32_t i = 0; i < SteadyBed::kMostDepth; ++i) fill_pattern(bed_.buffer(i), 2);
  expect_no_cost<Write>();
  EXPECT_TRUE(has_pattern(bed_.sink().first(GetParam().octets), 2));
}

INSTANTIATE_TEST_SUITE_P(Loads, Steady,
                         testing::Values(Load{"8k_qd1", 8192, 1}, Load{"8k_qd8", 8192, 8}, Load{"1m_qd1", 1u << 20, 1},
                                         Load{"1m_qd8", 1u << 20, 8}, Load{"1m_qd8_crc", 1u << 20, 8, true}),
                         [](const auto& load) { return std::string(load.param.name); });

/// Checks the counters themselves.
TEST(Counting, SeesAllocationsAndCopies) {
  const std::uint64_t allocations = tally::here().allocations;
  const std::unique_ptr<int> one = std::make_unique<int>(1);
  std::vector<std::byte> from(100000);
  std::vector<std::byte> to(from.size());
  EXPECT_GE(tally::here().allocations, allocations + 3);
  const std::uint64_t copied_before = copied_octets();
  std::memcpy(to.data(), from.data(), from.size());
  std::memmove(to.data(), to.data() + 1, from.size() - 1);
  if (kCopiesAreCounted) {
    EXPECT_EQ(copied_octets(), copied_before + 2 * from.size() - 1);
  }
}

}  // namespace
}  // namespace rpcrdma::test
