// SPDX-License-Identifier: BSD-3-Clause
// Transport characteristics of a client and a server (draft-dnoveck-nfsv4-rpcrdma-xcharext-01), over the loopback
// fabric. After each test the network must have counted no Send that was longer than its receive [xchar-3.1-a].
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/use_future.hpp>

#include "both_sides.hpp"
#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/requester/reverse.hpp"
#include "rpcrdma/responder/reverse_service.hpp"

namespace rpcrdma::test {
namespace {

using transport::BackwardSupport;
using transport::ChangeOutcome;
using transport::CharacteristicChange;
using transport::Characteristics;
using transport::Disposition;
using transport::ExchangeState;
using transport::TransportError;
using transport::VersionChoice;

class Exchanges : public testing::Test {
 protected:
  static SidesOptions two() {
    SidesOptions options;
    options.client.connection.version = options.server.connection.version = VersionChoice::automatic;
    // Switches off the policy that adapts receives to the calls; it has tests of its own.
    options.client.connection.characteristics.adaptive = options.server.connection.characteristics.adaptive = false;
    return options;
  }
  void start(const SidesOptions& options = two()) {
    sides = std::make_unique<BothSides>(options);
    sides->handler.intercept = [this](transport::IncomingCall& call) {
      reverse = call.reverse();
      server = call.statistics().characteristics;
      if (on_server) std::exchange(on_server, {})(*call.exchange());
      return false;
    };
  }
  void call(const Shape& shape = {}) {
    const auto one = sides->make(shape);
    ASSERT_TRUE(sides->run(*one));
    EXPECT_FALSE(one->status) << one->status.message();
    EXPECT_EQ(one->complaint, "");
    EXPECT_EQ(sides->handler.complaint, "");
  }
  void calls(int count, const Shape& shape = {}) {
    std::vector<std::unique_ptr<ShapedCall>> all;
    for (int i = 0; i < count; ++i) {
      all.push_back(sides->make(shape));
      sides->client->requester().submit(*all.back());
    }
    for (const auto& one : all) {
      ASSERT_TRUE(sides->wait([&] { return one->times_done != 0; }));
      EXPECT_FALSE(one->status) << one->status.message();
      EXPECT_EQ(one->complaint, "");
    }
  }
  Characteristics client() { return sides->client->exchange().characteristics(); }
  /// Makes a call whose handler reads the server's characteristics; returns the characteristics.
  Characteristics server_now() {
    call();
    return server;
  }
  struct Completed {
    bool over = false;
    error_code failed;
    ChangeOutcome outcome;
    auto token() {
      return [this](error_code why, ChangeOutcome of) {
        over = true;
        failed = why;
        outcome = of;
      };
    }
  };
  ChangeOutcome completed(Completed& done) {
    EXPECT_TRUE(sides->wait([&] { return done.over; }));
    EXPECT_FALSE(done.failed) << done.failed.message();
    return done.outcome;
  }
  ChangeOutcome ask(const CharacteristicChange& wanted) {
    Completed done;
    sides->client->exchange().async_request(wanted, done.token());
    return completed(done);
  }
  ChangeOutcome change(const CharacteristicChange& wanted) {
    Completed done;
    sides->client->exchange().async_change(wanted, done.token());
    return completed(done);
  }
  ChangeOutcome server_asks(const CharacteristicChange& wanted) {
    Completed done;
    on_server = [&](transport::CharacteristicsExchange& exchange) { exchange.async_request(wanted, done.token()); };
    call();
    return completed(done);
  }
  std::vector<std::string> trace_of_call(const Shape& shape = {}) {
    sides->network.start_trace();
    call(shape);
    return sides->network.take_trace_text();
  }
  void TearDown() override {
    if (sides) {
      EXPECT_EQ(sides->network.overruns(), 0u);
      sides->client.reset();
      sides->server.reset();
      reverse.reset();
      run_ready(sides->context);
      EXPECT_EQ(sides->client_pool.counters().lent, 0u);
      EXPECT_EQ(sides->server_pool.counters().lent, 0u);
    }
    sides.reset();
  }

