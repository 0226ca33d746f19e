// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/linger.hpp"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <memory>

#include "rpcrdma/base/runner.hpp"

namespace rpcrdma {
namespace {

using namespace std::chrono_literals;

/// After this many handlers of one connection in a row, Linger considers that connection the only active one.
constexpr int kMany = 100;

class LingerTest : public testing::Test {
 protected:
  /// Runs `handler` as a handler of the context.
  template <typename Handler>
  static void handle(boost::asio::io_context& context, Runner& runner, Handler handler) {
    bool done = false;
    boost::asio::post(context, [&] {
      handler();
      done = true;
    });
    context.restart();
    while (!done) ASSERT_NE(runner.run_one(), 0u);
  }
  /// Imitates `count` handlers of one connection, each of which calls Linger::wait() once. `found` says whether a poll
  /// finds a message. Returns how many of the handlers polled.
  static int handlers(Linger& linger, int count, bool found = true) {
    int looked = 0;
    for (int i = 0; i < count; ++i) {
      bool this_one = false;
      linger.begin();
      linger.wait([&] { return this_one = true, found; });
      looked += this_one ? 1 : 0;
    }
    return looked;
  }
  int handlers_of(Runner& runner, Linger& linger, int count, bool found = true) {
    int looked = 0;
    handle(context_, runner, [&] { looked = handlers(linger, count, found); });
    return looked;
  }

  boost::asio::io_context context_{1};
};

TEST_F(LingerTest, WaitsOnlyWhereARunnerRuns) {
  Linger linger(context_);
  EXPECT_EQ(handlers(linger, kMany), 0);
  auto runner = std::make_unique<Runner>(context_, Polling::fixed(1h));
  EXPECT_EQ(handlers_of(*runner, linger, kMany), kMany);
  EXPECT_EQ(handlers(linger, kMany), 0) << "the runner does not run the context";
  runner.reset();
  EXPECT_EQ(handlers(linger, kMany), 0);
}

TEST_F(LingerTest, ARunnerThatEndsLaterTakesNothingFromItsSuccessor) {
  Linger linger(context_);
  auto first = std::make_unique<Runner>(context_, Polling::fixed(1h));
  Runner second(context_, Polling::fixed(1h));
  first.reset();
  EXPECT_GT(handlers_of(second, linger, kMany), 0);
}

TEST_F(LingerTest, ARunnerMayEndWithinTheHandler) {
  Linger linger(context_);
  Runner runner(context_, Polling::fixed(1h));
  handlers_of(runner, linger, kMany);
  handle(context_, runner, [&] {
    linger.begin();
    Runner(context_, Polling::fixed(1h));
    EXPECT_FALSE(linger.wait([] { return true; }));
  });
}

// Repeats the wait, because a wait ends early when another program needs the processor.
TEST_F(LingerTest, WaitsForTheMessage) {
  Runner runner(context_, Polling::fixed(1h));
  Linger linger(context_);
  handlers_of(runner, linger, kMany);
  bool found = false;
  while (!found) {
    int polls = 0;
    handle(context_, runner, [&] {
      linger.begin();
      found = linger.wait([&] { return ++polls == 3; });
    });
    EXPECT_TRUE(!found || polls == 3);
  }
  EXPECT_GE(runner.counters().found, 1u);
}

// A wait blocks the other handlers of the io_context, so it ends soon, however long the runner polls.
TEST_F(LingerTest, DoesNotWaitLong) {
  Runner runner(context_, Polling::fixed(1h));
  Linger linger(context_);
  handlers_of(runner, linger, kMany);
  handle(context_, runner, [&] {
    linger.begin();
    EXPECT_FALSE(linger.wait([] { return false; }));
  });
}

TEST_F(LingerTest, WaitsAFewTimesPerHandler) {
  Runner runner(context_, Polling::fixed(1h));
  Linger linger(context_);
  handlers_of(runner, linger, kMany);
  int waits = 0;
  handle(context_, runner, [&] {
    linger.begin();
    while (waits < kMany && linger.wait([] { return true; })) ++waits;
  });
  EXPECT_GE(waits, 1);
  EXPECT_LE(waits, 16);
}

// All waits of one handler together take at most 400 us. Each wait in this test takes at least 60 us.
TEST_F(LingerTest, TheWaitsOfAHandlerTakeLimitedTime) {
  Runner runner(context_, Polling::fixed(1h));
  Linger linger(context_);
  handlers_of(runner, linger, kMany);
  int waits = 0;
  handle(context_, runner, [&] {
    linger.begin();
    int polls = 0;
    auto third_poll = [&] {
      const auto end = Runner::Clock::now() + 60us;
      while (Runner::Clock::now() < end) continue;
      return ++polls % 3 == 0;
    };
    while (waits < kMany && linger.wait(third_poll)) ++waits;
  });
  EXPECT_LE(waits, 6);
}

TEST_F(LingerTest, TwoActiveConnectionsDoNotWait) {
  Runner runner(context_, Polling::fixed(1h));
  Linger one(context_);
  Linger other(context_);
  handlers_of(runner, one, kMany);
  EXPECT_EQ(handlers_of(runner, other, 1), 0) << "another connection was active";
  EXPECT_EQ(handlers_of(runner, one, 1), 0) << "another connection was active";
  for (int i = 0; i < kMany; ++i) EXPECT_EQ(handlers_of(runner, one, 1) + handlers_of(runner, other, 1), 0);
  EXPECT_GT(handlers_of(runner, one, kMany), 0);
}

TEST_F(LingerTest, RestsWhereNothingComes) {
  Runner runner(context_, Polling::fixed(1ns));
  Linger linger(context_);
  EXPECT_LE(handlers_of(runner, linger, 1000, false), 10);
  EXPECT_GE(handlers_of(runner, linger, 1024, true), 1) << "it still polls now and then";
  EXPECT_EQ(handlers_of(runner, linger, kMany, true), kMany)
      << "after a poll that finds a message, every handler polls";
}

TEST_F(LingerTest, WaitsForNothingWithoutPolling) {
  Runner runner(context_, Polling::off());
  Linger linger(context_);
  handlers_of(runner, linger, kMany);
  for (int i = 0; i < 2000; ++i) {
    int polls = 0;
    handle(context_, runner, [&] {
      linger.begin();
      EXPECT_FALSE(linger.wait([&] { return ++polls, false; }));
    });
    EXPECT_LE(polls, 1);
  }
}

}  // namespace
}  // namespace rpcrdma
