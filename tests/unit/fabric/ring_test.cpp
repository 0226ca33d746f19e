// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/fabric/ring.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rpcrdma::fabric {
namespace {

TEST(Ring, GrowsToItsBoundAndKeepsNumbersAndOrder) {
  Ring<std::string> ring;
  EXPECT_TRUE(ring.full());
  ring.reserve(100);
  std::uint64_t next = 0;
  // The elements wrap around the end of the slots while the queue grows.
  for (std::size_t length = 1; length <= 128; ++length) {
    while (ring.size() < length) ring.push() = std::to_string(next++);
    for (std::uint64_t i = ring.head(); i != ring.tail(); ++i) EXPECT_EQ(ring[i], std::to_string(i));
    EXPECT_EQ(ring.full(), length == 128);
    EXPECT_EQ(ring.front(), std::to_string(ring.head()));
    ring.pop();
  }
  EXPECT_EQ(ring.size(), 127u);
  ring.clear();
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.head(), next);
}

TEST(Ring, IsAQueueOfBoundedLength) {
  Ring<int> ring;
  EXPECT_TRUE(ring.full());
  ring.reserve(5);
  int in = 0;
  int out = 0;
  for (int round = 0; round < 100; ++round) {
    while (!ring.full()) ring.push() = in++;
    EXPECT_GE(ring.size(), 5u);
    EXPECT_EQ(ring[ring.tail() - 1], in - 1);
    for (int i = 0; i < 3; ++i, ring.pop()) EXPECT_EQ(ring.front(), out++);
  }
  ring.clear();
  EXPECT_TRUE(ring.empty());
}

}  // namespace
}  // namespace rpcrdma::fabric
