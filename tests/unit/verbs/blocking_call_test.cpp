// SPDX-License-Identifier: BSD-3-Clause
// Calls in threads of their own: reading from an empty pipe stands for the kernel that waits for a peer.
#include "blocking_call.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <future>
#include <vector>

#include "error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr std::chrono::seconds kPatience{30};

/// Reading from it blocks until release.
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

int whose = 0;

TEST(BlockingCall, TellsTheResult) {
  Waiting waiting;
  std::promise<error_code> result;
  const auto call = BlockingCall::start(
      &whose, [&] { return waiting.wait() ? system_error(EIO) : system_error(ECONNREFUSED); },
      [&](error_code error) { result.set_value(error); });
  ASSERT_TRUE(call);
  waiting.let_go();
  EXPECT_EQ(soon(result.get_future()), system_error(ECONNREFUSED));
  BlockingCall::wait_for(&whose);
}

TEST(BlockingCall, CutsAWaitingCallShort) {
  Waiting waiting;
  bool reported = false;
  bool returned = false;
  std::promise<void> last;
  const auto held = std::make_shared<int>(0);
  const auto call = BlockingCall::start(
      &whose,
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
  BlockingCall::wait_for(&whose);
  EXPECT_FALSE(returned);
  EXPECT_FALSE(reported);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(BlockingCall, WhatIsLeftComesAfterACallThatIsOver) {
  std::promise<error_code> result;
  const auto call = BlockingCall::start(
      &whose, [] { return error_code(); }, [&](error_code error) { result.set_value(error); });
  ASSERT_TRUE(call);
  EXPECT_FALSE(soon(result.get_future()));
  bool done = false;
  (*call)->end([&] { done = true; });
  BlockingCall::wait_for(&whose);
  EXPECT_TRUE(done);
}

TEST(BlockingCall, WaitsForItsOwnOnly) {
  Waiting mine;
  Waiting anothers;
  int another = 0;
  const auto run = [](const void* of, Waiting& waiting) { BlockingCall::run(of, [&waiting] { waiting.wait(); }); };
  run(&another, anothers);
  run(&whose, mine);
  mine.let_go();
  BlockingCall::wait_for(&whose);
  anothers.let_go();
  BlockingCall::wait_for(&another);
}

TEST(BlockingCall, TooManyAreRefused) {
  std::vector<std::unique_ptr<Waiting>> waits;
  std::vector<std::unique_ptr<BlockingCall>> calls;
  for (std::size_t i = 0; i < BlockingCall::kMost; ++i) {
    Waiting& waiting = *waits.emplace_back(std::make_unique<Waiting>());
    auto call = BlockingCall::start(
        &whose, [&waiting] { return waiting.wait(); }, [](error_code) {});
    ASSERT_TRUE(call) << i;
    calls.push_back(std::move(*call));
  }
  const auto refused = BlockingCall::start(
      &whose, [] { return error_code(); }, [](error_code) {});
  EXPECT_EQ(refused.error(), system_error(EAGAIN));
  for (const auto& call : calls) call->end([] {});
  BlockingCall::wait_for(&whose);
  EXPECT_TRUE(BlockingCall::start(
      &whose, [] { return error_code(); }, [](error_code) {}));
  BlockingCall::wait_for(&whose);
}

}  // namespace
}  // namespace rpcrdma::fabric::verbs
