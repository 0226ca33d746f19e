// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/service/loop_threads.hpp"

#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <new>
#include <thread>

namespace rpcrdma::nfsd {
namespace {

using namespace std::chrono_literals;

/// An event loop on LoopThreads, for two waiting jobs at most.
class LoopThreadsTest : public testing::Test {
 protected:
  ~LoopThreadsTest() override {
    boost::asio::post(context_, [this] { context_.stop(); });
    thread_.join();
  }

  /// Returns the result of `function`, which runs on the event loop.
  template <class Function>
  auto on_loop(Function function) {
    std::packaged_task<std::invoke_result_t<Function>()> task(std::move(function));
    auto result = task.get_future();
    boost::asio::post(context_, std::move(task));
    return result.get();
  }
  /// Passes `function` to the threads as soon as they take a job. Returns how often they refused it.
  template <class Function>
  int take(Function function) {
    int refused = 0;
    while (!on_loop([&] {
      Job job([function](const HandleCodec&) mutable { function(); });
      return threads_.take(job);
    })) {
      ++refused;
    }
    return refused;
  }
  /// Runs a job until a handler has run on the other thread.
  void take_long() {
    std::promise<std::thread::id> other;
    std::promise<void> ended;
    take([&] {
      boost::asio::post(context_, [&] {
        Job job([](const HandleCodec&) {});
        EXPECT_FALSE(threads_.take(job));  // both threads are busy
        EXPECT_TRUE(job);
        other.set_value(std::this_thread::get_id());
      });
      EXPECT_NE(other.get_future().get(), std::this_thread::get_id());
      ended.set_value();
    });
    ended.get_future().get();
  }

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_ = make_work_guard(context_);
  Runner runner_{context_};
  LoopThreads threads_{context_, runner_, HandleSecret{}, 2};

 private:
  std::thread thread_{[this] { threads_.run(); }};
};

TEST_F(LoopThreadsTest, RunsJobsAfterTheirHandlerOnItsThread) {
  std::promise<std::thread::id> ran;
  take([] {});
  bool over = false;
  const auto handler = on_loop([&] {
    Job first([&](const HandleCodec&) { EXPECT_TRUE(over); });
    Job second([&](const HandleCodec& codec) {
      EXPECT_TRUE(codec.decode(codec.encode(1, {}).octets()));
      ran.set_value(std::this_thread::get_id());
    });
    Job third([](const HandleCodec&) { FAIL(); });
    EXPECT_TRUE(threads_.take(first));
    EXPECT_TRUE(threads_.take(second));
    EXPECT_FALSE(threads_.take(third));
    over = true;
    return std::this_thread::get_id();
  });
  EXPECT_EQ(ran.get_future().get(), handler);
}

TEST_F(LoopThreadsTest, GoOnWhileAJobBlocks) {
  take_long();
  EXPECT_GE(take([] {}), 1);  // the first job after a long one is refused
  take_long();
  EXPECT_GE(take([] {}), 1);
}

// The waiting thread sleeps when no jobs have run for a while.
TEST_F(LoopThreadsTest, GoOnAfterAPause) {
  take([] {});
  std::this_thread::sleep_for(100 * LoopThreads::kPatience);
  take_long();
}

TEST_F(LoopThreadsTest, SurviveAJobThatThrows) {
  take([] { throw std::bad_alloc(); });
  std::promise<void> ran;
  take([&] { ran.set_value(); });
  ran.get_future().get();
}

// The threads take turns many times: the thread sanitizer checks that the data of the event loop passes between them.
TEST_F(LoopThreadsTest, PassTheDataOfTheLoop) {
  int calls = 0;  // used by handlers only
  for (int i = 0; i < 60; ++i) {
    take([&, i] {
      if (i % 3 == 0) std::this_thread::sleep_for((i % 4) * LoopThreads::kPatience);
      boost::asio::post(context_, [&] { ++calls; });
    });
    on_loop([&] { return ++calls; });
  }
  while (on_loop([&] { return calls; }) != 120) std::this_thread::yield();
}

}  // namespace
}  // namespace rpcrdma::nfsd
