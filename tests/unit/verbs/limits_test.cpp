// SPDX-License-Identifier: BSD-3-Clause
// Bounds of VerbsOptions.
#include "device/limits.hpp"

#include <gtest/gtest.h>

namespace rpcrdma::fabric::verbs {
namespace {

using std::chrono::seconds;

// The timer's period is a quarter of the keepalive time: with a time of zero it would fire continuously.
TEST(VerbsOptions, TheKeepaliveTimeIsASecondAtLeast) {
  EXPECT_EQ(within_bounds({.keepalive = seconds(0)}).keepalive, seconds(1));
  EXPECT_EQ(within_bounds({.keepalive = seconds(-5)}).keepalive, seconds(1));
  EXPECT_EQ(within_bounds({.keepalive = seconds(7)}).keepalive, seconds(7));
}

}  // namespace
}  // namespace rpcrdma::fabric::verbs