  ShapedHandler client_handler;
  std::unique_ptr<transport::ReverseService> service;
  std::unique_ptr<BothSides> sides;
  std::shared_ptr<transport::ReverseRequester> reverse;
  Characteristics server;
  std::function<void(transport::CharacteristicsExchange&)> on_server;
};

constexpr CharacteristicChange size_of(std::uint32_t size) { return {.receive_buffer_size = size}; }

Shape large_call(std::uint32_t size = 9000) {
  Shape shape;
  shape.items = {size};
  return shape;
}

// [xchar-4.1-b] [xchar-4.1-c] [v2-4.2.2-e] INIT_XCHAR is the first message of each side after the agreement on version
// two: the server sends it before its first reply, the client after that reply
TEST_F(Exchanges, AreBegunByBothSides) {
  start();
  EXPECT_EQ(trace_of_call(), (std::vector<std::string>{"client send 56", "server send 72", "server send 44"}));
  const Characteristics first = client();
  EXPECT_EQ(first.state, ExchangeState::active);
  EXPECT_EQ(first.version, 2u);
  EXPECT_EQ(first.own.receive_buffer_size, 4096u);
  EXPECT_TRUE(first.own.requester_remote_invalidation);
  EXPECT_EQ(first.own.backward_request_support, BackwardSupport::none);
  EXPECT_FALSE(first.peer.requester_remote_invalidation) << "[xchar-3.2-c]";
  EXPECT_EQ(first.peer.backward_request_support, BackwardSupport::general);
  EXPECT_EQ(trace_of_call(), (std::vector<std::string>{"client send 72", "client send 56", "server send 44"}));
  EXPECT_EQ(trace_of_call(), (std::vector<std::string>{"client send 56", "server send 44"}));
  EXPECT_EQ(server.state, ExchangeState::active);
  EXPECT_EQ(server.own, first.peer);
  EXPECT_EQ(server.peer, first.own);
}

TEST_F(Exchanges, AreNotPartOfVersionOne) {
  SidesOptions options = two();
  options.server.connection.version = VersionChoice::one;
  start(options);
  calls(3);
  EXPECT_EQ(client().state, ExchangeState::none);
  EXPECT_EQ(client().version, 1u);
  Completed done;
  sides->client->exchange().async_request(size_of(8192), done.token());
  ASSERT_TRUE(sides->wait([&] { return done.over; }));
  EXPECT_EQ(done.failed, TransportError::no_characteristics);
}

// [xchar-4.1-e] [xchar-4-a] a side without the extension refuses INIT_XCHAR, and is not asked for any change
TEST_F(Exchanges, WithAPeerThatHasNone) {
  for (const bool server_lacks : {false, true}) {
    SidesOptions options = two();
    options.server.connection.characteristics.exchange = !server_lacks;
    options.client.connection.characteristics.exchange = server_lacks;
    start(options);
    call();
    ASSERT_TRUE(sides->wait([&] {
      call();
      return (server_lacks ? client().state : server.state) == ExchangeState::refused;
    }));
    calls(8, large_call());
    TearDown();
  }
}

// With a grant of one credit, INIT_XCHAR would take the credit of a call. The client therefore sends it only after the
// server has sent its own.
TEST_F(Exchanges, WithOneCredit) {
  SidesOptions options = two();
  options.server.connection.credits = 1;
  options.server.connection.reverse_credits = 1;
  start(options);
  calls(4);
  EXPECT_EQ(client().state, ExchangeState::active);
  TearDown();
  options.server.connection.characteristics.exchange = false;
  start(options);
  calls(4);
  EXPECT_EQ(client().state, ExchangeState::negotiating);
}

// [xchar-3.1-a] [xchar-3.1-b] [xchar-4.2-b] [xchar-4.3-b] [xchar-4.3-e] [xchar-4.4-c] The client requests larger
// receives. The server announces the larger size only when every smaller receive has been consumed. From then on, a
// call that fits the larger receives needs no Read chunk.
TEST_F(Exchanges, RaiseReceives) {
  start();
  call();
  EXPECT_EQ(ask(size_of(16384)).receive_buffer_size, Disposition::pending);
  EXPECT_EQ(client().peer.receive_buffer_size, 4096u);
  EXPECT_EQ(trace_of_call(large_call()).front(), "client send 84") << "with a Read chunk";
  for (int i = 0; i < 200 && client().peer.receive_buffer_size == 4096; ++i) calls(4, large_call());
  EXPECT_EQ(client().peer.receive_buffer_size, 16384u);
  EXPECT_EQ(trace_of_call(large_call()), (std::vector<std::string>{"client send 9060", "server send 44"}));
  EXPECT_EQ(sides->server->counters().receives_raised, 1u);
  EXPECT_EQ(ask(size_of(16384)).receive_buffer_size, Disposition::done);
}

// [xchar-3.1-c] [xchar-3.1-d] [xchar-4.3-d] before a side requests smaller receives, it stops sending messages that
// would not fit them
TEST_F(Exchanges, LowerReceives) {
  start();
  call();
  ask(size_of(16384));
  for (int i = 0; i < 200 && client().peer.receive_buffer_size == 4096; ++i) calls(4);
  ASSERT_EQ(client().peer.receive_buffer_size, 16384u);
  const std::size_t raised = sides->server->counters().receive_octets;
  sides->network.start_trace();
  Completed done;
  sides->client->exchange().async_request(size_of(4096), done.token());
  std::vector<std::unique_ptr<ShapedCall>> crossing;
  for (int i = 0; i < 8; ++i) {
    crossing.push_back(sides->make(large_call()));
    sides->client->requester().submit(*crossing.back());
  }
  EXPECT_EQ(completed(done).receive_buffer_size, Disposition::done);
  for (const auto& one : crossing) ASSERT_TRUE(sides->wait([&] { return one->times_done != 0; }));
  const std::vector<std::string> trace = sides->network.take_trace_text();
  EXPECT_EQ(std::ranges::count(trace, "client send 9060"), 0) << "the peer had not answered yet";
  EXPECT_EQ(std::ranges::count(trace, "client send 84"), 8);
  EXPECT_EQ(trace_of_call(large_call()).front(), "client send 84");
  calls(100);
  EXPECT_LT(sides->server->counters().receive_octets, raised);
  EXPECT_EQ(sides->server->counters().receives_lowered, 1u);
}

// [xchar-3-a] [xchar-4.3-c] a value that the peer cannot accept is rejected
TEST_F(Exchanges, Rejections) {
  SidesOptions options = two();
  options.server.connection.characteristics.max_receive_size = 8192;
  start(options);
  call();
  EXPECT_EQ(ask(size_of(16384)).receive_buffer_size, Disposition::rejected);
  EXPECT_EQ(ask(size_of(1024)).receive_buffer_size, Disposition::rejected);
  EXPECT_EQ(trace_of_call(large_call(3000)).front(), "client send 3060")
      << "a rejected request leaves no limit on Sends";
  const ChangeOutcome both = ask({.receive_buffer_size = 8192, .backward_request_support = BackwardSupport::none});
  EXPECT_EQ(both.receive_buffer_size, Disposition::pending);
  EXPECT_EQ(both.requester_remote_invalidation, Disposition::unchanged);
  EXPECT_EQ(both.backward_request_support, Disposition::rejected);
  Completed done;
  sides->client->exchange().async_request(size_of(1u << 20), done.token());
  ASSERT_TRUE(sides->wait([&] { return done.over; }));
  EXPECT_EQ(done.failed, BaseError::invalid_argument);
  EXPECT_EQ(change(size_of(2048)).receive_buffer_size, Disposition::rejected)
      << "only the peer may ask for a smaller size";
}

// A server without memory for larger receives rejects the larger size.
TEST_F(Exchanges, WithoutMemory) {
  SidesOptions options = two();
  options.server.connection.credits = 1024;
  options.client.connection.credits = 1024;
  start(options);
  call();
  EXPECT_EQ(ask(size_of(65536)).receive_buffer_size, Disposition::rejected);
}

// The server requests larger receives from the client. When they are posted, the client offers no Reply chunk for
// replies that fit them.
TEST_F(Exchanges, RaiseReceivesOfTheClient) {
  start();
  calls(2);
  Shape shape;
  shape.reply_body = 9000;
  EXPECT_EQ(server_asks(size_of(16384)).receive_buffer_size, Disposition::pending);
  for (int i = 0; i < 300 && client().own.receive_buffer_size == 4096; ++i) calls(4, shape);
  ASSERT_EQ(client().own.receive_buffer_size, 16384u);
  EXPECT_EQ(trace_of_call(shape), (std::vector<std::string>{"client send 56", "server send 9044"}));
  EXPECT_EQ(server_asks(size_of(4096)).receive_buffer_size, Disposition::done);
  EXPECT_NE(trace_of_call(shape).front(), "client send 56");
}

// [xchar-3.1-d] The server wants smaller receives of the client, while replies that it has planned for the larger
// receives still wait for their RDMA Writes. The server sends these replies before it sends the request.
TEST_F(Exchanges, LowerReceivesBehindPlannedReplies) {
  SidesOptions options = two();
  options.capabilities.max_message = 16384;
  start(options);
  calls(2);
  EXPECT_EQ(server_asks(size_of(16384)).receive_buffer_size, Disposition::pending);
  for (int i = 0; i < 300 && client().own.receive_buffer_size == 4096; ++i) calls(4);
  ASSERT_EQ(client().own.receive_buffer_size, 16384u);
  // The replies need more RDMA Writes than a connection may have outstanding. The fifth reply therefore still waits
  // when the sixth call arrives, whose handler makes the request.
  Shape shape;
  shape.results = {1u << 20};
  shape.reply_body = 9000;
  const std::uint64_t before = server_now().requests_sent;
  Completed done;
  int arrived = 0;
  std::uint64_t sent_at_once = 0;
  sides->handler.intercept = [&](transport::IncomingCall& call) {
    if (++arrived != 6) return false;
    call.exchange()->async_request(size_of(4096), done.token());
    sent_at_once = call.exchange()->characteristics().requests_sent - before;
    return false;
  };
  std::vector<std::unique_ptr<ShapedCall>> all;
  for (const Shape& one : {shape, shape, shape, shape, shape, Shape{}}) {
    all.push_back(sides->make(one));
    sides->client->requester().submit(*all.back());
  }
  EXPECT_EQ(completed(done).receive_buffer_size, Disposition::done);
  EXPECT_EQ(sent_at_once, 0u) << "a planned reply had not been posted";
  for (const auto& one : all) {
    ASSERT_TRUE(sides->wait([&] { return one->times_done != 0; }));
    EXPECT_FALSE(one->status) << one->status.message();
    EXPECT_EQ(one->complaint, "");
  }
  EXPECT_EQ(sides->client->requester().counters().reconnects, 0u);
}

// [xchar-4.4-b] a side makes its own receives larger without a request by the peer
TEST_F(Exchanges, ChangesWithoutARequest) {
  start();
  calls(2);
  EXPECT_EQ(change(size_of(16384)).receive_buffer_size, Disposition::pending);
  for (int i = 0; i < 300 && client().own.receive_buffer_size == 4096; ++i) calls(4);
  EXPECT_EQ(server_now().peer.receive_buffer_size, 16384u);
  EXPECT_EQ(server.updates_received, 1u);
}

// [xchar-3.2-a] [xchar-3.2-b] remote invalidation is switched off and on between calls
TEST_F(Exchanges, RemoteInvalidation) {
  start();
  calls(2);
  const Shape shape = large_call();
  EXPECT_EQ(trace_of_call(shape).back(), "server send 44 invalidate");
  EXPECT_EQ(change({.requester_remote_invalidation = false}).requester_remote_invalidation, Disposition::done);
  EXPECT_EQ(trace_of_call(shape).back(), "server send 44");
  EXPECT_EQ(change({.requester_remote_invalidation = true}).requester_remote_invalidation, Disposition::done);
  EXPECT_EQ(trace_of_call(shape).back(), "server send 44 invalidate");
  // The server asks the client to switch remote invalidation off.
  EXPECT_EQ(server_asks({.requester_remote_invalidation = false}).requester_remote_invalidation, Disposition::done);
  EXPECT_EQ(trace_of_call(shape).back(), "server send 44");
  EXPECT_FALSE(client().own.requester_remote_invalidation);
}

// [xchar-3.3-a] a client supports no reverse calls until it has a reverse service
TEST_F(Exchanges, BackwardSupport) {
  start();
  calls(2);
  ASSERT_TRUE(reverse);
  reverse->allow();
  ShapedCall refused(sides->server_pool, *reverse, {});
  reverse->submit(refused);
  ASSERT_TRUE(sides->wait([&] { return refused.times_done != 0; }));
  EXPECT_EQ(refused.status, TransportError::reverse_disabled);
  service = transport::ReverseService::make(*sides->client, client_handler, 2, {});
  EXPECT_TRUE(sides->wait(
      [&] { return server_now().peer.backward_request_support == transport::BackwardSupport::size_limited; }));
  ShapedCall good(sides->server_pool, *reverse, {});
  reverse->submit(good);
  ASSERT_TRUE(sides->wait([&] { return good.times_done != 0; }));
  EXPECT_FALSE(good.status) << good.status.message();
}

// [xchar-3.3-c] reverse calls with chunks succeed only if the client's reverse service accepts chunks
TEST_F(Exchanges, ReverseCallsWithChunks) {
  for (const std::uint32_t budget : {0u, 1u << 20}) {
    start();
    service = transport::ReverseService::make(*sides->client, client_handler, 2, {}, {}, budget);
    calls(2);
    reverse->allow();
    std::vector<Shape> shapes(4);
    shapes[0].items = {9001};
    shapes[1].results = {9001};
    shapes[2].reply_body = 9000;
    shapes[3].call_body = 30000;
    for (const Shape& shape : shapes) {
      ShapedCall one(sides->server_pool, *reverse, shape);
      reverse->submit(one);
      ASSERT_TRUE(sides->wait([&] { return one.times_done != 0; }));
      EXPECT_EQ(!one.status, budget != 0) << one.status.message();
      EXPECT_EQ(one.complaint, "");
    }
    EXPECT_EQ(client_handler.complaint, "");
    ASSERT_TRUE(sides->wait([&] { return sides->server_fabric->bound_windows() == 0; }));
    TearDown();
    service.reset();
  }
}

// [xchar-3.3-b] a server without the extension makes a reverse call, which shows that it supports reverse calls
TEST_F(Exchanges, InferBackwardSupport) {
  SidesOptions options = two();
  options.server.connection.characteristics.exchange = false;
  start(options);
  service = transport::ReverseService::make(*sides->client, client_handler, 2, {});
  calls(2);
  EXPECT_EQ(client().peer.backward_request_support, transport::BackwardSupport::unknown);
  reverse->allow();
  ShapedCall good(sides->server_pool, *reverse, {});
  reverse->submit(good);
  ASSERT_TRUE(sides->wait([&] { return good.times_done != 0; }));
  EXPECT_FALSE(good.status) << good.status.message();
  EXPECT_EQ(client().peer.backward_request_support, transport::BackwardSupport::size_limited);
}

// When a connection ends, the unanswered requests to its peer end, too. The next connection starts a new exchange.
TEST_F(Exchanges, EndWithTheirConnection) {
  start();
  call();
  std::vector<Completed> done(20);
  sides->network.drop_connection_after(0);
  for (Completed& one : done) sides->client->exchange().async_request(size_of(8192), one.token());
  for (Completed& one : done) ASSERT_TRUE(sides->wait([&] { return one.over; }));
  EXPECT_EQ(done.front().failed, TransportError::connection_lost);
  EXPECT_EQ(done.back().failed, BaseError::out_of_memory) << "the number of requests is bounded";
  calls(2);
  EXPECT_EQ(client().state, ExchangeState::active);
  EXPECT_EQ(client().requests_sent, 0u);
}

TEST_F(Exchanges, CompleteByAnyToken) {
  start();
  call();
  auto outcome = sides->client->exchange().async_request(size_of(4096), boost::asio::use_future);
  calls(2);
  ASSERT_EQ(outcome.wait_for(std::chrono::minutes(5)), std::future_status::ready);
  EXPECT_EQ(outcome.get().receive_buffer_size, Disposition::done);
}

// Receives grow after many calls that do not fit them, and shrink again after many short calls.
TEST_F(Exchanges, FollowTheCalls) {
  SidesOptions options = two();
  options.client.connection.characteristics.adaptive = true;
  start(options);
  for (int i = 0; i < 100 && client().peer.receive_buffer_size == 4096; ++i) calls(8, large_call());
  EXPECT_EQ(client().peer.receive_buffer_size, 16384u);
  EXPECT_EQ(trace_of_call(large_call()).front(), "client send 9060");
  const std::size_t raised = sides->server->counters().receive_octets;
  for (int i = 0; i < 400 && client().peer.receive_buffer_size != 4096; ++i) calls(8);
  EXPECT_EQ(client().peer.receive_buffer_size, 4096u);
  calls(100);
  EXPECT_LT(sides->server->counters().receive_octets, raised);
  EXPECT_EQ(sides->server->counters().receives_raised, 1u);
  EXPECT_EQ(sides->server->counters().receives_lowered, 1u);
  EXPECT_EQ(client().grown, 1u);
  EXPECT_EQ(client().shrunk_unused, 1u);
}

// An adaptive client does not ask for receives smaller than those that the server is configured with, whether private
// data or INIT_XCHAR has announced their size.
TEST_F(Exchanges, FollowTheCallsDownToTheFirstSize) {
  for (const bool private_data : {true, false}) {
    SidesOptions options = two();
    options.client.connection.characteristics.adaptive = true;
    options.client.connection.private_data = private_data;
    options.client.connection.send_size = options.server.connection.receive_size = 16384;
    start(options);
    for (int i = 0; i < 100 && client().peer.receive_buffer_size != 32768; ++i) calls(8, large_call(20000));
    EXPECT_EQ(client().peer.receive_buffer_size, 32768u);
    for (int i = 0; i < 400 && client().peer.receive_buffer_size == 32768; ++i) calls(8);
    EXPECT_EQ(client().peer.receive_buffer_size, 16384u);
    for (int i = 0; i < 200; ++i) calls(8);
    EXPECT_EQ(client().peer.receive_buffer_size, 16384u);
    TearDown();
  }
}

// When the client has sent no calls for some time, it asks the server for receives of the first size. The server cannot
// withdraw posted receives, so the client then sends empty requests, each of which uses up one of the larger receives.
TEST_F(Exchanges, ShrinkWhenIdle) {
  SidesOptions options = two();
  options.client.connection.characteristics.adaptive = true;
  options.client.connection.characteristics.idle_shrink = std::chrono::milliseconds(20);
  start(options);
  calls(64);
  const std::size_t first = sides->server->counters().receive_octets;
  // On a slow machine the pauses between calls may exceed `idle_shrink`, and the receives may already shrink in this
  // loop.
  for (int i = 0; i < 1000 && sides->server->counters().receives_raised == 0; ++i) calls(8, large_call());
  ASSERT_GE(sides->server->counters().receives_raised, 1u);
  EXPECT_TRUE(sides->wait([&] { return sides->server->counters().receive_octets == first; }))
      << sides->server->counters().receive_octets << " instead of " << first;
  EXPECT_TRUE(sides->wait([&] { return client().peer.receive_buffer_size == 4096; }));
  EXPECT_GE(client().shrunk_idle, 1u);
  EXPECT_EQ(client().shrunk_unused, 0u);
  EXPECT_EQ(sides->server->counters().receives_lowered, sides->server->counters().receives_raised);
  calls(2, large_call());
}

// A server whose receives use much memory offers smaller receives to an idle client. The client then requests them.
TEST_F(Exchanges, ShrinkWhenMemoryIsShort) {
  SidesOptions options = two();
  options.client.connection.characteristics.adaptive = true;
  options.client.connection.credits = options.server.connection.credits = 8;
  options.server_memory.max_octets = 8u << 20;
  // A quarter of this time is the interval at which the server checks whether its receives use too much memory.
  options.server.idle_grace = std::chrono::milliseconds(20);
  start(options);
  for (int i = 0; i < 1000 && client().peer.receive_buffer_size == 4096; ++i) calls(8, large_call());
  ASSERT_EQ(client().peer.receive_buffer_size, 16384u);
  calls(32);
  EXPECT_EQ(sides->server->counters().receives_lowered, 0u);
  std::vector<std::unique_ptr<transport::Client>> others;
  for (int i = 0; i < 12 && sides->server->counters().receives_lowered == 0; ++i) {
    others.push_back(
        transport::Client::make(*sides->client_fabric, sides->client_pool, sides->endpoint, options.client, {}));
    std::vector<std::unique_ptr<ShapedCall>> some;
    for (int n = 0; n < 8; ++n) {
      some.push_back(std::make_unique<ShapedCall>(sides->client_pool, others.back()->requester(), Shape{}));
      others.back()->requester().submit(*some.back());
    }
    for (const auto& one : some) ASSERT_TRUE(sides->wait([&] { return one->times_done != 0; }));
  }
  EXPECT_TRUE(sides->wait([&] { return client().peer.receive_buffer_size == 4096; }));
  EXPECT_EQ(client().shrunk_pressed, 1u);
  EXPECT_EQ(client().shrunk_idle + client().shrunk_unused, 0u);
  EXPECT_EQ(sides->server->counters().receives_lowered, 1u);
  const std::size_t most = (others.size() + 1) * (8 + 2 + 4) * 4096;
  EXPECT_TRUE(sides->wait([&] { return sides->server->counters().receive_octets <= most; }));
  others.clear();
}

}  // namespace
}  // namespace rpcrdma::test
