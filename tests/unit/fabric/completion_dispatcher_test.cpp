// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/fabric/completion_dispatcher.hpp"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <functional>
#include <optional>
#include <string>

#include "rpcrdma/base/after_handler.hpp"
#include "support/run.hpp"

namespace rpcrdma::fabric {
namespace {

/// Records each callback as one character: E established, a digit for a completion, | the end of a batch, R rejected,
/// D disconnected, o on_dispatched().
class Dispatcher : public testing::Test, public QueuePairEvents, public CompletionDispatcher::Owner {
 protected:
  Dispatcher() { dispatcher_.reserve(8); }

  void on_established(const ConnectionInfo&) noexcept override { note('E'); }
  void on_rejected(const ConnectionInfo&) noexcept override { note('R'); }
  void on_disconnected(error_code why) noexcept override {
    why_ = why;
    note('D');
  }
  void on_batch_end() noexcept override { note('|'); }
  void on_dispatched() noexcept override { note('o'); }

  struct Op final : WorkContext {
    Op(Dispatcher& t, char n) : test(t), name(n) {}
    void on_completion(const Completion&) noexcept override { test.note(name); }
    Dispatcher& test;
    const char name;
  };
  void note(char event) {
    log_ += event;
    if (event == trigger_) action_();
  }
  /// Runs `action` within the callback that is recorded as `event`.
  void when(char event, std::function<void()> action) {
    trigger_ = event;
    action_ = std::move(action);
  }
  void add(int op) { dispatcher_.add(ops_[op], {}); }

  boost::asio::io_context context_;
  Counters counters_;
  ConnectionInfo info_;
  CompletionDispatcher dispatcher_{context_, *this, counters_, this};
  Op ops_[5]{{*this, '0'}, {*this, '1'}, {*this, '2'}, {*this, '3'}, {*this, '4'}};
  std::string log_;
  error_code why_;

