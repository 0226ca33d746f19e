// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfs/task.hpp"

#include <gmock/gmock.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <stdexcept>
#include <string>

#include "rpcrdma/nfs/error.hpp"

namespace rpcrdma::nfs {
namespace {

namespace asio = boost::asio;

/// Lets all other ready handlers run first.
asio::awaitable<void> yield() { co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable); }

class TaskTest : public testing::Test {
 protected:
  void run(asio::awaitable<void> main) {
    std::exception_ptr thrown;
    asio::co_spawn(context_, std::move(main), [&](std::exception_ptr e) { thrown = e; });
    context_.run();
    if (thrown) std::rethrow_exception(thrown);
  }
  asio::io_context context_;
};

Task<std::string> give(std::string text) {
  co_await yield();
  co_return text;
}
Task<std::string> refuse() {
  co_await yield();
  co_return make_error_code(Status::acces);
}
Task<void> nothing() { co_return Result<void>(); }

TEST_F(TaskTest, StartsWithAnyToken) {
  std::string got;
  error_code status = Status::io;
  start(context_.get_executor(), give("text"), [&](error_code ec, std::string text) {
    status = ec;
    got = std::move(text);
  });
  auto future = start(context_.get_executor(), refuse(), asio::use_future);
  bool done = false;
  start(context_.get_executor(), nothing(), [&](error_code ec) { done = !ec; });
  context_.run();
  EXPECT_FALSE(status);
  EXPECT_EQ(got, "text");
  EXPECT_TRUE(done);
  try {
    future.get();
    FAIL() << "no error";
  } catch (const boost::system::system_error& error) {
    EXPECT_EQ(error.code(), Status::acces);
  }
}

TEST_F(TaskTest, AGroupWaitsForItsChildren) {
  int ended = 0;
  const auto child = [&](int steps) -> asio::awaitable<void> {
    for (int i = 0; i < steps; ++i) co_await yield();
    ++ended;
  };
  run([&]() -> asio::awaitable<void> {
    Group group(context_.get_executor());
    co_await group.wait();
    for (const int steps : {0, 3, 1}) group.spawn(child(steps));
    co_await group.wait();
    EXPECT_EQ(ended, 3);
    group.spawn(child(2));
    co_await group.wait();
    EXPECT_EQ(ended, 4);
  }());
}

TEST_F(TaskTest, AGroupRethrowsAChildsException) {
  const auto child = []() -> asio::awaitable<void> {
    co_await yield();
    throw std::runtime_error("child");
  };
  EXPECT_THROW(run([&]() -> asio::awaitable<void> {
                 Group group(context_.get_executor());
                 group.spawn(child());
                 co_await group.wait();
               }()),
               std::runtime_error);
}

TEST_F(TaskTest, PermitsBoundConcurrency) {
  Permits permits(context_.get_executor(), 3);
  int running = 0;
  int most = 0;
  int ended = 0;
  const auto child = [&]() -> asio::awaitable<void> {
    const Permits::Permit permit = co_await permits.acquire();
    most = std::max(most, ++running);
    co_await yield();
    --running;
    ++ended;
  };
  run([&]() -> asio::awaitable<void> {
    Group group(context_.get_executor());
    for (int i = 0; i < 20; ++i) group.spawn(child());
    co_await group.wait();
  }());
  EXPECT_EQ(most, 3);
  EXPECT_EQ(ended, 20);
  const Permits::Permit one = permits.try_acquire();
  const Permits::Permit two = permits.try_acquire();
  Permits::Permit three = permits.try_acquire();
  EXPECT_TRUE(three);
  EXPECT_FALSE(permits.try_acquire());
  three = Permits::Permit();
  EXPECT_TRUE(permits.try_acquire());
}

}  // namespace
}  // namespace rpcrdma::nfs
