// SPDX-License-Identifier: BSD-3-Clause
#include "suspects.hpp"

#include <gtest/gtest.h>

namespace rpcrdma::transport {
namespace {

// [8166-4.5.3-a]
TEST(Suspects, AreFoundOnceByAddressXidAndContent) {
  const auto a = boost::asio::ip::make_address("192.0.2.1"), b = boost::asio::ip::make_address("192.0.2.2");
  Suspects suspects;
  EXPECT_TRUE(suspects.empty());
  EXPECT_FALSE(suspects.take(a, {1, 7}));
  suspects.add(a, {1, 7});
  EXPECT_FALSE(suspects.empty());
  EXPECT_FALSE(suspects.take(b, {1, 7}));
  EXPECT_FALSE(suspects.take(a, {2, 7}));
  EXPECT_FALSE(suspects.take(a, {1, 8}));
  EXPECT_TRUE(suspects.take(a, {1, 7}));
  EXPECT_FALSE(suspects.take(a, {1, 7}));
  for (std::uint32_t xid = 0; xid < 300; ++xid) suspects.add(a, {xid, 7});
  EXPECT_FALSE(suspects.take(a, {43, 7}));  // bounded: the oldest are forgotten
  EXPECT_TRUE(suspects.take(a, {44, 7}));
}

}  // namespace
}  // namespace rpcrdma::transport
