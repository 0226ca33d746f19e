// SPDX-License-Identifier: BSD-3-Clause
// A client that serves reverse calls, and a hand-made server.
#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>

#include "exchange.hpp"
#include "hostile_client.hpp"
#include "raw_peer.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "rpcrdma/responder/reverse_service.hpp"
#include "support/run.hpp"

namespace rpcrdma::test {
namespace {

/// A client that serves reverse calls; one forward call is outstanding.
class ReverseCalls : public testing::Test {
 protected:
  void start(std::uint32_t credits = 2) {
    transport::ClientOptions options;
    options.first_backoff = options.last_backoff = std::chrono::milliseconds(1);
    options.silence = silence;
    options.connection.version = version;
    client = transport::Client::make(*client_fabric, pool, peer.listen(), options, {});
    service = transport::ReverseService::make(*client, handler, credits, {}, [this] { ++connects; });
    call = std::make_unique<ShapedCall>(pool, client->requester(), Shape());
    client->requester().submit(*call);
    ASSERT_TRUE(run_until(context, [&] { return !peer.messages.empty(); }));
    forward = peer.take();
    header.xid = call->xid;  // the outstanding forward call has the same XID
    header.credits = 99;
  }
  RawPeer::Message exchange(const wire::Header& message, Octets payload) {
    peer.send(message, payload);
    run_ready(context);
    return peer.take();
  }
  void expect_error(const RawPeer::Message& answer, wire::ErrorKind kind, std::uint32_t xid) {
    EXPECT_EQ(answer.header.procedure, wire::Procedure::error);
    EXPECT_EQ(answer.header.error, kind);
    EXPECT_EQ(answer.header.xid, xid);
  }
  void TearDown() override {
    client.reset();
    service.reset();
  }

