// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/memory/pool.hpp"

#include <gtest/gtest.h>

#include <random>

#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "support/pattern.hpp"

namespace rpcrdma::memory {
namespace {

using fabric::Capabilities;
using fabric::LoopbackNetwork;
using fabric::LoopbackOperation;

class PoolTest : public testing::Test {
 protected:
  static Capabilities inexact() {
    Capabilities out = LoopbackNetwork::default_capabilities();
    out.exact_window_bounds = false;
    return out;
  }

  boost::asio::io_context context_;
  LoopbackNetwork network_{context_};
  std::unique_ptr<fabric::LoopbackFabric> fabric_ = network_.make_fabric("a");
};

TEST_F(PoolTest, BuffersHaveTheSizeAskedFor) {
  Pool pool(*fabric_);
  for (const std::uint32_t size : {1u, 4095u, 4096u, 4097u, 65536u, 1u << 20, (1u << 20) + 1, 4u << 20, 5u << 20}) {
    auto buffer = pool.allocate(size);
    ASSERT_TRUE(buffer) << size;
    EXPECT_EQ(buffer->ref().size, size);
    EXPECT_NE(buffer->ref().local_key, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->ref().data) % 4096, 0u) << size;
    test::fill_pattern(buffer->octets(), size);
    EXPECT_TRUE(test::has_pattern(buffer->octets(), size));
  }
  EXPECT_EQ(pool.counters().lent, 0u);
}

TEST_F(PoolTest, BuffersDoNotOverlap) {
  Pool pool(*fabric_);
  std::vector<RegisteredBuffer> buffers;
  for (std::uint32_t i = 0; i < 300; ++i) {
    buffers.push_back(std::move(*pool.allocate(4096)));
    test::fill_pattern(buffers.back().octets(), i);
  }
  EXPECT_EQ(pool.counters().lent, 300u);
  for (std::uint32_t i = 0; i < 300; ++i) EXPECT_TRUE(test::has_pattern(buffers[i].octets(), i));
}

TEST_F(PoolTest, FreeBuffersAreUsedAgainWithoutRegistering) {
  Pool pool(*fabric_);
  const std::byte* at = pool.allocate(1u << 20)->ref().data;
  const auto registered = fabric_->operations(LoopbackOperation::register_memory);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(pool.allocate(900000)->ref().data, at);
  EXPECT_EQ(fabric_->operations(LoopbackOperation::register_memory), registered);
}

TEST_F(PoolTest, SmallBuffersShareRegions) {
  Pool pool(*fabric_);
  std::vector<RegisteredBuffer> buffers;
  for (int i = 0; i < 256; ++i) buffers.push_back(std::move(*pool.allocate(4096)));
  EXPECT_EQ(pool.counters().regions, 1u);
}

// On a fabric whose windows expose whole regions, each buffer has a region of its own.
TEST_F(PoolTest, InexactWindowsGetRegionsOfTheirOwn) {
  const auto fabric = network_.make_fabric("rxe", inexact());
  Pool pool(*fabric);
  std::vector<RegisteredBuffer> buffers;
  for (int i = 0; i < 20; ++i) buffers.push_back(std::move(*pool.allocate(4096)));
  EXPECT_EQ(pool.counters().regions, 20u);
  EXPECT_EQ(fabric->regions(), 20u);
  for (int i = 1; i < 20; ++i)
    EXPECT_NE(buffers[0].ref().local_key, buffers[static_cast<std::size_t>(i)].ref().local_key);
}

TEST_F(PoolTest, TheBoundHolds) {
  Pool pool(*fabric_, {.max_octets = 3u << 20});
  std::vector<RegisteredBuffer> buffers;
  for (int i = 0; i < 3; ++i) buffers.push_back(std::move(*pool.allocate(1u << 20)));
  const auto failed = pool.allocate(1);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error(), BaseError::out_of_memory);
  EXPECT_EQ(failed.error(), Condition::retry);
  EXPECT_EQ(pool.counters().registered_octets, 3u << 20);
  buffers.pop_back();
  EXPECT_TRUE(pool.allocate(1u << 20));
  EXPECT_EQ(pool.allocate(4u << 20).error(), BaseError::out_of_memory);
}

