// SPDX-License-Identifier: BSD-3-Clause
// What is asked of a device, kept within bounds.
#include "limits.hpp"

#include <gtest/gtest.h>

namespace rpcrdma::fabric::verbs {
namespace {

using std::chrono::seconds;

// A timer of a quarter of nothing would never let the event loop rest.
TEST(VerbsOptions, TheKeepaliveTimeIsASecondAtLeast) {
  EXPECT_EQ(within_bounds({.keepalive = seconds(0)}).keepalive, seconds(1));
  EXPECT_EQ(within_bounds({.keepalive = seconds(-5)}).keepalive, seconds(1));
  EXPECT_EQ(within_bounds({.keepalive = seconds(7)}).keepalive, seconds(7));
}

}  // namespace
}  // namespace rpcrdma::fabric::verbs