  transport::VersionChoice version = transport::VersionChoice::one;
  std::chrono::milliseconds silence{10'000};
  boost::asio::io_context context;
  fabric::LoopbackNetwork network{context};
  std::unique_ptr<fabric::LoopbackFabric> client_fabric = network.make_fabric("client");
  std::unique_ptr<fabric::LoopbackFabric> peer_fabric = network.make_fabric("peer");
  memory::Pool pool{*client_fabric};
  RawPeer peer{*peer_fabric};
  ShapedHandler handler;
  int connects = 0;
  std::unique_ptr<transport::ReverseService> service;
  std::unique_ptr<transport::Client> client;
  std::unique_ptr<ShapedCall> call;
  RawPeer::Message forward;
  wire::Header header;  ///< header of a reverse call
};

// [8167-5.3-b] [8167-4.1-a] [8167-4.1-c]
TEST_F(ReverseCalls, WithChunksAreAnsweredByErrChunk) {
  start();
  const Bytes payload = words({call->xid, 0, 1, 0, 0, 0});
  const auto good = exchange(header, payload);
  EXPECT_EQ(good.payload, words({call->xid, 1, 1}));
  EXPECT_EQ(good.header.credits, 2u);
  EXPECT_EQ(client->requester().counters().granted, 1u);  // 99 was a request, not a grant

  std::vector<wire::Header> chunked(4, header);
  chunked[0].chunks.reads.push_back({20, {1, 100, 0}});
  chunked[1].chunks.add_write_chunk(std::vector<Segment>{{1, 100, 0}});
  chunked[2].chunks.begin_reply_chunk();
  chunked[3].procedure = wire::Procedure::nomsg;
  chunked[3].chunks.reads.push_back({0, {1, 100, 0}});
  for (const wire::Header& bad : chunked)
    expect_error(exchange(bad, bad.procedure == wire::Procedure::nomsg ? Bytes() : payload), wire::ErrorKind::chunk,
                 call->xid);
  EXPECT_EQ(call->times_done, 0);
  exchange(forward.header, words({call->xid, 1, 1}));
  EXPECT_EQ(call->times_done, 1);
  EXPECT_FALSE(call->status);
}

// [8166-4.2.4-d] [v2-4.2.2-a] In version two, the header states whether a message is a call or a reply, even if the
// payload is in a chunk. The client answers a faulty long call with an error. It does not answer a faulty long reply.
TEST_F(ReverseCalls, LongMessagesOfVersionTwo) {
  version = transport::VersionChoice::two;
  start();
  for (const std::uint32_t direction : {1u, 0u}) {
    peer.messages.clear();
    peer.send(
        // An RDMA_NOMSG whose only chunk is a Write chunk. No chunk can hold its message: a long call needs a
        // Position-Zero Read chunk, and a long reply needs a Reply chunk.
        words({8, 2, 8, 1, direction, 0, 1, 1, 20, 100, 0, 0, 0, 0}));
    run_ready(context);
    ASSERT_EQ(peer.messages.size(), 1u);
    // The client answers the call with RDMA2_ERR_BAD_HEADER. It does not answer the reply. As the reply is the first
    // one from the server, the client then sends INIT_XCHAR.
    EXPECT_EQ(text_of(peer.messages[0]).substr(0, 8), direction == 1 ? "option 1" : "error 2 ");
  }
}

// [8166-4.5-b] [8166-4.5.1-a] [8166-4.5.2-a] The client answers a reverse call that it cannot decode with the same
// RDMA_ERROR as a server does for a forward call. [8166-4.5-c] If the message has the XID of the client's outstanding
// call, it may be the reply to that call, and the client does not answer it.
TEST_F(ReverseCalls, ThatCannotBeDecodedAreAnsweredByRdmaError) {
  start();
  const struct {
    const char* behind_xid;
    wire::ErrorKind answer;
  } broken[] = {
      {"00000007 00000020 00000000 00000000 00000000 00000000", wire::ErrorKind::vers},
      {"00000001 00000020 00000005 00000000 00000000 00000000", wire::ErrorKind::chunk},  // unknown procedure
      {"00000001 00000020 00000001 00000000 00000000 00000000", wire::ErrorKind::chunk},  // RDMA_NOMSG without chunks
      {"00000001 00000020 00000000 00000001 00000000 00000000", wire::ErrorKind::chunk},  // truncated Read list
      {"00000001 00000020 00000000 00000000 00000000 00000000 00000099 00000000",
       wire::ErrorKind::chunk},  // different XIDs
  };
  for (const auto& [behind_xid, answer] : broken) {
    SCOPED_TRACE(behind_xid);
    for (const bool expected : {false, true}) {
      const std::uint32_t xid = expected ? call->xid : call->xid + 1;
      Bytes message = words({xid});
      const Bytes rest = from_hex(behind_xid);
      message.insert(message.end(), rest.begin(), rest.end());
      peer.send(message);
      run_ready(context);
      if (expected)
        EXPECT_TRUE(peer.messages.empty());
      else
        expect_error(peer.take(), answer, xid);
    }
  }
  const std::uint32_t xid = call->xid + 1;
  header.xid = xid;
  expect_error(exchange(header, words({xid, 2})), wire::ErrorKind::chunk, xid);  // neither call nor reply
  EXPECT_EQ(exchange(header, words({xid, 1, 1})).octets, Bytes());               // a reply that matches no call
  EXPECT_EQ(call->times_done, 0);
  exchange(forward.header, words({call->xid, 1, 1}));
  EXPECT_FALSE(call->status);
}

// [8167-4.3.1-a] the client grants only as many reverse credits as it has receives beyond those for the forward
// direction
TEST_F(ReverseCalls, AreGrantedNoMoreCreditsThanTheConnectionHasReceivesFor) {
  start(50);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(exchange(header, words({call->xid, 0, 1, 0, 0, 0})).header.credits,
              transport::ConnectionOptions().reverse_credits);
}

// [8167-5.4-a] the client reconnects although it has no call to make
TEST_F(ReverseCalls, KeepTheClientConnected) {
  start();
  exchange(forward.header, words({call->xid, 1, 1}));
  EXPECT_EQ(call->times_done, 1);
  for (int round = 2; round <= 4; ++round) {
    peer.abort();
    ASSERT_TRUE(run_until(context, [&] { return peer.connections() == round && peer.connected(); }));
    EXPECT_EQ(connects, round);
    EXPECT_EQ(exchange(header, words({call->xid, 0, 1, 0, 0, 0})).payload, words({call->xid, 1, 1}));
  }
  bool closed = false;
  client->close([&] { closed = true; });
  ASSERT_TRUE(run_until(context, [&] { return closed; }));
  run_ready(context);
  EXPECT_EQ(peer.connections(), 4);
}

// The server sends more reverse calls than the client has granted credits for. The connection ends when a call arrives
// and the client has no receive left.
TEST_F(ReverseCalls, BeyondTheGrantEndTheConnection) {
  start();
  std::vector<transport::IncomingCall*> held;
  handler.intercept = [&held](transport::IncomingCall& taken) {
    held.push_back(&taken);
    return true;
  };
  for (std::uint32_t i = 0; i < 200 && peer.connected(); ++i) {
    header.xid = call->xid + 1 + i;
    peer.send(header, words({header.xid, 0, 1, 0, 0, 0}));
  }
  ASSERT_TRUE(run_until(context, [&] { return peer.connections() == 2 && peer.connected(); }));
  EXPECT_LE(held.size(), transport::ConnectionOptions().credits + transport::ConnectionOptions().reverse_credits);
  EXPECT_GE(held.size(), transport::ConnectionOptions().reverse_credits);
  for (auto* each : held) each->discard();
  handler.intercept = {};
  ASSERT_TRUE(run_until(context, [&] { return !peer.messages.empty(); }));
  EXPECT_EQ(peer.take().header.xid, call->xid);  // the forward call is retransmitted
  EXPECT_EQ(exchange(header, words({header.xid, 0, 1, 0, 0, 0})).header.xid, header.xid);
  EXPECT_EQ(call->times_done, 0);
  client.reset();
}

// Reverse calls show that the server is alive, so a forward call that times out does not end the connection.
TEST_F(ReverseCalls, AreASignOfLife) {
  silence = std::chrono::seconds(2);
  start();
  // The reply completes `call` and grants several credits, so that the calls `waiting` and `late` can both be sent.
  exchange(forward.header, words({call->xid, 1, 1}));
  ASSERT_FALSE(call->status);
  const auto waiting = std::make_unique<ShapedCall>(pool, client->requester(), Shape());
  client->requester().submit(*waiting);
  boost::asio::steady_timer timer(context, silence);
  bool silent = false;
  timer.async_wait([&silent](error_code) { silent = true; });
  ASSERT_TRUE(run_until(context, [&] { return silent; }));
  peer.take();
  header.xid = waiting->xid + 100;
  EXPECT_EQ(exchange(header, words({header.xid, 0, 1, 0, 0, 0})).payload, words({header.xid, 1, 1}));
  const auto late = std::make_unique<ShapedCall>(pool, client->requester(), Shape());
  late->deadline = std::chrono::steady_clock::now();
  client->requester().submit(*late);
  ASSERT_TRUE(run_until(context, [&] { return late->times_done != 0; }));
  EXPECT_EQ(late->status, BaseError::deadline_exceeded);
  run_ready(context);
  EXPECT_TRUE(client->connected());
  EXPECT_EQ(connects, 1);
  EXPECT_EQ(waiting->times_done, 0);
  client.reset();
}

}  // namespace
}  // namespace rpcrdma::test
