// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/budget.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>

namespace rpcrdma {
namespace {

struct Waiter final : BudgetWaiter {
  ~Waiter() { withdraw(); }
  void on_budget(std::size_t bytes) noexcept override {
    granted = bytes;
    if (then) then();
  }
  std::size_t granted = 0;
  std::function<void()> then;
};

struct BudgetTest : testing::Test {
  /// Adds a connection of `peer`.
  BudgetShare& connect(BudgetPeer& peer) { return shares.emplace_back(peer); }
  /// Makes `count` requests of `bytes` for `share`; returns the bytes granted.
  std::size_t grab(BudgetShare& share, int count, std::size_t bytes) {
    const std::size_t before = share.used();
    for (int i = 0; i < count; ++i) share.acquire(waiters.emplace_back(), bytes);
    return share.used() - before;
  }
  Budget budget{100};
  BudgetPeer a{budget}, b{budget};
  std::deque<BudgetShare> shares;
  std::deque<Waiter> waiters;
};

TEST_F(BudgetTest, AShareIsServedInOrderOfAsking) {
  BudgetShare& share = connect(a);
  Waiter first, second, third;
  share.acquire(first, 60);
  EXPECT_EQ(first.granted, 60u);
  share.acquire(second, 60);
  share.acquire(third, 10);
  EXPECT_TRUE(second.waits() && third.waits());  // the small request does not overtake the one before it
  EXPECT_TRUE(share.has_waiters());
  share.release(60);
  EXPECT_EQ(second.granted, 60u);
  EXPECT_TRUE(third.waits());
  share.release(60);
  EXPECT_EQ(third.granted, 10u);
  EXPECT_EQ(budget.used(), 10u);
  EXPECT_EQ(a.used(), 10u);
  EXPECT_FALSE(budget.has_waiters());
}

TEST_F(BudgetTest, AWithdrawnRequestLetsOthersPass) {
  BudgetShare &share = connect(a), &other = connect(b);
  Waiter first, second, third;
  share.acquire(first, 60);
  other.acquire(second, 60);
  EXPECT_TRUE(budget.is_short());
  other.acquire(third, 40);
  EXPECT_TRUE(third.waits());
  EXPECT_TRUE(second.withdraw());
  EXPECT_EQ(third.granted, 40u);
  EXPECT_EQ(second.granted, 0u);
  EXPECT_FALSE(budget.is_short());
  EXPECT_FALSE(second.withdraw());
  EXPECT_FALSE(first.withdraw());
}

// A connection that never releases its bytes leaves some for other connections, at its own peer address and elsewhere.
TEST_F(BudgetTest, LeavesRoomForOthers) {
  BudgetShare& greedy = connect(a);
  EXPECT_EQ(grab(greedy, 50, 2), 34u);  // a third of the budget
  EXPECT_FALSE(budget.is_short());
  EXPECT_EQ(grab(connect(a), 1, 20), 20u);
  EXPECT_EQ(grab(connect(b), 1, 30), 30u);
  Waiter large;
  connect(b).acquire(large, 30);
  EXPECT_TRUE(large.waits());
}

// Another address still gets some bytes, however many connections one address opens.
TEST_F(BudgetTest, AnAddressWithManyConnectionsLeavesRoomForOthers) {
  for (int i = 0; i < 200; ++i) grab(connect(a), 3, 1);
  EXPECT_LE(a.used(), 75u);
  EXPECT_GE(grab(connect(b), 50, 1), 8u);
}

TEST_F(BudgetTest, AloneInHavingBytesAConnectionMayHaveAll) {
  EXPECT_EQ(grab(connect(a), 1, 100), 100u);
  Waiter other;
  connect(b).acquire(other, 1);
  EXPECT_TRUE(other.waits());
  EXPECT_TRUE(budget.is_short());
  EXPECT_TRUE(shares.front().is_awaited());
  EXPECT_FALSE(shares.back().is_awaited());
}

// is_awaited() tells whether other connections need the bytes that a connection holds. This is so if the budget is
// short, or if another connection of the same peer address waits for bytes and holds none. It is not so if only the
// connection itself waits for more bytes.
TEST_F(BudgetTest, TellsWhetherAConnectionIsInTheWay) {
  BudgetShare& greedy = connect(a);
  grab(greedy, 40, 1);
  EXPECT_TRUE(greedy.has_waiters());
  EXPECT_FALSE(greedy.is_awaited());
  BudgetShare& elsewhere = connect(b);
  grab(elsewhere, 1, 10);
  for (int i = 0; i < 6; ++i) grab(connect(a), 1, 10);
  EXPECT_TRUE(greedy.is_awaited());
  EXPECT_FALSE(elsewhere.is_awaited());
}

TEST_F(BudgetTest, PeersAndTheirConnectionsTakeTurns) {
  BudgetPeer c{budget};
  BudgetShare& holder = connect(c);
  grab(holder, 1, 100);
  std::deque<Waiter> crowd(3);
  for (Waiter& waiter : crowd) connect(a).acquire(waiter, 100);
  Waiter one;
  connect(b).acquire(one, 100);
  holder.release(100);
  EXPECT_EQ(crowd[0].granted, 100u);
  shares[1].release(100);
  EXPECT_EQ(one.granted, 100u);  // addresses take turns: `b` is served, although two connections of `a` waited first
  shares.back().release(100);
  EXPECT_EQ(crowd[1].granted, 100u);
  crowd.clear();
  EXPECT_FALSE(budget.has_waiters());
}

// move_to() moves bytes from one share to another. They still count against the budget, but no longer against the first
// share, so that a request which waits in the first share is granted. A server does this with the bytes of calls whose
// connection is lost.
TEST_F(BudgetTest, MovedBytes) {
  BudgetShare &share = connect(a), &lost = connect(b);
  Waiter first, second;
  share.acquire(first, 40);
  share.acquire(second, 20);
  EXPECT_TRUE(second.waits());
  share.move_to(lost, 40);
  EXPECT_EQ(lost.used(), 40u);
  EXPECT_EQ(second.granted, 20u);
  EXPECT_EQ(budget.used(), 60u);
}

// The callback of a grant may call acquire() and release().
TEST_F(BudgetTest, MayBeCalledFromAGrant) {
  BudgetShare &share = connect(a), &other = connect(b);
  Waiter first, second, third;
  share.acquire(first, 100);
  second.then = [&] {
    other.release(100);
    share.acquire(third, 100);
  };
  other.acquire(second, 100);
  share.release(100);
  EXPECT_EQ(second.granted, 100u);
  EXPECT_EQ(third.granted, 100u);
  EXPECT_EQ(budget.used(), 100u);
}

}  // namespace
}  // namespace rpcrdma