TEST_F(PoolTest, IdleSlabsMakeRoomWithinTheLimitOfLockedMemory) {
  Pool pool(*fabric_);
  { const auto idle = std::move(*pool.allocate(1u << 20)); }
  ASSERT_EQ(pool.counters().regions, 1u);
  fabric_->fail_nth(fabric::LoopbackOperation::register_memory, 1, fabric::FabricError::locked_memory);
  const auto other = pool.allocate(2u << 20);
  ASSERT_TRUE(other) << other.error().message();
  EXPECT_EQ(pool.counters().regions, 1u);
  // `other` is in use, so there is no idle slab that the pool could drop. The failure is therefore reported.
  fabric_->fail_nth(fabric::LoopbackOperation::register_memory, 1, fabric::FabricError::locked_memory);
  EXPECT_EQ(pool.allocate(4u << 20).error(), fabric::FabricError::locked_memory);
}

TEST(PoolOptions, ShareTheLimitOfLockedMemory) {
  fabric::Capabilities capabilities;
  EXPECT_EQ(within_limit({.max_octets = 100}, capabilities, 4).max_octets, 100u);
  capabilities.lockable_memory = 8u << 20;
  EXPECT_EQ(within_limit({}, capabilities, 2).max_octets, 2u << 20);
  EXPECT_EQ(within_limit({.max_octets = 100}, capabilities, 2).max_octets, 100u);
}

TEST_F(PoolTest, ASmallPoolServesSmallBuffersAndALargeOne) {
  Pool pool(*fabric_, {.max_octets = 2u << 20});
  std::vector<RegisteredBuffer> buffers;
  for (const std::uint32_t size : {4096u, 8192u, 16384u, 65536u}) buffers.push_back(std::move(*pool.allocate(size)));
  EXPECT_TRUE(pool.allocate(1u << 20));
}

TEST_F(PoolTest, ASmallBoundStillServesSmallBuffers) {
  Pool pool(*fabric_, {.max_octets = 8192});
  auto first = pool.allocate(4096);
  auto second = pool.allocate(4096);
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_FALSE(pool.allocate(4096));
}

TEST_F(PoolTest, IdleSlabsMakeRoomForOtherSizes) {
  Pool pool(*fabric_, {.max_octets = 4u << 20});
  { const auto large = std::move(*pool.allocate(4u << 20)); }
  const auto small = pool.allocate(4096);
  ASSERT_TRUE(small);
  EXPECT_LE(pool.counters().registered_octets, 4u << 20);
  EXPECT_FALSE(pool.allocate(4u << 20));
  EXPECT_TRUE(pool.allocate(2u << 20));
}

TEST_F(PoolTest, BeyondTheClassesTheLastSizeIsKept) {
  Pool pool(*fabric_);
  const std::byte* data = nullptr;
  {
    const auto huge = std::move(*pool.allocate(9u << 20));
    data = huge.ref().data;
  }
  EXPECT_EQ(fabric_->regions(), 1u);
  {
    const auto again = std::move(*pool.allocate((9u << 20) - 100));
    EXPECT_EQ(again.ref().data, data);
    EXPECT_EQ(again.ref().size, (9u << 20) - 100);
    const auto beside = std::move(*pool.allocate(9u << 20));
    EXPECT_NE(beside.ref().data, data);
  }
  EXPECT_EQ(fabric_->regions(), 1u);
  { const auto other = std::move(*pool.allocate(5u << 20)); }
  EXPECT_EQ(fabric_->regions(), 1u);
  EXPECT_EQ(pool.counters().registered_octets, 5u << 20);
  pool.trim();
  pool.trim();
  EXPECT_EQ(fabric_->regions(), 0u);
  EXPECT_EQ(pool.counters().registered_octets, 0u);
}

