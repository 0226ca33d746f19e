// SPDX-License-Identifier: BSD-3-Clause
#include "budget.hpp"

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
  Budget budget(100);
  Waiter first, second, third;
  budget.acquire(first, 60);
  EXPECT_EQ(first.granted, 1);
  budget.acquire(second, 60);
  budget.acquire(third, 10);
  EXPECT_EQ(second.granted + third.granted, 0);  // the small one does not overtake
  EXPECT_TRUE(budget.has_waiters());
  budget.release(60);
  EXPECT_EQ(second.granted, 1);
  EXPECT_EQ(third.granted, 1);
  EXPECT_EQ(budget.used(), 70u);
  EXPECT_FALSE(budget.has_waiters());
}

TEST(Budget, WithdrawnWaitersLetOthersPass) {
  Budget budget(100);
  Waiter first, second, third;
  budget.acquire(first, 60);
  budget.acquire(second, 60);
  budget.acquire(third, 40);
  EXPECT_TRUE(budget.withdraw(second));
  EXPECT_EQ(third.granted, 1);
  EXPECT_EQ(second.granted, 0);
  EXPECT_FALSE(budget.withdraw(second));
  EXPECT_FALSE(budget.withdraw(first));
  Waiter last;
  budget.acquire(last, 100);
  EXPECT_TRUE(budget.withdraw(last));
  budget.release(100);
  EXPECT_EQ(budget.used(), 0u);
}

// [8166-4.5.3-a]
TEST(Suspects, AreFoundOnceByAddressAndXid) {
  const auto a = boost::asio::ip::make_address("192.0.2.1"), b = boost::asio::ip::make_address("192.0.2.2");
  Suspects suspects;
  EXPECT_FALSE(suspects.take(a, 1));
  suspects.add(a, 1);
  EXPECT_FALSE(suspects.take(b, 1));
  EXPECT_FALSE(suspects.take(a, 2));
  EXPECT_TRUE(suspects.take(a, 1));
  EXPECT_FALSE(suspects.take(a, 1));
  for (std::uint32_t xid = 0; xid < 300; ++xid) suspects.add(a, xid);
  EXPECT_FALSE(suspects.take(a, 43));  // bounded: the oldest are forgotten
  EXPECT_TRUE(suspects.take(a, 44));
}

}  // namespace
}  // namespace rpcrdma::transport
