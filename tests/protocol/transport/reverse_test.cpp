// SPDX-License-Identifier: BSD-3-Clause
// Calls in both directions on one connection (RFC 8167).
#include <gtest/gtest.h>

#include "both_sides.hpp"
#include "rpcrdma/requester/reverse.hpp"
#include "rpcrdma/responder/reverse_service.hpp"

namespace rpcrdma::test {
namespace {

using transport::TransportError;

class Reverse : public testing::Test {
 protected:
  void start(SidesOptions options = SidesOptions()) {
    sides = std::make_unique<BothSides>(options);
    serve(options);
    connect();
  }
  void serve(const SidesOptions& options) {
    service =
        transport::ReverseService::make(*sides->client, client_handler, options.client.connection.reverse_credits, {});
  }
  void connect() {
    sides->handler.intercept = [this](transport::IncomingCall& call) {
      reverse = call.reverse();
      return false;
    };
    const auto call = sides->make({});
    ASSERT_TRUE(sides->run(*call));
    ASSERT_TRUE(reverse);
  }
  std::unique_ptr<ShapedCall> make(const Shape& shape = {}) {
    return std::make_unique<ShapedCall>(sides->server_pool, *reverse, shape);
  }
  bool run(ShapedCall& call) {
    reverse->submit(call);
    return sides->wait([&] { return call.times_done != 0; });
  }
  void TearDown() override {
    reverse.reset();
    sides.reset();  // destroys the client before `service`, which must outlive it
  }

