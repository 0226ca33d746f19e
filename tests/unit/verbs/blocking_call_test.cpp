// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls, each in a thread of its own. A read from an empty pipe stands for a system call that waits for a
// peer.
#include "blocking_call.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <boost/asio/post.hpp>
#include <chrono>
#include <future>
#include <vector>

#include "error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr std::chrono::seconds kPatience{30};

/// wait() blocks until let_go().
class Waiting {
 public:
  Waiting() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  ~Waiting() {
    for (const int end : ends_) ::close(end);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// Reports that it has started, then blocks.
  error_code wait() {
    begun.set_value();
    char octet = 0;
    return ::read(ends_[0], &octet, 1) == 1 ? error_code() : system_error(EIO);
  }
  void let_go() { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }

  std::promise<void> begun;

 private:
  std::array<int, 2> ends_{};
};

template <class T>
T soon(std::future<T> future) {
  EXPECT_EQ(future.wait_for(kPatience), std::future_status::ready);
  return future.get();
}

/// The threads of the calls belong to the BlockingCalls of one io_context. wait_for_all() destroys the io_context,
/// which joins these threads.
class BlockingCallTest : public testing::Test {
 protected:
  void wait_for_all() { context_.reset(); }

  std::unique_ptr<boost::asio::io_context> context_ = std::make_unique<boost::asio::io_context>();
  BlockingCalls& calls_ = boost::asio::use_service<BlockingCalls>(*context_);
};

TEST_F(BlockingCallTest, TellsTheResult) {
  Waiting waiting;
  std::promise<error_code> result;
  const auto call = calls_.start([&] { return waiting.wait() ? system_error(EIO) : system_error(ECONNREFUSED); },
                                 [&](error_code error) { result.set_value(error); });
  ASSERT_TRUE(call);
  waiting.let_go();
  EXPECT_EQ(soon(result.get_future()), system_error(ECONNREFUSED));
  wait_for_all();
}

TEST_F(BlockingCallTest, CutsAWaitingCallShort) {
  Waiting waiting;
  bool reported = false;
  bool returned = false;
  std::promise<void> last;
  const auto held = std::make_shared<int>(0);
  const auto call = calls_.start(
      [&, held] {
        const error_code error = waiting.wait();
        returned = true;
        return error;
      },
      [&](error_code) { reported = true; });
  ASSERT_TRUE(call);
  soon(waiting.begun.get_future());
  (*call)->end([&] { last.set_value(); });
  soon(last.get_future());
  wait_for_all();
  EXPECT_FALSE(returned);
  EXPECT_FALSE(reported);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(BlockingCallTest, WhatIsLeftComesAfterACallThatIsOver) {
  std::promise<error_code> result;
  const auto call = calls_.start([] { return error_code(); }, [&](error_code error) { result.set_value(error); });
  ASSERT_TRUE(call);
  EXPECT_FALSE(soon(result.get_future()));
  bool done = false;
  (*call)->end([&] { done = true; });
  wait_for_all();
  EXPECT_TRUE(done);
}

TEST_F(BlockingCallTest, TheContextWaitsForWhatBlocks) {
  Waiting waiting;
  bool done = false;
  calls_.run([&] {
    waiting.wait();
    done = true;
  });
  soon(waiting.begun.get_future());
  waiting.let_go();
  wait_for_all();
  EXPECT_TRUE(done);
}

// The destructor of the io_context destroys its handlers. A handler may own a queue pair, whose destructor then calls
// run().
TEST_F(BlockingCallTest, WhatIsLeftRunsAtOnceWhenTheContextEnds) {
  struct AtEnd {
    explicit AtEnd(BlockingCalls& of, bool& flag) : calls(of), done(flag) {}
    ~AtEnd() {
      calls.run([this] { done = true; });
    }
    BlockingCalls& calls;
    bool& done;
  };
  bool done = false;
  boost::asio::post(*context_, [held = std::make_unique<AtEnd>(calls_, done)] {});
  wait_for_all();
  EXPECT_TRUE(done);
}

TEST_F(BlockingCallTest, TooManyAreRefused) {
  std::vector<std::unique_ptr<Waiting>> waits;
  std::vector<std::unique_ptr<BlockingCall>> calls;
  for (std::size_t i = 0; i < BlockingCalls::kMost; ++i) {
    Waiting& waiting = *waits.emplace_back(std::make_unique<Waiting>());
    auto call = calls_.start([&waiting] { return waiting.wait(); }, [](error_code) {});
    ASSERT_TRUE(call) << i;
    calls.push_back(std::move(*call));
  }
  const auto refused = calls_.start([] { return error_code(); }, [](error_code) {});
  EXPECT_EQ(refused.error(), system_error(EAGAIN));
  std::vector<std::future<void>> over;
  for (const auto& call : calls) {
    const auto last = std::make_shared<std::promise<void>>();
    over.push_back(last->get_future());
    call->end([last] { last->set_value(); });
  }
  for (auto& each : over) soon(std::move(each));
  wait_for_all();
}

}  // namespace
}  // namespace rpcrdma::fabric::verbs
