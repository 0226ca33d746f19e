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

/// An event loop on LoopThreads, and a pool with two threads. A job may be displaced at any time, and then be overdue:
/// where a test needs a job that is not, it tries again.
class LoopThreadsTest : public testing::Test {
 protected:
  ~LoopThreadsTest() override {
    if (thread_.joinable()) end();
  }

  void end() {
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
  template <class Function>
  static Job job_of(Function function) {
    return [function](const HandleCodec&) mutable { function(); };
  }
  /// Submits a job that returns at once. Returns whether a thread of the event loop has run it.
  bool runs_on_loop() {
    std::promise<std::thread::id> ran;
    const auto handler = on_loop([&] {
      threads_.submit(job_of([&] { ran.set_value(std::this_thread::get_id()); }));
      return std::this_thread::get_id();
    });
    return ran.get_future().get() == handler;
  }
  void await_turn_of_loop() {
    while (!runs_on_loop()) {
    }
  }
  /// Submits a job, and one behind it. The first ends when a handler and the second job have run.
  void submit_long() {
    std::promise<void> second;
    std::promise<void> ended;
    on_loop([&] {
      threads_.submit(job_of([&] {
        std::promise<void> handler;
        boost::asio::post(context_, [&] { handler.set_value(); });
        handler.get_future().get();
        second.get_future().get();
        EXPECT_GE(pool_.busy(), 1u);
        ended.set_value();
      }));
      threads_.submit(job_of([&] { second.set_value(); }));
    });
    ended.get_future().get();
  }

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_ = make_work_guard(context_);
  Runner runner_{context_};
  IoPool pool_{2, HandleSecret{}};
  LoopThreads threads_{context_, runner_, pool_, HandleSecret{}, 64};

 private:
  std::thread thread_{[this] { threads_.run(); }};
};

TEST_F(LoopThreadsTest, RunJobsAfterTheirHandler) {
  await_turn_of_loop();
  std::promise<void> handled;
  std::promise<void> ran;
  on_loop([&] {
    const auto handler = std::this_thread::get_id();
    threads_.submit([&, handler](const HandleCodec& codec) {
      EXPECT_TRUE(codec.decode(codec.encode(1, {}).octets()));
      // If the pool runs the job, the handler may still run.
      const auto wait = std::this_thread::get_id() == handler ? 0s : 60s;
      EXPECT_EQ(handled.get_future().wait_for(wait), std::future_status::ready);
      ran.set_value();
    });
    handled.set_value();
  });
  ran.get_future().get();
}

TEST_F(LoopThreadsTest, ArePrepared) {
  EXPECT_TRUE(threads_.any_identity());
  static std::atomic<int> prepared;
  prepared = 0;
  boost::asio::io_context context{1};
  Runner runner{context};
  LoopThreads threads{context, runner, pool_, HandleSecret{}, 1, [] { ++prepared; }};
  EXPECT_FALSE(threads.any_identity());
  boost::asio::post(context, [&] { EXPECT_GE(prepared, 1); });
  threads.run();
  EXPECT_EQ(prepared, 2);
}

TEST_F(LoopThreadsTest, GoOnWhileAJobBlocks) {
  for (int i = 0; i < 3; ++i) {
    await_turn_of_loop();
    submit_long();
  }
  for (int i = 0; i < 60'000 && pool_.busy() != 0; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(pool_.busy(), 0u);
}

// The waiting thread sleeps when no jobs have run for a while.
TEST_F(LoopThreadsTest, GoOnAfterAPause) {
  await_turn_of_loop();
  std::this_thread::sleep_for(100 * LoopThreads::kPatience);
  submit_long();
}

TEST_F(LoopThreadsTest, SurviveAJobThatThrows) {
  await_turn_of_loop();
  on_loop([&] { threads_.submit(job_of([] { throw std::bad_alloc(); })); });
  await_turn_of_loop();
}

TEST_F(LoopThreadsTest, RunMoreJobsThanFit) {
  constexpr int kJobs = 200;
  std::atomic<int> ran = 0;
  on_loop([&] {
    for (int i = 0; i < kJobs; ++i) threads_.submit(job_of([&] { ++ran; }));
  });
  while (ran != kJobs) std::this_thread::yield();
}

TEST_F(LoopThreadsTest, RunTheLastJobsWhenTheLoopEnds) {
  constexpr int kJobs = 60;
  std::atomic<int> ran = 0;
  await_turn_of_loop();
  on_loop([&] {
    for (int i = 0; i < kJobs; ++i) threads_.submit(job_of([&] { ++ran; }));
    boost::asio::post(context_, [this] { context_.stop(); });
  });
  end();
  pool_.join();
  EXPECT_EQ(ran, kJobs);
}

TEST_F(LoopThreadsTest, RunTheHandlerOfAJobThatOutlastsTheLoop) {
  await_turn_of_loop();
  bool handled = false;
  std::promise<void> started;
  on_loop([&] {
    threads_.submit(job_of([&] {
      started.set_value();
      std::this_thread::sleep_for(50 * LoopThreads::kPatience);
      boost::asio::post(context_, [&] { handled = true; });
    }));
  });
  started.get_future().get();
  end();
  pool_.join();
  EXPECT_TRUE(handled);
}

// The threads take turns many times: the thread sanitizer checks that the data of the event loop passes between them.
TEST_F(LoopThreadsTest, PassTheDataOfTheLoop) {
  int calls = 0;  // used by handlers only
  for (int i = 0; i < 60; ++i) {
    on_loop([&, i] {
      threads_.submit(job_of([&, i] {
        if (i % 3 == 0) std::this_thread::sleep_for((i % 4) * LoopThreads::kPatience);
        boost::asio::post(context_, [&] { ++calls; });
      }));
      return ++calls;
    });
  }
  while (on_loop([&] { return calls; }) != 120) std::this_thread::yield();
}

TEST(IoPoolAfterItsEnd, RunsJobsAtOnce) {
  IoPool pool(2, HandleSecret{});
  pool.join();
  std::thread::id ran;
  pool.submit([&](const HandleCodec&) { ran = std::this_thread::get_id(); });
  EXPECT_EQ(ran, std::this_thread::get_id());
}

}  // namespace
}  // namespace rpcrdma::nfsd