  ShapedHandler client_handler;
  std::unique_ptr<transport::ReverseService> service;
  std::unique_ptr<BothSides> sides;
  std::shared_ptr<transport::ReverseRequester> reverse;
};

// [8167-6-a] [8167-5.4-a] a reverse call fails until the server has called allow()
TEST_F(Reverse, RefusedUntilAllowed) {
  start();
  const auto refused = make();
  ASSERT_TRUE(run(*refused));
  EXPECT_EQ(refused->status, TransportError::reverse_disabled);
  EXPECT_EQ(client_handler.calls, 0);
  reverse->allow();
  const auto good = make();
  ASSERT_TRUE(run(*good));
  EXPECT_FALSE(good->status) << good->status.message();
  EXPECT_EQ(good->complaint, "");
  EXPECT_EQ(client_handler.calls, 1);
}

TEST_F(Reverse, ServedOnAConnectionThatWasMadeBefore) {
  sides = std::make_unique<BothSides>();
  connect();
  serve({});
  reverse->allow();
  const auto call = make();
  ASSERT_TRUE(run(*call));
  EXPECT_FALSE(call->status) << call->status.message();
  EXPECT_EQ(client_handler.calls, 1);
  reverse.reset();
  sides->client.reset();
  EXPECT_EQ(service->calls(), 0u);
}

// [8166-4-b] [8167-2.4.1-a] [8167-4.1-a] [8167-4.1-b] [8167-4.1-d] [8167-5.1-a] [8167-5.1-b] [8167-5.2-a] [8167-5.2-b]
// [8167-2.4-b]
TEST_F(Reverse, SameXidsInBothDirectionsAtOnce) {
  SidesOptions options;
  options.network.max_delay = 3;
  start(options);
  reverse->allow();
  std::vector<std::unique_ptr<ShapedCall>> calls;
  for (std::uint32_t i = 0; i < 60; ++i) {
    Shape shape;
    shape.call_body = 4 * (i % 30);
    shape.reply_body = 4 * (i % 7);
    calls.push_back(make(shape));
    calls.back()->xid = 1000 + i;
    reverse->submit(*calls.back());
    calls.push_back(sides->make(shape));
    calls.back()->xid = 1000 + i;
    sides->client->requester().submit(*calls.back());
  }
  for (const auto& call : calls) {
    ASSERT_TRUE(sides->wait([&] { return call->times_done != 0; }));
    EXPECT_FALSE(call->status) << call->status.message();
    EXPECT_EQ(call->complaint, "");
  }
  EXPECT_EQ(client_handler.calls, 60);
  EXPECT_EQ(client_handler.complaint, "");
  EXPECT_EQ(reverse->counters().granted, options.client.connection.reverse_credits);
  EXPECT_EQ(sides->client->requester().counters().granted, 32u);
}

// [8167-4.2-a] a reverse call may be as long as a forward reply, and a reverse reply as long as a forward call
TEST_F(Reverse, ThresholdsAreSwapped) {
  SidesOptions options;
  options.client.connection.send_size = 2048;
  options.server.connection.send_size = 3072;
  start(options);
  reverse->allow();
  constexpr std::uint32_t kLongestCall = 3072 - 28 - 24, kLongestReply = 2048 - 28 - 12;
  for (const std::uint32_t more : {0u, 4u}) {
    std::vector<Shape> shapes(2);
    shapes[0].call_body = kLongestCall + more;
    shapes[1].reply_body = kLongestReply + more;
    for (const Shape& shape : shapes) {
      const auto call = make(shape);
      ASSERT_TRUE(run(*call));
      const TransportError why = shape.call_body != 0 ? TransportError::call_too_long : TransportError::reply_too_long;
      EXPECT_EQ(call->status, more == 0 ? error_code() : why);
      EXPECT_EQ(call->complaint, "");
    }
  }
  EXPECT_EQ(client_handler.calls, 2);
}

// [8167-5.3-a] [8167-5.3-c] with version one, only short messages are sent in the reverse direction
TEST_F(Reverse, CallsThatNeedChunksFailAtOnce) {
  start();
  reverse->allow();
  std::vector<Shape> shapes(4);
  shapes[0].call_body = 8000;
  shapes[1].reply_body = 8000;
  shapes[2].items = {8000};
  shapes[3].results = {8000};
  for (const Shape& shape : shapes) {
    const auto call = make(shape);
    ASSERT_TRUE(run(*call));
    const bool reply = shape.reply_body != 0 || !shape.results.empty();
    EXPECT_EQ(call->status, reply ? TransportError::reply_too_long : TransportError::call_too_long);
  }
  EXPECT_EQ(client_handler.calls, 0);
}

// [8166-3.3.1-a] [8167-4.3.1-a] [8167-4.3.2-a] the server keeps within its reverse credits
TEST_F(Reverse, CreditsOfTheirOwn) {
  SidesOptions options;
  options.client.connection.reverse_credits = 3;
  options.server.connection.reverse_credits = 5;
  start(options);
  reverse->allow();
  std::vector<transport::IncomingCall*> held;
  std::size_t most = 0;
  client_handler.intercept = [&](transport::IncomingCall& call) {
    held.push_back(&call);
    most = std::max(most, held.size());
    return true;
  };
  std::vector<std::unique_ptr<ShapedCall>> calls;
  for (int i = 0; i < 30; ++i) {
    calls.push_back(make());
    reverse->submit(*calls.back());
  }
  while (calls.back()->times_done == 0) {
    ASSERT_TRUE(sides->wait([&] { return !held.empty(); }));
    run_ready(sides->context);
    for (auto* call : std::exchange(held, {})) {
      PayloadBuilder& reply = call->reply();
      for (const std::uint32_t word : {call->xid(), 1u, 1u}) reply.u32(word);
      call->send({});
    }
    run_ready(sides->context);
  }
  EXPECT_EQ(most, 3u);
  for (const auto& call : calls) EXPECT_EQ(call->complaint, "");
}

// [8167-4.3.1-a] [8167-4.3.1-b] The client loses its connection, connects again and retransmits its call. The server
// sends a reverse call, and directly after it the reply to the retransmitted call. Both messages find a receive: the
// client has posted receives for both directions before the first message arrives.
TEST_F(Reverse, OnTheNextConnection) {
  SidesOptions options;
  options.client.connection.credits = 1;
  options.client.connection.reverse_credits = 1;
  start(options);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    sides->network.drop_connection_after(0);
    const std::unique_ptr<ShapedCall> forward = sides->make({});
    std::unique_ptr<ShapedCall> back;
    sides->handler.intercept = [&](transport::IncomingCall& call) {
      reverse = call.reverse();
      reverse->allow();
      back = make();
      reverse->submit(*back);
      return false;
    };
    ASSERT_TRUE(sides->run(*forward));
    EXPECT_FALSE(forward->status) << forward->status.message();
    ASSERT_TRUE(sides->wait([&] { return back->times_done != 0; }));
    EXPECT_FALSE(back->status) << back->status.message();
    EXPECT_EQ(sides->client->requester().counters().reconnects, round);
  }
}

// [8167-5.4-b] a server cannot connect to its client, so its calls end with the connection
TEST_F(Reverse, EndsWithTheConnection) {
  start();
  reverse->allow();
  client_handler.intercept = [](transport::IncomingCall& call) {
    call.discard();
    return true;
  };
  const auto call = make();
  reverse->submit(*call);
  ASSERT_TRUE(sides->wait([&] { return client_handler.calls == 1; }));
  sides->network.drop_connection_after(0);
  const auto forward = sides->make({});
  ASSERT_TRUE(sides->run(*forward));
  EXPECT_FALSE(forward->status);
  EXPECT_EQ(call->times_done, 1);
  EXPECT_EQ(call->status, TransportError::connection_lost);
}

/// Holds calls unanswered until release().
class HeldCalls {
 public:
  explicit HeldCalls(ShapedHandler& handler) {
    handler.intercept = [this](transport::IncomingCall& call) {
      calls.push_back(&call);
      return true;
    };
  }
  void release() {
    for (auto* call : std::exchange(calls, {})) {
      PayloadBuilder& reply = call->reply();
      for (const std::uint32_t word : {call->xid(), 1u, 1u}) reply.u32(word);
      call->send({});
    }
  }
  std::vector<transport::IncomingCall*> calls;
};

TEST_F(Reverse, TheLastReferenceIsDroppedInDone) {
  start();
  reverse->allow();
  const auto granting = make();
  ASSERT_TRUE(run(*granting));
  HeldCalls held(client_handler);
  const auto first = make();
  const auto second = make();
  first->on_done = [this] { reverse.reset(); };
  reverse->submit(*first);
  reverse->submit(*second);
  ASSERT_TRUE(sides->wait([&] { return held.calls.size() == 2; }));
  // The calls fail while the server is being destroyed. At that time, done() of the first call drops the last reference
  // to the requester.
  sides->handler.intercept = {};
  sides->server.reset();
  for (const auto* call : {first.get(), second.get()}) EXPECT_EQ(call->status, TransportError::connection_lost);
  held.release();
  run_ready(sides->context);

  start();
  reverse->allow();
  const auto late = make();
  const auto later = make();
  late->on_done = [this] { reverse.reset(); };
  sides->server.reset();
  reverse->submit(*late);
  reverse->submit(*later);
  ASSERT_TRUE(sides->wait([&] { return later->times_done != 0; }));
  EXPECT_EQ(late->times_done, 1);
  EXPECT_EQ(later->times_done, 1);
}

TEST_F(Reverse, CallsThatAreRepeatedWhenTheConnectionIsLostFail) {
  start();
  reverse->allow();
  HeldCalls held(client_handler);
  const auto call = make();
  call->on_done = [&] {
    if (call->times_done < 4) reverse->submit(*call);
  };
  reverse->submit(*call);
  ASSERT_TRUE(sides->wait([&] { return held.calls.size() == 1; }));
  EXPECT_TRUE(reverse->connected());
  sides->server.reset();
  EXPECT_FALSE(reverse->connected());
  // done() has run once and has submitted the call again. The repeated call completes only when the io_context runs.
  EXPECT_EQ(call->times_done, 1);
  ASSERT_TRUE(sides->wait([&] { return call->times_done == 4; }));
  EXPECT_EQ(call->status, TransportError::connection_lost);
  held.release();
}

std::vector<memory::RegisteredBuffer> all_of(memory::Pool& pool) {
  std::vector<memory::RegisteredBuffer> all;
  for (std::uint32_t size = 4u << 20; size >= 4096; size /= 2)
    while (auto buffer = pool.allocate(size)) all.push_back(std::move(*buffer));
  return all;
}

// A reverse call that finds no free memory while a forward call is in progress waits for memory.
TEST_F(Reverse, CallsWaitForMemoryThatForwardCallsHold) {
  start();
  reverse->allow();
  HeldCalls held(sides->handler);
  const auto forward = sides->make({});
  sides->client->requester().submit(*forward);
  ASSERT_TRUE(sides->wait([&] { return held.calls.size() == 1; }));
  std::vector<memory::RegisteredBuffer> all = all_of(sides->server_pool);
  const auto back = make();
  reverse->submit(*back);
  run_ready(sides->context);
  EXPECT_EQ(back->times_done, 0) << back->status.message();
  all.clear();
  held.release();
  ASSERT_TRUE(sides->wait([&] { return back->times_done != 0; }));
  EXPECT_FALSE(back->status) << back->status.message();
}

// [8167-4.1-a] a reverse call that times out keeps its credit until its late reply arrives; the connection and the
// forward calls continue
TEST_F(Reverse, LateRepliesReturnTheirCredits) {
  start();
  reverse->allow();
  HeldCalls held(client_handler);
  std::vector<std::unique_ptr<ShapedCall>> calls;
  for (int i = 0; i < 5; ++i) {
    calls.push_back(make());
    calls.back()->deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    reverse->submit(*calls.back());
  }
  for (const auto& call : calls) {
    ASSERT_TRUE(sides->wait([&] { return call->times_done != 0; }));
    EXPECT_EQ(call->status, BaseError::deadline_exceeded);
  }
  const auto forward = sides->make({});
  ASSERT_TRUE(sides->run(*forward));
  EXPECT_EQ(sides->client->requester().counters().reconnects, 0u);
  const auto next = make();
  reverse->submit(*next);
  run_ready(sides->context);
  EXPECT_EQ(held.calls.size(), 1u);  // no reply has granted more credits yet
  held.release();
  ASSERT_TRUE(sides->wait([&] { return held.calls.size() == 1; }));
  held.release();
  ASSERT_TRUE(sides->wait([&] { return next->times_done != 0; }));
  EXPECT_FALSE(next->status) << next->status.message();
  EXPECT_EQ(reverse->counters().in_flight, 0u);
}

// A client never answers: after 10 s without a free credit the connection is replaced, and waiting reverse calls fail.
TEST_F(Reverse, CreditsThatAreNeverReturnedEndTheConnection) {
  start();
  reverse->allow();
  HeldCalls held(client_handler);
  const auto late = make();
  late->deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  const auto waiting = make();
  reverse->submit(*late);
  reverse->submit(*waiting);
  ASSERT_TRUE(sides->wait([&] { return late->times_done != 0; }));
  EXPECT_EQ(late->status, BaseError::deadline_exceeded);
  EXPECT_EQ(waiting->times_done, 0);
  ASSERT_TRUE(sides->wait([&] { return waiting->times_done != 0; }));
  EXPECT_EQ(waiting->status, TransportError::connection_lost);
  ASSERT_TRUE(sides->wait([&] { return sides->client->requester().counters().reconnects == 1; }));
  held.release();
  run_ready(sides->context);
}

// A client has not answered a cancelled call yet, so the call still holds its credit. When another call times out, the
// server does not end the connection: cancelled calls may hold all credits for 10 s.
TEST_F(Reverse, CreditsOfCancelledCallsAreWaitedFor) {
  start();
  reverse->allow();
  HeldCalls held(client_handler);
  const auto cancelled = make();
  const auto late = make();
  const auto waiting = make();
  reverse->submit(*cancelled);
  late->deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  reverse->submit(*late);
  reverse->submit(*waiting);
  run_ready(sides->context);
  reverse->cancel(*cancelled);
  ASSERT_TRUE(sides->wait([&] { return late->times_done != 0; }));
  EXPECT_EQ(late->status, BaseError::deadline_exceeded);
  run_ready(sides->context);
  EXPECT_EQ(cancelled->times_done, 1);
  EXPECT_EQ(waiting->times_done, 0);
  client_handler.intercept = nullptr;  // answers further calls
  held.release();
  ASSERT_TRUE(sides->wait([&] { return waiting->times_done != 0; }));
  EXPECT_FALSE(waiting->status);
  EXPECT_EQ(sides->client->requester().counters().reconnects, 0u);
}

// A bounded number of reverse calls waits for a client that does not answer.
TEST_F(Reverse, ABoundedNumberWaits) {
  start();
  reverse->allow();
  HeldCalls held(client_handler);
  std::vector<std::unique_ptr<ShapedCall>> calls;
  for (int i = 0; i < 1100; ++i) {
    calls.push_back(make());
    reverse->submit(*calls.back());
  }
  ASSERT_TRUE(sides->wait([&] { return calls.back()->times_done != 0; }));
  EXPECT_EQ(calls.back()->status, BaseError::out_of_memory);
  EXPECT_LE(reverse->counters().waiting, 1024u);
  EXPECT_EQ(calls[100]->times_done, 0);
  sides->server.reset();
  for (const auto& call : calls) EXPECT_EQ(call->times_done, 1);
  held.release();
  run_ready(sides->context);
}

TEST_F(Reverse, NoneWithoutCredits) {
  SidesOptions options;
  options.server.connection.reverse_credits = 0;
  start(options);
  reverse->allow();
  const auto refused = make();
  ASSERT_TRUE(run(*refused));
  EXPECT_EQ(refused->status, TransportError::reverse_disabled);
}

}  // namespace
}  // namespace rpcrdma::test
