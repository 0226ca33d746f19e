// SPDX-License-Identifier: BSD-3-Clause
// Peers hold shared resources of a server and make no progress; the server still serves other clients. The peers have
// an io_context of their own: while it does not run, they neither receive nor answer.
#include <gtest/gtest.h>

#include "exchange.hpp"
#include "raw_peer.hpp"
#include "rpcrdma/fabric/iwarp/iwarp.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/responder/server.hpp"
#include "support/run.hpp"

namespace rpcrdma::test {
namespace {

std::unique_ptr<fabric::Fabric> open(boost::asio::io_context& context) {
  return std::move(*fabric::open_iwarp(context, {}, {}));
}

constexpr std::uint32_t kLong = 1u << 20;
constexpr std::uint32_t kCredits = 32;

class HostilePeers : public testing::Test {
 protected:
  void start(const transport::ServerOptions& options) {
    server = transport::Server::make({{server_fabric.get(), &server_pool, &handler}}, options, {});
    server->listen({boost::asio::ip::make_address("127.0.0.1"), 0},
                   [this](Result<fabric::Endpoint> bound) { endpoint = bound.value(); });
    ASSERT_TRUE(run_until(context, [&] { return endpoint.port() != 0; }));
    client = transport::Client::make(*client_fabric, client_pool, endpoint, {}, {});
  }
  /// Runs both sides until `done` returns true, for at most five minutes; returns the last result of `done`.
  bool until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (!done() && std::chrono::steady_clock::now() < end) {
      run_ready(peers_context);
      context.restart();
      context.run_one_for(std::chrono::milliseconds(1));
    }
    return done();
  }
  /// Connects a peer and completes one of its calls, so that it has credits.
  RawPeer& connect() {
    RawPeer& peer = *peers.emplace_back(std::make_unique<RawPeer>(*peer_fabric));
    peer.connect(endpoint);
    EXPECT_TRUE(until([&] { return peer.connected(); }));
    wire::Header header;
    header.credits = kCredits;
    peer.send(header, words({0, 0, 7, 0, 0, 0}));
    EXPECT_TRUE(until([&] { return !peer.messages.empty(); }));
    EXPECT_EQ(peer.take().header.credits, kCredits);
    return peer;
  }
  /// Sends `count` long calls. The server pulls them by RDMA Reads. The peer answers these Reads only while
  /// peers_context runs.
  void send_long_calls(RawPeer& peer, std::uint32_t count, std::uint32_t size) {
    for (std::uint32_t i = 0; i < count; ++i) {
      exposed.push_back(peer.expose(size, fabric::Access::remote_read));
      wire::Header header;
      header.xid = i;
      header.credits = kCredits;
      header.procedure = wire::Procedure::nomsg;
      header.chunks.reads.push_back({0, exposed.back().segment});
      peer.send(header, {});
    }
  }
  /// Connects `count` peers; then each sends `calls` long calls.
  void connect_crowd(int count, std::uint32_t calls) {
    for (int i = 0; i < count; ++i) connect();
    for (const auto& peer : peers) send_long_calls(*peer, calls, kLong);
  }
  bool serves(const Shape& shape) {
    ShapedCall call(client_pool, client->requester(), shape);
    client->requester().submit(call);
    const bool over = run_until(context, [&] { return call.times_done == 1; });
    EXPECT_FALSE(call.status) << call.status.message();
    EXPECT_EQ(call.complaint, "");
    if (!over) client.reset();  // ends `call`, which must not be destroyed before it has ended
    return over && !call.status;
  }

