// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/after_handler.hpp"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace rpcrdma {
namespace {

/// Writes down what runs, in order.
class AfterHandlerTest : public testing::Test {
 protected:
  /// A function that AfterHandler calls.
  struct Function {
    Function(boost::asio::io_context& context, std::function<void()> what)
        : after(
              context, [](void* self) noexcept { static_cast<Function*>(self)->act(); }, this),
          act(std::move(what)) {}
    bool schedule() { return after.schedule(); }
    AfterHandler after;
    std::function<void()> act;
  };

  /// Posts a handler with a HandlerScope.
  void post(std::function<void()> handler) {
    boost::asio::post(context_, [this, handler = std::move(handler)] {
      const HandlerScope scope(context_);
      handler();
    });
  }
  void run() {
    context_.restart();
    context_.run();
  }

  boost::asio::io_context context_;
  std::string order_;
};

TEST_F(AfterHandlerTest, IsCalledWithinTheHandlerAtItsEnd) {
  Function first(context_, [&] {
    EXPECT_TRUE(context_.get_executor().running_in_this_thread());
    order_ += 'f';
  });
  Function second(context_, [&] { order_ += 's'; });
  post([&] {
    EXPECT_TRUE(first.schedule());
    EXPECT_TRUE(second.schedule());
    order_ += '1';
  });
  post([&] { order_ += '2'; });
  run();
  EXPECT_EQ(order_, "1fs2");
}

TEST_F(AfterHandlerTest, IsRefusedWithoutAScope) {
  Function function(context_, [&] { order_ += 'f'; });
  post([] {});
  boost::asio::post(context_, [&] { EXPECT_FALSE(function.schedule()); });
  run();
  EXPECT_FALSE(function.schedule());
  EXPECT_EQ(order_, "");
}

TEST_F(AfterHandlerTest, IsNotCalledOnceDestroyed) {
  std::optional<Function> function(std::in_place, context_, [&] { order_ += 'f'; });
  Function other(context_, [&] { function.reset(); });
  post([&] {
    EXPECT_TRUE(function->schedule());
    function.reset();
  });
  run();
  function.emplace(context_, [&] { order_ += 'f'; });
  post([&] {
    EXPECT_TRUE(other.schedule());
    EXPECT_TRUE(function->schedule());
  });
  run();
  EXPECT_EQ(order_, "");
}

TEST_F(AfterHandlerTest, MayBeDestroyedByItsFunction) {
  std::unique_ptr<Function> function;
  function = std::make_unique<Function>(context_, [&] {
    order_ += 'f';
    const auto last = std::move(function);
  });
  post([&] { EXPECT_TRUE(function->schedule()); });
  run();
  EXPECT_EQ(order_, "f");
  EXPECT_EQ(function, nullptr);
}

TEST_F(AfterHandlerTest, MayBeScheduledAgainButNotWithoutEnd) {
  std::optional<Function> function;
  int calls = 0;
  bool refused = false;
  function.emplace(context_, [&] {
    if (++calls < 1000) refused = !function->schedule();
  });
  for (int round = 0; round < 2; ++round) {
    calls = 0;
    post([&] { EXPECT_TRUE(function->schedule()); });
    run();
    EXPECT_TRUE(refused);
    EXPECT_GT(calls, 1) << "in round " << round;
  }
}

// More functions than a HandlerScope calls before it refuses further ones.
TEST_F(AfterHandlerTest, AllThatTheHandlerSchedulesAreCalled) {
  std::deque<Function> functions;
  int calls = 0, refused = 0;
  for (int n = 0; n < 100; ++n) {
    functions.emplace_back(context_, [&, n] {
      ++calls;
      if (n >= 50 && !functions[static_cast<std::size_t>(n)].schedule()) ++refused;
    });
  }
  post([&] {
    for (Function& function : functions) EXPECT_TRUE(function.schedule());
  });
  run();
  EXPECT_EQ(calls, 100);
  EXPECT_EQ(refused, 50);
}

TEST_F(AfterHandlerTest, IsCalledAfterAHandlerThatThrows) {
  Function function(context_, [&] { order_ += 'f'; });
  post([&] {
    EXPECT_TRUE(function.schedule());
    throw std::runtime_error("expected");
  });
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_EQ(order_, "f");
  boost::asio::post(context_, [&] { EXPECT_FALSE(function.schedule()); });
  run();
}

// A handler may itself run the context. Each of the two handlers has functions of its own, if it has a HandlerScope.
TEST_F(AfterHandlerTest, BelongsToTheInnermostHandler) {
  Function outer(context_, [&] { order_ += 'o'; });
  Function inner(context_, [&] { order_ += 'i'; });
  Function later(context_, [&] { order_ += 'l'; });
  post([&] {
    EXPECT_TRUE(outer.schedule());
    post([&] {
      EXPECT_TRUE(inner.schedule());
      order_ += '2';
    });
    boost::asio::post(context_, [&] { EXPECT_TRUE(later.schedule()); });
    context_.run_one();
    context_.run_one();
    order_ += '1';
  });
  run();
  EXPECT_EQ(order_, "2i1ol");
}

}  // namespace
}  // namespace rpcrdma
