// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/runner.hpp"

#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

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

}  // namespace
}  // namespace rpcrdma
