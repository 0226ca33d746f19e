// SPDX-License-Identifier: BSD-3-Clause
// A server's limits, its bulk budget, its shutdown, and some of its counters.
#include <gtest/gtest.h>

#include "both_sides.hpp"
#include "raw_peer.hpp"
#include "rpcrdma/requester/reverse.hpp"
#include "support/log_lines.hpp"

namespace rpcrdma::test {
namespace {

std::unique_ptr<transport::Client> another_client(BothSides& sides) {
  transport::ClientOptions options;
  options.first_backoff = options.last_backoff = std::chrono::milliseconds(1);
  return transport::Client::make(*sides.client_fabric, sides.client_pool, sides.endpoint, options, {});
}

TEST(Server, LimitsConnections) {
  for (const bool per_peer : {false, true}) {
    SidesOptions options;
    (per_peer ? options.server.max_connections_per_peer : options.server.max_connections) = 2;
    const auto log = std::make_shared<LogLines>();
    options.server_log = Log(log);
    BothSides sides(options);
    const auto first = sides.make({});
    ASSERT_TRUE(sides.run(*first));
    auto second = another_client(sides), third = another_client(sides);
    ShapedCall two(sides.client_pool, second->requester(), {}), three(sides.client_pool, third->requester(), {});
    second->requester().submit(two);
    ASSERT_TRUE(sides.wait([&] { return two.times_done == 1; }));
    third->requester().submit(three);
    ASSERT_TRUE(sides.wait([&] { return sides.server->counters().refused >= 2; }));
    EXPECT_EQ(three.times_done, 0);
    EXPECT_EQ(sides.server->counters().connections, 2u);
    EXPECT_FALSE(log->with("connection rejected: a limit of connections is reached").empty()) << log->all();
    EXPECT_TRUE(log->with("shutting down").empty()) << log->all();
    second.reset();
    ASSERT_TRUE(sides.wait([&] { return three.times_done == 1; }));
    EXPECT_FALSE(three.status);
  }
}

// A server at its limit of connections is closed while it searches for an idle connection to evict for a new one. The
// number of steps after which the server is in this state is not known, so the test tries one number after another.
TEST(Server, LogsThatAConnectionIsRejectedForItsShutdown) {
  bool rejected = false;
  for (int steps = 0; steps < 100 && !rejected; ++steps) {
    SidesOptions options;
    options.server.max_connections = 1;
    const auto log = std::make_shared<LogLines>();
    options.server_log = Log(log);
    BothSides sides(options);
    const auto first = sides.make({});
    ASSERT_TRUE(sides.run(*first));
    auto other = another_client(sides);
    ShapedCall call(sides.client_pool, other->requester(), {});
    other->requester().submit(call);
    for (int i = 0; i < steps; ++i) sides.context.poll_one();
    bool closed = false;
    sides.server->close(std::chrono::steady_clock::now(), [&] { closed = true; });
    ASSERT_TRUE(sides.wait([&] { return closed; }));
    rejected = !log->with("connection rejected: the server is shutting down").empty();
    other.reset();
  }
  EXPECT_TRUE(rejected);
}

// At a limit of connections, an idle connection is evicted for a new one. A connection with a call in progress is not
// evicted, however long the call takes.
TEST(Server, IdleConnectionsGiveWay) {
  for (const bool per_peer : {false, true}) {
    SCOPED_TRACE(per_peer);
    SidesOptions options;
    (per_peer ? options.server.max_connections_per_peer : options.server.max_connections) = 3;
    options.server.idle_grace = std::chrono::milliseconds(20);
    BothSides sides(options);
    transport::IncomingCall* held = nullptr;
    sides.handler.intercept = [&](transport::IncomingCall& call) {
      held = &call;
      return true;
    };
    const auto busy = sides.make({});
    sides.client->requester().submit(*busy);
    ASSERT_TRUE(sides.wait([&] { return held != nullptr; }));
    sides.handler.intercept = {};
    RawPeer silent[2] = {RawPeer(*sides.client_fabric), RawPeer(*sides.client_fabric)};
    for (RawPeer& peer : silent) peer.connect(sides.endpoint);
    ASSERT_TRUE(sides.wait([&] { return silent[0].connected() && silent[1].connected(); }));
    for (int i = 0; i < 4; ++i) {
      auto client = another_client(sides);
      ShapedCall call(sides.client_pool, client->requester(), {});
      client->requester().submit(call);
      ASSERT_TRUE(sides.wait([&] { return call.times_done == 1; }));
      EXPECT_FALSE(call.status);
    }
    EXPECT_TRUE(silent[0].ended());  // it has been idle for the longest time
    EXPECT_LE(sides.server->counters().connections, 3u);
    PayloadBuilder& reply = held->reply();
    for (const std::uint32_t word : {held->xid(), 1u, 1u}) reply.u32(word);
    held->send({});
    ASSERT_TRUE(sides.wait([&] { return busy->times_done == 1; }));
    EXPECT_FALSE(busy->status) << busy->status.message();
    EXPECT_EQ(busy->times_encoded, 1);
  }
}

// [8167-5.4-a] a connection that may carry reverse calls is not evicted, however long it is silent
TEST(Server, ConnectionsForReverseCallsDoNotGiveWay) {
  SidesOptions options;
  options.server.max_connections = 1;
  options.server.idle_grace = std::chrono::milliseconds(1);
  BothSides sides(options);
  std::shared_ptr<transport::ReverseRequester> reverse;
  sides.handler.intercept = [&](transport::IncomingCall& call) {
    reverse = call.reverse();
    return false;
  };
  const auto call = sides.make({});
  ASSERT_TRUE(sides.run(*call));
  reverse->allow();
  auto other = another_client(sides);
  ShapedCall refused(sides.client_pool, other->requester(), {});
  other->requester().submit(refused);
  ASSERT_TRUE(sides.wait([&] { return sides.server->counters().refused >= 5; }));
  EXPECT_TRUE(sides.client->connected());
  EXPECT_EQ(refused.times_done, 0);
  // Without a reference to the reverse requester, no reverse call is possible. The server may now evict the connection.
  reverse.reset();
  ASSERT_TRUE(sides.wait([&] { return refused.times_done != 0; }));
  EXPECT_FALSE(refused.status) << refused.status.message();
  other.reset();
}

// [8166-3.3.1-d] While calls wait for bytes of the bulk budget, the server grants fewer credits than the client
// requests. Nevertheless, the server serves every call.
TEST(Server, BulkBudget) {
  SidesOptions options;
  options.server.bulk_budget = 100000;
  options.server.connection.credits = 16;
  options.client.connection.credits = 16;
  BothSides sides(options);
  std::size_t most = 0;
  std::uint32_t least_grant = 16;
  std::vector<std::unique_ptr<ShapedCall>> calls;
  for (std::uint32_t i = 0; i < 40; ++i) {
    Shape shape;
    shape.seed = i;
    if (i % 2 == 0)
      shape.items = {30000};
    else
      shape.results = {40000};
    calls.push_back(sides.make(shape));
    calls.back()->on_done = [&] {
      most = std::max(most, sides.server->counters().bulk_in_use);
      least_grant = std::min(least_grant, sides.client->requester().counters().granted);
    };
    sides.client->requester().submit(*calls.back());
  }
  for (const auto& call : calls) {
    ASSERT_TRUE(sides.wait([&] { return call->times_done == 1; }));
    EXPECT_FALSE(call->status);
    EXPECT_EQ(call->complaint, "");
  }
  EXPECT_GT(most, 0u);
  EXPECT_LE(most, 100000u);
  EXPECT_LT(least_grant, 16u);
  EXPECT_GE(least_grant, 1u);
  ASSERT_TRUE(sides.wait([&] { return sides.server->counters().bulk_in_use == 0; }));
}

// Many clients connect, and each of them requests 1024 credits. The server reduces its credit grants, so that its
// receives use only a part of the pool. Enough memory remains for the bulk data and the long call of the last client.
TEST(Server, ReceivesTakeTheirPartOfThePool) {
  SidesOptions options;
  options.server.connection.credits = 1024;
  options.server.bulk_budget = 2u << 20;
  BothSides sides(options);
  memory::Pool pool(*sides.server_fabric, {.max_octets = 32u << 20});
  sides.server = transport::Server::make({{sides.server_fabric.get(), &pool, &sides.handler}}, options.server, {});
  ASSERT_TRUE(sides.listen({}));
  options.client.connection.credits = 1024;
  std::deque<std::unique_ptr<transport::Client>> clients;
  const auto connect = [&] {
    clients.push_back(
        transport::Client::make(*sides.client_fabric, sides.client_pool, sides.endpoint, options.client, {}));
  };
  const auto run = [&](const Shape& shape) {
    ShapedCall call(sides.client_pool, clients.back()->requester(), shape);
    clients.back()->requester().submit(call);
    EXPECT_TRUE(sides.wait([&] { return call.times_done == 1; }));
    EXPECT_FALSE(call.status) << call.status.message();
    EXPECT_EQ(call.complaint, "");
  };
  std::uint32_t granted = 1024;
  for (int i = 0; i < 40 && !testing::Test::HasFailure(); ++i) {
    connect();
    run({});
    // Makes a second call, because the checks below must also hold if the reply to it changes the grant.
    run({});
    const std::uint32_t now = clients.back()->requester().counters().granted;
    EXPECT_LE(now, granted);
    EXPECT_GE(now, 4u);
    granted = now;
  }
  EXPECT_LT(granted, 1024u);
  EXPECT_LE(sides.server->counters().receive_octets, 6u << 20);
  connect();
  Shape shape;
  shape.items = {1000000};
  shape.results = {1000000};
  run(shape);
  shape = {};
  shape.call_body = 900000;
  run(shape);
  clients.clear();
  sides.client.reset();
  sides.server.reset();
  EXPECT_EQ(pool.counters().lent, 0u);
}

// The memory of a burst of calls, and of connections that have ended, is returned to the system.
TEST(Server, GivesIdleMemoryBack) {
  SidesOptions options;
  options.server.idle_grace = std::chrono::milliseconds(20);
  BothSides sides(options);
  Shape shape;
  shape.items = {1000000};
  shape.results = {1000000};
  std::deque<std::unique_ptr<ShapedCall>> calls;
  for (int i = 0; i < 8; ++i) {
    calls.push_back(sides.make(shape));
    sides.client->requester().submit(*calls.back());
  }
  const auto registered = [&] { return sides.server_pool.counters().registered_octets; };
  std::size_t most = 0;  // on a slow machine the memory may be given back before the last call is over
  ASSERT_TRUE(sides.wait([&] {
    most = std::max(most, registered());
    return std::ranges::all_of(calls, [](auto& call) { return call->times_done == 1; });
  }));
  EXPECT_GE(most, 4u << 20);
  ASSERT_TRUE(sides.wait([&] { return registered() <= most / 4; }));
  EXPECT_TRUE(sides.client->connected());
  const auto again = sides.make(shape);
  ASSERT_TRUE(sides.run(*again));
  EXPECT_FALSE(again->status);
  sides.client.reset();
  EXPECT_TRUE(sides.wait([&] { return registered() == 0; }));
}

TEST(Server, MoreThanTheWholeBudgetIsRefused) {
  SidesOptions options;
  options.server.bulk_budget = 1000;
  BothSides sides(options);
  error_code refused;
  sides.handler.intercept = [&](transport::IncomingCall& call) {
    call.reserve_bulk(1001, [&](error_code status) {
      refused = status;
      call.fail();
    });
    return true;
  };
  const auto call = sides.make({});
  ASSERT_TRUE(sides.run(*call));
  EXPECT_EQ(refused, BaseError::out_of_memory);
  EXPECT_EQ(call->status, transport::TransportError::peer_err_chunk);
}

// When a server closes, calls in progress complete first; then their connections end.
TEST(Server, ClosesWhenTheLastCallIsOver) {
  BothSides sides;
  std::vector<transport::IncomingCall*> held;
  sides.handler.intercept = [&](transport::IncomingCall& call) {
    held.push_back(&call);
    return true;
  };
  const auto call = sides.make({});
  sides.client->requester().submit(*call);
  ASSERT_TRUE(sides.wait([&] { return held.size() == 1; }));
  bool closed = false;
  sides.server->close(std::chrono::steady_clock::now() + std::chrono::hours(1), [&] { closed = true; });
  run_ready(sides.context);
  EXPECT_FALSE(closed);
  PayloadBuilder& reply = held.front()->reply();
  for (const std::uint32_t word : {held.front()->xid(), 1u, 1u}) reply.u32(word);
  held.front()->send({});
  ASSERT_TRUE(sides.wait([&] { return closed; }));
  EXPECT_EQ(call->times_done, 1);
  EXPECT_FALSE(call->status);
  EXPECT_EQ(sides.server->counters().connections, 0u);
}

// After a server has closed, the io_context has no work.
TEST(Server, LeavesNothingToRunWhenItHasClosed) {
  BothSides sides;
  const auto call = sides.make({});
  ASSERT_TRUE(sides.run(*call));
  bool closed = false;
  sides.server->close(std::chrono::steady_clock::now() + std::chrono::hours(1), [&] { closed = true; });
  ASSERT_TRUE(sides.wait([&] { return closed; }));
  sides.client.reset();
  run_ready(sides.context);
  EXPECT_TRUE(sides.context.stopped());
}

TEST(Server, ClosesAtTheDeadlineAndWaitsForItsHandlers) {
  BothSides sides;
  transport::IncomingCall* held = nullptr;
  sides.handler.intercept = [&](transport::IncomingCall& call) {
    held = &call;
    return true;
  };
  const auto call = sides.make({});
  sides.client->requester().submit(*call);
  ASSERT_TRUE(sides.wait([&] { return held != nullptr; }));
  bool closed = false;
  sides.server->close(std::chrono::steady_clock::now() + std::chrono::milliseconds(10), [&] { closed = true; });
  ASSERT_TRUE(sides.wait([&] { return sides.server->counters().connections == 0; }));
  run_ready(sides.context);
  EXPECT_FALSE(closed);  // a handler still holds a call
  error_code pulled, reserved, sent;
  bool told = false;
  held->reserve_bulk(10, [&](error_code status) { reserved = status; });
  held->pull(0, {}, [&](error_code status) { pulled = status; });
  ASSERT_TRUE(sides.wait([&] { return reserved && pulled; }));
  held->reply().u32(held->xid());
  held->send([&](error_code status) {
    sent = status;
    told = true;
  });
  EXPECT_FALSE(told);
  ASSERT_TRUE(sides.wait([&] { return closed && told; }));
  EXPECT_EQ(sent, transport::TransportError::connection_lost);
  // `call` may not have ended yet. Destroying the client ends it, which must happen before `call` is destroyed.
  sides.client.reset();
}

TEST(Server, DestroyedWithCallsInProgress) {
  BothSides sides;
  int calls = 0;
  sides.handler.intercept = [&](transport::IncomingCall&) { return ++calls > 0; };
  Shape shape;
  shape.items = {50000};
  std::vector<std::unique_ptr<ShapedCall>> made;
  for (int i = 0; i < 3; ++i) {
    made.push_back(sides.make(shape));
    sides.client->requester().submit(*made.back());
  }
  ASSERT_TRUE(sides.wait([&] { return calls != 0; }));
  sides.server.reset();
  EXPECT_EQ(sides.server_pool.counters().lent, 0u);
  run_ready(sides.context);
  sides.client.reset();  // ends the calls before they are destroyed
}

// A server is restarted: the new server serves the calls that the old server left unanswered.
TEST(Server, Restarts) {
  BothSides sides;
  const auto first = sides.make({});
  ASSERT_TRUE(sides.run(*first));
  sides.handler.intercept = [](transport::IncomingCall&) { return true; };  // takes the call and never replies
  Shape shape;
  shape.items = {50000};
  const auto call = sides.make(shape);
  sides.client->requester().submit(*call);
  ASSERT_TRUE(sides.wait([&] { return sides.handler.calls == 2; }));
  sides.server.reset();
  sides.handler.intercept = {};
  run_ready(sides.context);
  sides.server = transport::Server::make({{sides.server_fabric.get(), &sides.server_pool, &sides.handler}}, {}, {});
  ASSERT_TRUE(sides.listen(sides.endpoint));
  ASSERT_TRUE(sides.wait([&] { return call->times_done == 1; }));
  EXPECT_FALSE(call->status);
  EXPECT_EQ(call->complaint, "");
  EXPECT_GE(call->times_encoded, 2);
}

TEST(Server, ListenersCountWhatHappensToEachRequest) {
  SidesOptions options;
  options.server.max_connections = 2;
  BothSides sides(options);
  const fabric::Endpoint first = sides.endpoint;
  ASSERT_TRUE(sides.listen({}));
  const fabric::Endpoint second = sides.endpoint;
  ASSERT_NE(first, second);
  RawPeer one(*sides.client_fabric), two(*sides.client_fabric), three(*sides.client_fabric);
  one.connect(first);
  two.connect(second);
  ASSERT_TRUE(sides.wait([&] { return one.connected() && two.connected(); }));
  three.connect(second);
  ASSERT_TRUE(sides.wait([&] { return three.ended(); }));
  auto counted = sides.server->listeners();
  ASSERT_EQ(counted.size(), 2u);
  EXPECT_EQ(counted[0].endpoint, first);
  EXPECT_EQ(counted[1].endpoint, second);
  for (const auto& listener : counted) {
    EXPECT_EQ(listener.accepted, 1u);
    EXPECT_EQ(listener.connections, 1u);
    EXPECT_EQ(listener.failed, 0u);
  }
  EXPECT_EQ(counted[0].refused, 0u);
  EXPECT_EQ(counted[1].refused, 1u);
  EXPECT_EQ(sides.server->counters().accepted, 2u);
  EXPECT_EQ(sides.server->counters().refused, 1u);
  two.abort();
  ASSERT_TRUE(sides.wait([&] { return sides.server->counters().connections == 1; }));
  sides.server_fabric->fail_nth(fabric::LoopbackOperation::accept, 1);
  three.connect(second);
  ASSERT_TRUE(sides.wait([&] { return sides.server->listeners()[1].failed == 1; }));
  counted = sides.server->listeners();
  EXPECT_EQ(counted[1].connections, 0u);
  EXPECT_EQ(counted[1].accepted, 1u);
  EXPECT_EQ(counted[0].connections, 1u);
}

// If a call has more Read segments than the ORD of the connection, some RDMA Reads must wait. The report of the server
// counts them, and the count remains when the connection ends.
TEST(Server, ReadsBeyondTheDepthAreCounted) {
  SidesOptions options;
  options.server.connection.outbound_reads = 2;
  BothSides sides(options);
  Shape shape;
  shape.items = {12000};
  shape.pieces = 6;
  shape.apart = true;
  const auto call = sides.make(shape);
  ASSERT_TRUE(sides.run(*call));
  EXPECT_FALSE(call->status) << call->status.message();
  const transport::Traffic busy = sides.server->report(0, 1).traffic;
  EXPECT_EQ(busy.reads, 6u);
  EXPECT_EQ(busy.read_depth_waits, 4u);
  sides.client.reset();
  ASSERT_TRUE(sides.wait([&] { return sides.server->counters().connections == 0; }));
  EXPECT_EQ(sides.server->report(0, 1).traffic.read_depth_waits, 4u);  // also when the connection has ended
}

TEST(Server, ReadsWithinTheDepthAreNotCounted) {
  BothSides sides;
  Shape shape;
  shape.items = {12000};
  shape.pieces = 6;
  shape.apart = true;
  const auto call = sides.make(shape);
  ASSERT_TRUE(sides.run(*call));
  EXPECT_EQ(sides.server->report(0, 1).traffic.reads, 6u);
  EXPECT_EQ(sides.server->report(0, 1).traffic.read_depth_waits, 0u);
}

}  // namespace
}  // namespace rpcrdma::test
