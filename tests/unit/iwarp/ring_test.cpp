// SPDX-License-Identifier: BSD-3-Clause
#include "ring.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rpcrdma::fabric::iwarp {
namespace {

TEST(Ring, GrowsToItsBoundAndKeepsNumbersAndOrder) {
  Ring<std::string> ring;
  EXPECT_TRUE(ring.full());
  ring.reserve(100);
  std::uint64_t next = 0;
  // The queue's ends go round while it grows.
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

}  // namespace
}  // namespace rpcrdma::fabric::iwarp
