// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/connection/send_credits.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rpcrdma::transport {
namespace {

struct Waiter final : UnitWaiter {
  explicit Waiter(std::vector<int>& log_in, int name_in) : log(log_in), name(name_in) {}
  void on_units(SendUnits units) noexcept override {
    log.push_back(name);
    held = std::move(units);
  }
  std::vector<int>& log;
  int name;
  SendUnits held;
};

TEST(SendUnits, AreTakenAndGivenBack) {
  SendCredits queue(4);
  SendUnits three = queue.try_reserve(3);
  EXPECT_EQ(three.count(), 3u);
  EXPECT_EQ(queue.try_reserve(2).count(), 0u);
  three.release(2);
  EXPECT_EQ(queue.free(), 3u);
  {
    const SendUnits moved = std::move(three);
    EXPECT_EQ(moved.count(), 1u);
    EXPECT_EQ(three.count(), 0u);  // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
  }
  EXPECT_EQ(queue.free(), 4u);
  three.release();
  EXPECT_EQ(queue.free(), 4u);
}

TEST(SendUnits, AbsorbAndForget) {
  SendCredits queue(4);
  SendUnits units;
  units.absorb(queue.try_reserve(1));
  units.absorb(queue.try_reserve(2));
  EXPECT_EQ(units.count(), 3u);
  units.forget();
  EXPECT_EQ(queue.free(), 1u);
}

TEST(SendUnits, WaitersAreServedInOrder) {
  SendCredits queue(4);
  SendUnits all = queue.try_reserve(4);
  std::vector<int> log;
  Waiter first(log, 1), second(log, 2), third(log, 3);
  queue.wait(first, 3);
  queue.wait(second, 1);
  queue.wait(third, 100);  // asks for more units than exist, and is given all
  all.release(1);
  queue.serve();
  EXPECT_TRUE(log.empty());                     // the second waiter does not overtake the first one
  EXPECT_EQ(queue.try_reserve(1).count(), 0u);  // a reservation does not overtake the waiters
  all.release();
  queue.serve();
  EXPECT_EQ(log, (std::vector<int>{1, 2}));
  first.held.release();
  second.held.release();
  queue.serve();
  EXPECT_EQ(third.held.count(), 4u);
  EXPECT_FALSE(queue.has_waiters());
}

TEST(SendUnits, DroppedWaitersAreNotServed) {
  SendCredits queue(1);
  SendUnits all = queue.try_reserve(1);
  std::vector<int> log;
  Waiter waiter(log, 1);
  queue.wait(waiter, 1);
  queue.drop_waiters();
  all.release();
  queue.serve();
  EXPECT_TRUE(log.empty());
  queue.wait(waiter, 1);  // does not queue the waiter, because drop_waiters() has been called
  EXPECT_FALSE(queue.has_waiters());
}

}  // namespace
}  // namespace rpcrdma::transport
