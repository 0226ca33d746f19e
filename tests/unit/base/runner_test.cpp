// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/runner.hpp"

#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <thread>

namespace rpcrdma {
namespace {

using namespace std::chrono_literals;

/// Sleeps and wakes `count` times.
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

TEST(Runner, LooksLongerWhenThatWouldHaveSparedASleep) {
  boost::asio::io_context context(1);
  Runner runner(context, 1h);
  EXPECT_EQ(runner.window(), 0us);
  sleep_on(context, runner, 1);
  EXPECT_GT(runner.window(), 0us);
  const auto before = runner.window();
  boost::asio::post(context, [] {});
  context.restart();
  EXPECT_NE(runner.run_one(), 0u);
  EXPECT_EQ(runner.window(), before);  // it has not slept
}

TEST(Runner, DoesNotLookWhereWorkIsRare) {
  boost::asio::io_context context(1);
  Runner runner(context, 1ns);
  sleep_on(context, runner, 3);
  EXPECT_EQ(runner.window(), 0us);
  Runner never(context, 0us);
  sleep_on(context, never, 3);
  EXPECT_EQ(never.window(), 0us);
}

/// Work that comes and goes between two threads, each of which looks for it, is all done: also by one that yields
/// before it polls, as it does after some turns.
TEST(Runner, HandsWorkToAndFro) {
  constexpr int kTurns = 20000;
  boost::asio::io_context here(1);
  boost::asio::io_context there(1);
  int turns = 0;
  std::function<void()> serve;
  std::function<void()> answer;
  auto here_guard = boost::asio::make_work_guard(here);
  auto there_guard = boost::asio::make_work_guard(there);
  serve = [&] {
    if (++turns < kTurns) return boost::asio::post(there, answer);
    here_guard.reset();
    there_guard.reset();
  };
  answer = [&] { boost::asio::post(here, serve); };
  std::thread other([&] { Runner(there, 1ms).run(); });
  boost::asio::post(here, serve);
  Runner(here, 1ms).run();
  other.join();
  EXPECT_EQ(turns, kTurns);
}

}  // namespace
}  // namespace rpcrdma
