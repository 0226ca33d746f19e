// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/runner.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <thread>

namespace rpcrdma {
namespace {

using namespace std::chrono_literals;

/// Waits for a timer `count` times.
void sleep_on(boost::asio::io_context& context, Runner& runner, int count) {
  for (int i = 0; i < count; ++i) {
    boost::asio::steady_timer timer(context, 1ms);
    bool woken = false;
    timer.async_wait([&](const boost::system::error_code&) { woken = true; });
    context.restart();
    while (!woken) ASSERT_NE(runner.run_one(), 0u);
  }
}

TEST(Runner, RunsUntilThereIsNoWork) {
  boost::asio::io_context context(1);
  Runner runner(context);
  int done = 0;
  boost::asio::post(context, [&] {
    ++done;
    boost::asio::post(context, [&] { ++done; });
  });
  boost::asio::steady_timer timer(context, 1ms);
  timer.async_wait([&](const boost::system::error_code&) { ++done; });
  runner.run();
  EXPECT_EQ(done, 3);
  EXPECT_TRUE(context.stopped());
}

TEST(Runner, IsStopped) {
  boost::asio::io_context context(1);
  const auto guard = boost::asio::make_work_guard(context);
  Runner runner(context);
  boost::asio::post(context, [&] { context.stop(); });
  runner.run();
  EXPECT_EQ(runner.run_one(), 0u);
}

// A poll that lasts long enough sees the timer expire; otherwise the runner blocks until the timer expires.
TEST(Runner, WaitsInEachMode) {
  boost::asio::io_context context(1);
  for (const Polling polling : {Polling{}, Polling::off(), Polling::fixed(1h), Polling::fixed(1ns)}) {
    Runner runner(context, polling);
    sleep_on(context, runner, 3);
    EXPECT_FALSE(runner.yields_first());
  }
}

TEST(Runner, CountsItsWaits) {
  boost::asio::io_context context(1);
  Runner sleeps(context, Polling::off());
  sleep_on(context, sleeps, 20);
  EXPECT_EQ(sleeps.counters().polls, 0u);
  // Fewer than 20, if this thread is displaced until a timer has expired.
  EXPECT_GE(sleeps.counters().blocks, 1u);
  Runner polls(context, Polling::fixed(1h));
  sleep_on(context, polls, 20);
  EXPECT_GE(polls.counters().polls, 1u);
  EXPECT_LE(polls.counters().found, polls.counters().polls);
}

// After some waits in which looking first was in vain, the runner mostly does not look first. It still finds all work.
TEST(Runner, FindsWorkWithoutLookingFirst) {
  for (const Polling polling : {Polling{}, Polling::off(), Polling::fixed(10us)}) {
    boost::asio::io_context context(1);
    Runner runner(context, polling);
    sleep_on(context, runner, 50);
    const auto guard = boost::asio::make_work_guard(context);
    context.restart();
    for (int i = 0; i < 100; ++i) {
      bool done = false;
      boost::asio::post(context, [&] { done = true; });
      ASSERT_EQ(runner.run_one(), 1u);
      ASSERT_TRUE(done);
    }
  }
}

void stay_on_one_processor() {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  // Tries to keep other programs from displacing this thread: while another program displaces it, the runner does not
  // poll.
  const sched_param least{1};
  ::sched_setscheduler(0, SCHED_FIFO, &least);
}

/// Two threads on one processor pass work to each other. Each receives work only after it has yielded, so after some
/// turns the runner yields before it polls.
TEST(Runner, YieldsFirstWhereThatBringsWork) {
  boost::asio::io_context here(1);
  boost::asio::io_context there(1);
  Runner runner(here, Polling::fixed(100ms));
  const auto here_guard = boost::asio::make_work_guard(here);
  const auto there_guard = boost::asio::make_work_guard(there);
  int turns = 0;
  std::function<void()> serve;
  const std::function<void()> answer = [&] { boost::asio::post(here, serve); };
  serve = [&] {
    if (runner.yields_first()) return there.stop();
    ++turns;
    boost::asio::post(there, answer);
  };
  std::thread both([&] {
    stay_on_one_processor();
    std::thread other([&] { Runner(there, Polling::fixed(100ms)).run(); });
    boost::asio::post(here, serve);
    while (!there.stopped()) runner.run_one();
    other.join();
  });
  both.join();
  EXPECT_TRUE(runner.yields_first());
  EXPECT_GE(turns, 8);
  // While yields_first() holds, some calls of run_one() still begin with a poll. Here such a poll finds a handler that
  // is ready. The runner then no longer yields first.
  int done = 0;
  for (int i = 0; i < 100; ++i) boost::asio::post(here, [&] { ++done; });
  while (done < 100) ASSERT_NE(runner.run_one(), 0u);
  EXPECT_FALSE(runner.yields_first());
}

}  // namespace
}  // namespace rpcrdma
