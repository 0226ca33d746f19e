// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/connection/credits.hpp"

#include <gtest/gtest.h>

namespace rpcrdma::transport {
namespace {

// [8166-3.3.3-a] only one call may be sent before the first reply
TEST(Credits, StartWithOne) {
  Credits credits(32);
  EXPECT_EQ(credits.available(), 1u);
  credits.call_sent();
  EXPECT_EQ(credits.available(), 0u);
}

// [8166-3.3.1-a] [8166-3.3.1-c] available = min(requested, granted) - in flight
TEST(Credits, NeverMoreThanGrantedOrRequested) {
  Credits credits(8);
  credits.grant(100);
  EXPECT_EQ(credits.available(), 8u);
  credits.grant(5);
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(credits.available(), 5 - i);
    credits.call_sent();
  }
  EXPECT_EQ(credits.available(), 0u);
}

// [8166-3.3.1-d] grants are absolute values; a grant may be smaller than the number of calls in flight
TEST(Credits, Shrink) {
  Credits credits(8);
  credits.grant(4);
  for (int i = 0; i < 4; ++i) credits.call_sent();
  credits.grant(2);
  credits.call_answered();
  EXPECT_EQ(credits.available(), 0u);
  credits.call_answered();
  credits.call_answered();
  EXPECT_EQ(credits.available(), 1u);
}

// [8166-3.3.1-b] a grant of 0 is invalid and counts as 1
TEST(Credits, ZeroCountsAsOne) {
  Credits credits(0);
  EXPECT_EQ(credits.requested(), 1u);
  credits.grant(0);
  EXPECT_EQ(credits.granted(), 1u);
  EXPECT_EQ(credits.available(), 1u);
}

TEST(Credits, Restart) {
  Credits credits(8);
  credits.grant(8);
  credits.call_sent();
  credits.restart();
  EXPECT_EQ(credits.in_flight(), 0u);
  EXPECT_EQ(credits.available(), 1u);
}

}  // namespace
}  // namespace rpcrdma::transport