 private:
  char trigger_ = 0;
  std::function<void()> action_;
};

TEST_F(Dispatcher, DeliversInOrderAndClosesTheBatch) {
  dispatcher_.establish(info_);
  add(0);
  add(1);
  dispatcher_.disconnect(FabricError::flushed);  // drops the pending on_established()
  EXPECT_TRUE(dispatcher_.pending());
  dispatcher_.run();
  EXPECT_EQ(log_, "01|D");
  EXPECT_EQ(why_, FabricError::flushed);
  EXPECT_FALSE(dispatcher_.pending());
  EXPECT_EQ(counters_.completions, 2u);
  EXPECT_EQ(counters_.batches, 1u);
}

TEST_F(Dispatcher, EstablishedComesFirst) {
  add(0);
  dispatcher_.establish(info_);
  dispatcher_.run();
  EXPECT_EQ(log_, "E0|");
}

TEST_F(Dispatcher, ARefusalComesDirectlyBeforeTheEnd) {
  dispatcher_.disconnect(FabricError::rejected, &info_);
  add(0);
  dispatcher_.run();
  EXPECT_EQ(log_, "0|RD");
}

TEST_F(Dispatcher, WhatACallbackCompletesIsTheNextBatch) {
  when('0', [this] { add(1); });
  add(0);
  dispatcher_.run(1);
  EXPECT_EQ(log_, "0|");
  dispatcher_.run(1);
  EXPECT_EQ(log_, "0|1|");
}

TEST_F(Dispatcher, TheNumberOfBatchesIsBounded) {
  when('0', [this] { add(0); });
  add(0);
  dispatcher_.run();
  EXPECT_EQ(log_, "0|0|0|0|");
  EXPECT_TRUE(dispatcher_.pending());
}

TEST_F(Dispatcher, TheEndWaitsForTheLastBatch) {
  when('0', [this] { add(0); });
  add(0);
  dispatcher_.disconnect({});
  dispatcher_.run(2);
  EXPECT_EQ(log_, "0|0|");
  when('0', [] {});
  dispatcher_.run(2);
  EXPECT_EQ(log_, "0|0|0|D");
}

TEST_F(Dispatcher, SlotsReturnBeforeTheCallback) {
  std::uint32_t slots = 5;
  std::uint32_t seen = 0;
  when('0', [&] { seen = slots; });
  dispatcher_.add(ops_[0], {}, &slots, 3);
  EXPECT_EQ(slots, 5u);
  dispatcher_.run();
  EXPECT_EQ(seen, 2u);
}

TEST_F(Dispatcher, NothingRunsWithinACallback) {
  when('0', [this] {
    dispatcher_.run();
    dispatcher_.wake(nullptr);
  });
  add(0);
  add(1);
  dispatcher_.run();
  EXPECT_EQ(log_, "01|");
  test::run_ready(context_);
  EXPECT_EQ(log_, "01|");
}

TEST_F(Dispatcher, WakePostsOnceAndTellsTheOwner) {
  dispatcher_.wake(nullptr);
  test::run_ready(context_);
  EXPECT_EQ(log_, "") << "nothing was pending";
  add(0);
  const auto keep = std::make_shared<int>();
  dispatcher_.wake(keep);
  dispatcher_.wake(keep);
  EXPECT_EQ(keep.use_count(), 2);
  EXPECT_EQ(log_, "");
  test::run_ready(context_);
  EXPECT_EQ(log_, "0|o");
  EXPECT_EQ(keep.use_count(), 1);
}

/// Any callback may quiesce the dispatcher; no callback runs afterwards.
TEST_F(Dispatcher, NothingRunsAfterQuiesce) {
  const std::string all = "E01|RD";
  for (std::size_t i = 0; i < all.size(); ++i) {
    log_.clear();
    CompletionDispatcher dispatcher(context_, *this, counters_, this);
    dispatcher.reserve(8);
    when(all[i], [&] {
      dispatcher.quiesce();
      dispatcher.add(ops_[2], {});
      dispatcher.disconnect({});
      EXPECT_FALSE(dispatcher.pending());
    });
    dispatcher.establish(info_);
    dispatcher.add(ops_[0], {});
    dispatcher.add(ops_[1], {});
    dispatcher.wake(nullptr);
    test::run_ready(context_);
    if (dispatcher.pending() || i > 3) {
      dispatcher.disconnect({}, &info_);
      dispatcher.run();
    }
    std::erase(log_, 'o');
    EXPECT_EQ(log_, all.substr(0, i + 1));
  }
}

TEST_F(Dispatcher, QuiesceRecallsWhatWasPosted) {
  add(0);
  dispatcher_.wake(nullptr);
  dispatcher_.quiesce();
  test::run_ready(context_);
  EXPECT_EQ(log_, "");
}

// run() is called once, and before the next handler if the present one has a HandlerScope.
TEST_F(Dispatcher, WakeSoonRunsAtTheEndOfTheHandler) {
  for (const bool scoped : {true, false}) {
    log_.clear();
    boost::asio::post(context_, [&] {
      std::optional<HandlerScope> scope;
      if (scoped) scope.emplace(context_);
      dispatcher_.wake_soon(nullptr);  // nothing to run
      add(0);
      dispatcher_.wake_soon(nullptr);
      dispatcher_.wake_soon(nullptr);
      dispatcher_.wake(nullptr);
      note('h');
    });
    boost::asio::post(context_, [&] { note('n'); });
    test::run_ready(context_);
    EXPECT_EQ(log_, scoped ? "h0|on" : "hn0|o");
  }
}

TEST_F(Dispatcher, NothingRunsAtTheEndOfTheHandlerThatQuiesces) {
  boost::asio::post(context_, [&] {
    const HandlerScope scope(context_);
    add(0);
    dispatcher_.wake_soon(nullptr);
    dispatcher_.quiesce();
  });
  test::run_ready(context_);
  EXPECT_EQ(log_, "");
}

}  // namespace
}  // namespace rpcrdma::fabric
