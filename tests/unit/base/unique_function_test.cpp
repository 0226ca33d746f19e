// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/unique_function.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace rpcrdma {
namespace {

TEST(UniqueFunctionTest, CallsWhatItHolds) {
  int sum = 0;
  UniqueFunction<void(int)> add = [&](int n) { sum += n; };
  add(3);
  add(4);
  EXPECT_EQ(sum, 7);
  UniqueFunction<int(int, int)> times = [](int a, int b) { return a * b; };
  EXPECT_EQ(times(6, 7), 42);
}

TEST(UniqueFunctionTest, HoldsWhatCannotBeCopied) {
  auto value = std::make_unique<int>(5);
  UniqueFunction<int()> get = [owned = std::move(value)] { return *owned; };
  UniqueFunction<int()> other = std::move(get);
  EXPECT_FALSE(get);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(other(), 5);
}

TEST(UniqueFunctionTest, TakesArgumentsThatMove) {
  UniqueFunction<int(std::unique_ptr<int>)> take = [](std::unique_ptr<int> p) { return *p; };
  EXPECT_EQ(take(std::make_unique<int>(9)), 9);
}

template <std::size_t Size>
void destroys_once() {
  const auto counted = std::make_shared<int>(0);
  {
    std::array<std::byte, Size> ballast{};
    UniqueFunction<void()> a = [counted, ballast] { *counted += ballast.empty() ? 0 : 1; };
    EXPECT_EQ(counted.use_count(), 2);
    UniqueFunction<void()> b;
    EXPECT_FALSE(b);
    b = std::move(a);
    EXPECT_EQ(counted.use_count(), 2);
    b();
    b = nullptr;
    EXPECT_EQ(counted.use_count(), 1);
    EXPECT_FALSE(b);
  }
  EXPECT_EQ(*counted, 1);
}

TEST(UniqueFunctionTest, DestroysOnceInside) { destroys_once<8>(); }
TEST(UniqueFunctionTest, DestroysOnceOnTheHeap) { destroys_once<500>(); }

}  // namespace
}  // namespace rpcrdma
