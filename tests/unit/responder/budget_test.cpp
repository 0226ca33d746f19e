// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/responder/budget.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "suspects.hpp"

namespace rpcrdma::transport {
namespace {

struct Waiter final : BudgetWaiter {
  void on_budget() noexcept override { ++granted; }
  int granted = 0;
};

TEST(Budget, ServesInOrderOfAsking) {
  Budget budget(100, 100);
  BudgetShare share;
  Waiter first, second, third;
  budget.acquire(share, first, 60);
  EXPECT_EQ(first.granted, 1);
  budget.acquire(share, second, 60);
  budget.acquire(share, third, 10);
  EXPECT_EQ(second.granted + third.granted, 0);  // the small one does not overtake
  EXPECT_TRUE(share.has_waiters());
  budget.release(share, 60);
  EXPECT_EQ(second.granted, 1);
  EXPECT_EQ(third.granted, 1);
  EXPECT_EQ(budget.used(), 70u);
  EXPECT_EQ(share.used(), 70u);
  EXPECT_FALSE(budget.has_waiters());
  EXPECT_FALSE(share.has_waiters());
}

TEST(Budget, WithdrawnWaitersLetOthersPass) {
  Budget budget(100, 100);
  BudgetShare share, other;
  Waiter first, second, third;
  budget.acquire(share, first, 60);
  budget.acquire(other, second, 60);
  budget.acquire(share, third, 40);
  EXPECT_TRUE(budget.has_waiters());
  EXPECT_TRUE(budget.withdraw(second));
  EXPECT_EQ(third.granted, 1);
  EXPECT_EQ(second.granted, 0);
  EXPECT_FALSE(budget.withdraw(second));
  EXPECT_FALSE(budget.withdraw(first));
  Waiter last;
  budget.acquire(other, last, 100);
  EXPECT_TRUE(budget.withdraw(last));
  budget.release(share, 100);
  EXPECT_EQ(budget.used(), 0u);
}

// One that sits on what it has and asks for more keeps nobody waiting.
TEST(Budget, AShareIsBoundedAndLetsOthersPass) {
  Budget budget(100, 25);
  BudgetShare greedy, other;
  Waiter held[4], modest, large;
  for (Waiter& waiter : held) budget.acquire(greedy, waiter, 10);
  EXPECT_EQ(held[1].granted, 1);
  EXPECT_EQ(held[2].granted, 0);
  EXPECT_TRUE(greedy.has_waiters());
  EXPECT_FALSE(budget.has_waiters());  // there is room, but not for this one
  budget.acquire(other, large, 60);    // alone it may be more than the bound
  EXPECT_EQ(large.granted, 1);
  budget.acquire(other, modest, 1);
  EXPECT_EQ(modest.granted, 0);
  budget.release(greedy, 10);
  EXPECT_EQ(held[2].granted, 1);
  EXPECT_EQ(held[3].granted, 0);
  budget.release(other, 60);
  EXPECT_EQ(modest.granted, 1);
  EXPECT_TRUE(budget.withdraw(held[3]));
  EXPECT_EQ(budget.used(), 21u);
}

TEST(Budget, SharesTakeTurns) {
  Budget budget(10, 10);
  BudgetShare crowd, single;
  Waiter holder, many[3], one;
  budget.acquire(single, holder, 10);
  for (Waiter& waiter : many) budget.acquire(crowd, waiter, 10);
  budget.acquire(single, one, 10);  // more than its bound beside what it holds: not yet in line
  budget.release(single, 10);
  EXPECT_EQ(many[0].granted, 1);
  budget.release(crowd, 10);
  EXPECT_EQ(one.granted, 1);
  EXPECT_EQ(many[1].granted, 0);
  budget.release(single, 10);
  EXPECT_EQ(many[1].granted, 1);
}

// What a lost connection's calls hold counts in all, but no more against the connection.
TEST(Budget, MovedOctets) {
  Budget budget(100, 25);
  BudgetShare share, lost;
  Waiter first, second;
  budget.acquire(share, first, 20);
  budget.acquire(share, second, 20);
  EXPECT_EQ(second.granted, 0);
  budget.move(share, lost, 20);
  EXPECT_EQ(share.used(), 0u);
  EXPECT_EQ(lost.used(), 20u);
  budget.release(lost, 20);
  EXPECT_EQ(second.granted, 1);
  EXPECT_EQ(budget.used(), 20u);
}

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
