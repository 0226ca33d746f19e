// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/admission.hpp"

#include <gtest/gtest.h>

#include "rpcrdma/base/peer_table.hpp"

namespace rpcrdma {
namespace {

TEST(Admission, CountsInTotalAndByPeer) {
  const auto a = boost::asio::ip::make_address("192.0.2.1"), b = boost::asio::ip::make_address("2001:db8::1");
  Admission admission(3, 2);
  EXPECT_TRUE(admission.enter(a));
  EXPECT_TRUE(admission.enter(a));
  EXPECT_FALSE(admission.enter(a));
  EXPECT_TRUE(admission.enter(b));
  EXPECT_FALSE(admission.enter(b));  // the limit of three in total is reached
  admission.leave(a);
  EXPECT_EQ(admission.total(), 2u);
  EXPECT_TRUE(admission.enter(b));
  admission.leave(boost::asio::ip::make_address("192.0.2.9"));
  EXPECT_EQ(admission.total(), 3u);
}

TEST(Admission, OneInsteadOfAnother) {
  const auto a = boost::asio::ip::make_address("192.0.2.1"), b = boost::asio::ip::make_address("192.0.2.2");
  Admission admission(3, 2);
  EXPECT_FALSE(admission.full_for(a));
  EXPECT_TRUE(admission.enter(a));
  EXPECT_TRUE(admission.enter(a));
  EXPECT_TRUE(admission.full_for(a));
  EXPECT_FALSE(admission.full_for(b));
  admission.enter_instead(a);
  EXPECT_FALSE(admission.enter(a));
  EXPECT_FALSE(admission.enter(b));  // the limit of three in total is reached
  admission.leave(a);
  EXPECT_FALSE(admission.enter(a));
  EXPECT_TRUE(admission.enter(b));
}

TEST(Admission, NoPlaces) {
  Admission admission(10, 0);
  EXPECT_FALSE(admission.enter(boost::asio::ip::make_address("192.0.2.1")));
  EXPECT_EQ(admission.total(), 0u);
}

// An entry is removed when no reference to it is left.
TEST(PeerTable, SharesOneEntryPerAddress) {
  const auto a = boost::asio::ip::make_address("192.0.2.1"), b = boost::asio::ip::make_address("192.0.2.2");
  PeerTable<int> table;
  auto first = table.enter(a, 1);
  auto second = table.enter(a, 2);
  EXPECT_EQ(*second, 1);
  EXPECT_EQ(&*first, &*second);
  auto other = table.enter(b, 3);
  EXPECT_EQ(table.size(), 2u);
  first = std::move(other);
  EXPECT_EQ(*first, 3);
  EXPECT_EQ(table.size(), 2u);
  second.reset();
  EXPECT_EQ(table.size(), 1u);
  first.reset();
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace rpcrdma
