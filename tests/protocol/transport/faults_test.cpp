// SPDX-License-Identifier: BSD-3-Clause
// For many n: the n-th operation of a kind fails, the connection is lost after n frames, or calls are cancelled after n
// handlers. Every call completes exactly once, nothing leaks, and later calls are served.
#include <gtest/gtest.h>

#include "both_sides.hpp"
#include "support/log_lines.hpp"

namespace rpcrdma::test {
namespace {

using fabric::LoopbackOperation;

std::vector<Shape> every_form() {
  std::vector<Shape> out(7);
  out[1].items = {9001};
  out[2].results = {9001};
  out[3].reply_body = 9000;
  out[4].call_body = 30000;
  out[5].items = {101, 8003};
  out[5].results = {8001, 33};
  out[5].call_body = 6000;
  out[5].reply_body = 7000;
  out[5].pieces = 3;
  out[5].apart = true;
  out[6].items = {501};
  for (std::uint32_t i = 0; i < out.size(); ++i) out[i].seed = i + 1;
  return out;
}

class Faults : public testing::Test {
 protected:
  /// Makes calls of every form, and makes them again when all have completed. Returns true if all succeeded.
  bool run_all(BothSides& sides) {
    bool good = true;
    for (int round = 0; round < 2; ++round) {
      std::vector<std::unique_ptr<ShapedCall>> calls;
      for (const Shape& shape : every_form()) {
        calls.push_back(sides.make(shape));
        sides.client->requester().submit(*calls.back());
      }
      for (const auto& call : calls) {
        EXPECT_TRUE(sides.wait([&] { return call->times_done != 0; }));
        if (HasFailure()) return false;
        EXPECT_EQ(call->complaint, "");
        good = good && !call->status;
      }
      run_ready(sides.context);
      for (const auto& call : calls) EXPECT_EQ(call->times_done, 1);
    }
    EXPECT_EQ(sides.handler.complaint, "");
    return good;
  }
  /// Expects that no window of the client is bound. Destroys both sides, and expects that all pool memory is free.
  void expect_nothing_left(BothSides& sides) {
    ASSERT_TRUE(sides.wait([&] { return sides.server->counters().bulk_in_use == 0; }));
    EXPECT_EQ(sides.client_fabric->bound_windows(), 0u);
    run_ready(sides.context);
    sides.client.reset();
    sides.server.reset();
    EXPECT_EQ(sides.client_pool.counters().lent, 0u);
    EXPECT_EQ(sides.server_pool.counters().lent, 0u);
  }
};

class EveryNth : public Faults, public testing::WithParamInterface<std::tuple<LoopbackOperation, bool>> {};

TEST_P(EveryNth, IsSurvived) {
  const auto [operation, at_server] = GetParam();
  for (std::uint64_t n = 1;; ++n) {
    SCOPED_TRACE(n);
    BothSides sides;
    fabric::LoopbackFabric& victim = at_server ? *sides.server_fabric : *sides.client_fabric;
    const std::uint64_t before = victim.operations(operation);
    victim.fail_nth(operation, n);
    const bool good = run_all(sides);
    const bool hit = victim.operations(operation) - before >= n;
    expect_nothing_left(sides);
    if (HasFailure()) return;
    if (!hit) {
      EXPECT_TRUE(good);
      return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, EveryNth,
                         testing::Combine(testing::Values(LoopbackOperation::any, LoopbackOperation::register_memory,
                                                          LoopbackOperation::make_queue_pair,
                                                          LoopbackOperation::connect, LoopbackOperation::accept,
                                                          LoopbackOperation::make_window,
                                                          LoopbackOperation::post_receive, LoopbackOperation::post_send,
                                                          LoopbackOperation::post_write, LoopbackOperation::post_read,
                                                          LoopbackOperation::bind, LoopbackOperation::invalidate,
                                                          LoopbackOperation::completion),
                                          testing::Bool()));

// [8166-4.5.3-a] the loss of a connection fails no call: calls are retransmitted
TEST_F(Faults, ConnectionsThatBreakAtEveryFrame) {
  for (const std::uint32_t delay : {0u, 3u}) {
    for (std::uint64_t frames = 0;; ++frames) {
      SCOPED_TRACE(frames);
      SidesOptions options;
      options.network.max_delay = delay;
      BothSides sides(options);
      sides.network.drop_connection_after(frames);
      EXPECT_TRUE(run_all(sides));
      const bool hit = sides.client->requester().counters().reconnects != 0;
      expect_nothing_left(sides);
      if (HasFailure()) return;
      if (!hit && frames > 2) break;
    }
  }
}

// The end of a connection is logged once, even if several replies are posted after the failed one.
TEST_F(Faults, AnAbortIsLoggedOnce) {
  const auto lines = std::make_shared<LogLines>();
  SidesOptions options;
  options.server_log = Log(lines);
  BothSides sides(options);
  EXPECT_TRUE(run_all(sides));
  sides.server_fabric->fail_nth(LoopbackOperation::post_send, 1);
  std::vector<std::unique_ptr<ShapedCall>> calls;
  for (int i = 0; i < 16; ++i) {
    calls.push_back(sides.make({}));
    sides.client->requester().submit(*calls.back());
  }
  for (const auto& call : calls) {
    ASSERT_TRUE(sides.wait([&] { return call->times_done != 0; }));
    EXPECT_FALSE(call->status) << call->status.message();
  }
  EXPECT_EQ(sides.client->requester().counters().reconnects, 1u);
  EXPECT_EQ(lines->with("connection aborted: cannot post a work request").size(), 1u) << lines->all();
  calls.clear();
  expect_nothing_left(sides);
}

// [8166-4.4.1-c] In round N (0 to 59), the calls are cancelled after up to N handlers of the io_context have run, so
// the rounds cancel them at different points of their progress. Each call completes. When all have completed, no window
// is bound, so the peer can access no memory of the calls.
TEST_F(Faults, CallsThatAreCancelledAtEveryTurn) {
  for (int turns = 0; turns < 60; ++turns) {
    SCOPED_TRACE(turns);
    SidesOptions options;
    options.network.max_delay = 2;
    options.network.seed = static_cast<std::uint64_t>(turns) + 1;
    BothSides sides(options);
    std::vector<std::unique_ptr<ShapedCall>> calls;
    for (const Shape& shape : every_form()) {
      calls.push_back(sides.make(shape));
      sides.client->requester().submit(*calls.back());
    }
    for (int i = 0; i < turns; ++i) sides.context.poll_one();
    for (const auto& call : calls) sides.client->requester().cancel(*call);
    for (const auto& call : calls) {
      ASSERT_TRUE(sides.wait([&] { return call->times_done != 0; }));
      EXPECT_TRUE(!call->status || call->status == BaseError::cancelled) << call->status.message();
      EXPECT_EQ(call->complaint, "");
    }
    EXPECT_EQ(sides.client_fabric->bound_windows(), 0u);
    EXPECT_TRUE(run_all(sides));
    calls.clear();
    expect_nothing_left(sides);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace rpcrdma::test