// trim() drops a slab only if none of its buffers is in use, and none has been used since the previous trim().
TEST_F(PoolTest, TrimmingGivesIdleSlabsBack) {
  Pool pool(*fabric_);
  const auto held = std::move(*pool.allocate(1u << 20));
  std::vector<RegisteredBuffer> burst;
  for (int i = 0; i < 20; ++i) burst.push_back(std::move(*pool.allocate(1u << 20)));
  for (int i = 0; i < 20; ++i) burst.push_back(std::move(*pool.allocate(4096)));
  burst.clear();
  EXPECT_EQ(pool.counters().regions, 22u);
  pool.trim();
  EXPECT_EQ(pool.counters().regions, 22u);
  pool.allocate(4096).value();
  pool.trim();
  EXPECT_EQ(pool.counters().regions, 2u);
  EXPECT_TRUE(pool.allocate(1u << 20));
  pool.trim();
  pool.trim();
  EXPECT_EQ(pool.counters().regions, 1u);
  EXPECT_EQ(pool.counters().registered_octets, 1u << 20);
  EXPECT_EQ(fabric_->regions(), 1u);
}

TEST_F(PoolTest, EveryFailingRegistrationIsSurvived) {
  for (std::uint64_t n = 1; n <= 4; ++n) {
    Pool pool(*fabric_);
    fabric_->fail_nth(LoopbackOperation::register_memory, n);
    int failures = 0;
    for (const std::uint32_t size : {4096u, 8192u, 1u << 20, 6u << 20}) {
      const auto buffer = pool.allocate(size);
      failures += buffer ? 0 : 1;
      EXPECT_TRUE(buffer || pool.allocate(size));
    }
    EXPECT_EQ(failures, 1) << n;
    EXPECT_EQ(pool.counters().lent, 0u);
  }
  EXPECT_EQ(fabric_->regions(), 0u);
}

TEST_F(PoolTest, BuffersMove) {
  Pool pool(*fabric_);
  RegisteredBuffer a = std::move(*pool.allocate(100));
  RegisteredBuffer b = std::move(a);
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(b);
  a = std::move(b);
  EXPECT_TRUE(a);
  EXPECT_EQ(pool.counters().lent, 1u);
  a = std::move(*pool.allocate(200));
  EXPECT_EQ(pool.counters().lent, 1u);
  a.reset();
  a.reset();
  EXPECT_EQ(pool.counters().lent, 0u);
}

TEST_F(PoolTest, ApplicationMemoryIsRegisteredOnce) {
  std::vector<std::byte> memory(10000);
  {
    auto buffer = adopt(*fabric_, memory);
    ASSERT_TRUE(buffer);
    EXPECT_EQ(buffer->ref().data, memory.data());
    EXPECT_EQ(buffer->ref().size, 10000u);
    EXPECT_EQ(buffer->first(100).size, 100u);
    EXPECT_EQ(fabric_->regions(), 1u);
  }
  EXPECT_EQ(fabric_->regions(), 0u);
  EXPECT_EQ(adopt(*fabric_, {}).error(), BaseError::invalid_argument);
  fabric_->fail_nth(LoopbackOperation::register_memory, 1);
  EXPECT_FALSE(adopt(*fabric_, memory));
}

TEST_F(PoolTest, RandomUseKeepsTheBooks) {
  Pool pool(*fabric_, {.max_octets = 24u << 20});
  std::mt19937 random(7);
  std::vector<std::pair<RegisteredBuffer, std::uint32_t>> held;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    if (!held.empty() && random() % 2 == 0) {
      const std::size_t at = random() % held.size();
      ASSERT_TRUE(test::has_pattern(held[at].first.octets(), held[at].second));
      std::swap(held[at], held.back());
      held.pop_back();
      continue;
    }
    auto buffer = pool.allocate(1 + static_cast<std::uint32_t>(random()) % (1u << (12 + random() % 10)));
    if (!buffer) continue;
    test::fill_pattern(buffer->octets(), i);
    held.emplace_back(std::move(*buffer), i);
    ASSERT_LE(pool.counters().registered_octets, 24u << 20);
    ASSERT_EQ(pool.counters().lent, held.size());
    ASSERT_EQ(pool.counters().regions, fabric_->regions());
  }
  held.clear();
  EXPECT_EQ(pool.counters().lent, 0u);
}

}  // namespace
}  // namespace rpcrdma::memory
