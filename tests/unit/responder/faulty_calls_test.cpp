// SPDX-License-Identifier: BSD-3-Clause
#include "faulty_calls.hpp"

#include <gtest/gtest.h>

namespace rpcrdma::transport {
namespace {

// [8166-4.5.3-a]
TEST(FaultyCalls, AreFoundOnceByAddressXidAndContent) {
  const auto a = boost::asio::ip::make_address("192.0.2.1"), b = boost::asio::ip::make_address("192.0.2.2");
  FaultyCalls faulty_calls;
  EXPECT_TRUE(faulty_calls.empty());
  EXPECT_FALSE(faulty_calls.take(a, {1, 7}));
  faulty_calls.add(a, {1, 7});
  EXPECT_FALSE(faulty_calls.empty());
  EXPECT_FALSE(faulty_calls.take(b, {1, 7}));
  EXPECT_FALSE(faulty_calls.take(a, {2, 7}));
  EXPECT_FALSE(faulty_calls.take(a, {1, 8}));
  EXPECT_TRUE(faulty_calls.take(a, {1, 7}));
  EXPECT_FALSE(faulty_calls.take(a, {1, 7}));
  for (std::uint32_t xid = 0; xid < 300; ++xid) faulty_calls.add(a, {xid, 7});
  EXPECT_FALSE(faulty_calls.take(a, {43, 7}));  // evicted, because the number of calls is bounded
  EXPECT_TRUE(faulty_calls.take(a, {44, 7}));
}

}  // namespace
}  // namespace rpcrdma::transport