  boost::asio::io_context peers_context, context;
  std::unique_ptr<fabric::Fabric> peer_fabric = open(peers_context);
  std::unique_ptr<fabric::Fabric> client_fabric = open(context), server_fabric = open(context);
  memory::Pool client_pool{*client_fabric}, server_pool{*server_fabric};
  ShapedHandler handler;
  fabric::Endpoint endpoint;
  std::unique_ptr<transport::Server> server;
  std::deque<std::unique_ptr<RawPeer>> peers;
  std::deque<RawPeer::Exposed> exposed;
  std::unique_ptr<transport::Client> client;
};

// The server aborts a connection whose RDMA Reads are never answered.
TEST_F(HostilePeers, LeavingReadsUnanswered) {
  transport::ServerOptions options;
  options.bulk_budget = 8u << 20;
  options.progress_timeout = std::chrono::milliseconds(50);
  start(options);
  connect_crowd(2, 4);
  Shape shape;
  shape.call_body = 100000;
  ASSERT_TRUE(serves(shape));  // served, although the peers hold most of the memory for long calls
  EXPECT_TRUE(run_until(context, [&] { return server->counters().connections == 1; }));
  EXPECT_EQ(server->counters().bulk_in_use, 0u);
}

// A peer that leaves RDMA Reads unanswered cannot hold all memory for long calls, although its connection is not
// aborted in this test. A part of the memory remains for other connections, even for connections from the same address.
TEST_F(HostilePeers, LeavingReadsUnansweredForLong) {
  transport::ServerOptions options;
  options.bulk_budget = 16u << 20;  // the separate budget for long calls is a quarter of this number: 4 MiB
  options.progress_timeout = std::chrono::hours(1);
  start(options);
  RawPeer& peer = connect();
  send_long_calls(peer, 15, kLong);
  ASSERT_TRUE(run_until(context, [&] { return server->counters().calls == 16; }));
  EXPECT_EQ(server->counters().bulk_in_use, 2 * kLong);
  Shape shape;
  shape.call_body = 900000;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(serves(shape));
  EXPECT_EQ(server->counters().connections, 2u);
}

// Four peers that leave RDMA Reads unanswered do not delay a fifth connection.
TEST_F(HostilePeers, FourThatLeaveReadsUnanswered) {
  transport::ServerOptions options;
  options.bulk_budget = 64u << 20;
  options.progress_timeout = options.pressed_timeout = std::chrono::hours(1);
  start(options);
  connect_crowd(4, 15);
  ASSERT_TRUE(run_until(context, [&] { return server->counters().calls == 64; }));
  Shape shape;
  shape.call_body = kLong - 4096;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(serves(shape));
  EXPECT_EQ(server->counters().connections, 5u);
}

// If a peer leaves RDMA Reads unanswered while another connection waits for the memory that they hold, the server
// aborts the connection of the peer after pressed_timeout, and not only after progress_timeout.
TEST_F(HostilePeers, LeavingReadsUnansweredWhileOthersWait) {
  transport::ServerOptions options;
  options.bulk_budget = 16u << 20;  // the separate budget for long calls is a quarter of this number: 4 MiB
  options.progress_timeout = std::chrono::hours(1);
  options.pressed_timeout = std::chrono::milliseconds(50);
  start(options);
  connect_crowd(6, 1);
  Shape shape;
  shape.call_body = 900000;
  EXPECT_TRUE(serves(shape));
  EXPECT_LT(server->counters().connections, 7u);
}

// A connection whose peer does not accept replies is aborted, and the memory of the replies is freed.
TEST_F(HostilePeers, NotTakingWrites) {
  transport::ServerOptions options;
  options.bulk_budget = 16u << 20;
  options.progress_timeout = std::chrono::milliseconds(50);
  start(options);
  RawPeer& peer = connect();
  for (std::uint32_t i = 0; i < kCredits; ++i) {
    exposed.push_back(peer.expose(kLong, fabric::Access::remote_write));
    wire::Header header;
    header.xid = i;
    header.credits = kCredits;
    header.chunks.add_write_chunk(std::vector{exposed.back().segment});
    peer.send(header, words({i, 0, 7, 0, 0, 1, kLong}));
  }
  std::size_t most = 0;
  ASSERT_TRUE(run_until(context, [&] {
    most = std::max(most, server->counters().bulk_in_use);
    return server->counters().connections == 0;
  }));
  EXPECT_GE(most, kLong);
  EXPECT_LT(handler.sent, handler.calls);
  EXPECT_EQ(server->counters().bulk_in_use, 0u);
  Shape shape;
  shape.results = {kLong};
  EXPECT_TRUE(serves(shape));
}

// Neither a slow handler nor an idle peer makes the server abort a connection.
TEST_F(HostilePeers, OthersAreLeftAlone) {
  transport::ServerOptions options;
  options.progress_timeout = std::chrono::milliseconds(10);
  start(options);
  transport::IncomingCall* held = nullptr;
  handler.intercept = [&](transport::IncomingCall& call) {
    held = &call;
    return true;
  };
  ShapedCall call(client_pool, client->requester(), {});
  client->requester().submit(call);
  ASSERT_TRUE(run_until(context, [&] { return held != nullptr; }));
  handler.intercept = {};
  connect();  // an idle peer
  send_long_calls(connect(), 1, kLong);
  ASSERT_TRUE(run_until(context, [&] { return server->counters().calls == 4; }));
  // The server aborts the stalled connection, which releases its bytes of the budget.
  ASSERT_TRUE(run_until(context, [&] { return server->counters().bulk_in_use == 0; }));
  EXPECT_EQ(server->counters().connections, 2u);
  PayloadBuilder& reply = held->reply();
  for (const std::uint32_t word : {held->xid(), 1u, 1u}) reply.u32(word);
  held->send({});
  ASSERT_TRUE(run_until(context, [&] { return call.times_done == 1; }));
  EXPECT_FALSE(call.status) << call.status.message();
  EXPECT_EQ(client->requester().counters().reconnects, 0u);
}

}  // namespace
}  // namespace rpcrdma::test
