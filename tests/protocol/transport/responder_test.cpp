// SPDX-License-Identifier: BSD-3-Clause
// A server and a hand-made client: each test states what the client sends and what it receives.
#include "responder_fixture.hpp"
#include "rpcrdma/requester/reverse.hpp"
#include "support/pattern.hpp"

namespace rpcrdma::test {
namespace {

// [8166-4.5-a] a message shorter than a header is discarded
TEST_F(ResponderTest, ShortMessages) {
  start();
  const Bytes call = from_hex("a0000001 00000001 00000020 00000000 00000000 00000000 00000000");
  for (std::size_t size = 0; size < call.size(); ++size) EXPECT_EQ(answer(Octets(call).first(size)), "") << size;
  EXPECT_EQ(server->counters().discarded, 28u);
  expect_alive();
}

// The server's fabric reports a message as longer than the receive that holds it. The server detects this, because it
// compares the length with the size of the receive, and ends the connection.
TEST_F(ResponderTest, ALengthBeyondTheReceive) {
  start();
  server_fabric->overstate_next_message(4096);
  const auto reply = exchange(header(kXid), small_call(kXid));
  EXPECT_TRUE(reply.octets.empty());
  EXPECT_TRUE(peer.ended());
  connect();
  expect_alive();
}

// [8166-4.2.2-a] [8166-4.5.1-a] [8166-4.5-d] [8166-4.5-e] [8166-7-a]
TEST_F(ResponderTest, OtherVersions) {
  start();
  const auto reply = answer("a0000005 00000007 00000020 00000000 00000000 00000000 00000000");
  EXPECT_EQ(reply.substr(0, 16), "a000000500000007");
  EXPECT_EQ(reply.substr(24), "00000004000000010000000100000001");
  EXPECT_EQ(answer("a0000005 00000000 00000020 00000000 00000000 00000000 00000000").substr(0, 16), "a000000500000000");
  EXPECT_EQ(server->counters().errors_sent, 2u);
  expect_alive();
}

// [8166-4.5-b] [8166-4.5.2-a] [8166-4.6.1-b] [8166-4.2.4-a] [8166-4.2.1-a] The responder answers each of these invalid
// messages with ERR_CHUNK. It delivers no call, and the connection stays usable.
TEST_F(ResponderTest, BrokenHeaders) {
  start();
  const char* broken[] = {
      "a0000001 00000001 00000020 00000005 00000000 00000000 00000000",                    // unknown procedure
      "a0000001 00000001 00000020 00000002 00000000 00000000 00000000 00000000 00000000",  // RDMA_MSGP
      "a0000001 00000001 00000020 00000001 00000000 00000000 00000000",                    // RDMA_NOMSG without chunks
      "a0000001 00000001 00000020 00000000 00000001 00000000 00000000",                    // truncated Read list
      "a0000001 00000001 00000020 00000000 00000000 00000001 ffffffff",                    // truncated Write list
      "a0000001 00000001 00000020 00000000 00000002 00000000 00000000 a0000001 00000000",  // an optional-data word of 2
      "a0000001 00000001 00000020 00000000 00000000 00000000 00000000 a0000002 00000000",  // another XID
      "a0000001 00000001 00000020 00000000 00000000 00000000 00000000 a0000001",           // truncated after the XID
      "a0000001 00000001 00000020 00000000 00000000 00000000 00000000 a0000001 00000002",  // neither call nor reply
  };
  for (const char* message : broken) {
    peer.send(from_hex(message));
    run_ready(context);
    SCOPED_TRACE(message);
    expect_err_chunk(peer.take());
  }
  EXPECT_EQ(handler.calls, 0);
  expect_alive();
}

// [8166-4.6.2-b] [8166-4.2.4-d] [8166-4.5-c] obsolete messages, RDMA_ERROR messages and replies receive no answer
TEST_F(ResponderTest, NotAnswered) {
  start();
  EXPECT_EQ(answer("a0000001 00000001 00000020 00000003 00000000 00000000 00000000"), "");
  EXPECT_EQ(answer("a0000001 00000001 00000020 00000004 00000002"), "");
  EXPECT_EQ(answer("a0000001 00000001 00000020 00000004 00000001 00000001 00000001"), "");
  EXPECT_EQ(answer("a0000001 00000001 00000020 00000004 00000009 00000001 00000001"), "");
  EXPECT_EQ(answer("a0000001 00000001 00000020 00000000 00000000 00000000 00000000 a0000001 00000001"), "");
  expect_alive();
}

// [8166-4.5-c] A malformed message with the XID of a reverse call may be the reply to that call, so the server does not
// answer the message. The client could mistake an answer for the reply to a call of its own with the same XID.
TEST_F(ResponderTest, BrokenRepliesToReverseCallsAreNotAnswered) {
  start();
  std::shared_ptr<transport::ReverseRequester> reverse;
  handler.intercept = [&](transport::IncomingCall& call) {
    reverse = call.reverse();
    return false;
  };
  expect_alive();
  reverse->allow();
  ShapedCall call(pool, *reverse, {});
  reverse->submit(call);
  run_ready(context);
  const std::uint32_t xid = peer.take().header.xid;
  for (const char* behind_xid : {"00000001 00000020 00000000 00000001 00000000 00000000",
                                 "00000007 00000020 00000000 00000000 00000000 00000000"}) {
    Bytes message = words({xid});
    const Bytes rest = from_hex(behind_xid);
    message.insert(message.end(), rest.begin(), rest.end());
    EXPECT_EQ(answer(message), "");
  }
  EXPECT_EQ(exchange(header(xid), words({xid, 9})).octets, Bytes());
  EXPECT_EQ(call.times_done, 0);
  peer.send(header(xid), words({xid, 1, 1}));
  run_ready(context);
  EXPECT_EQ(call.times_done, 1);
  EXPECT_FALSE(call.status);
  reverse.reset();
}

// [8166-4.5.4-b] the server ends the connection if it cannot send a reply or an RDMA_ERROR
TEST_F(ResponderTest, RepliesThatCannotBeSent) {
  start();
  auto bad = header(kXid, wire::Procedure::nomsg);
  bad.chunks.begin_reply_chunk();
  bad.chunks.add_reply_segment({1, 2, 3});
  for (const bool error : {false, true}) {
    expect_alive();
    server_fabric->fail_nth(fabric::LoopbackOperation::post_send, 1);
    EXPECT_EQ(exchange(error ? bad : header(kXid), error ? Bytes() : small_call(kXid)).octets, Bytes());
    EXPECT_TRUE(peer.ended());
    EXPECT_EQ(server->counters().connections, 0u);
    connect();
  }
  expect_alive();
}

// [8166-4.5.4-b] a reply for which there is no memory ends the connection
TEST_F(ResponderTest, RepliesThatCannotBeBuilt) {
  start();
  handler.intercept = [&](transport::IncomingCall& call) {
    server_fabric->fail_nth(fabric::LoopbackOperation::register_memory, 1, BaseError::out_of_memory);
    PayloadBuilder& reply = call.reply();
    for (const std::uint32_t word : {call.xid(), 1u, 7u}) reply.u32(word);
    while (reply.ok() && reply.payload().length < 8000) reply.u32(0);
    EXPECT_FALSE(reply.ok());
    call.send({});
    return true;
  };
  auto call = header(kXid);
  auto memory = peer.expose(8000, fabric::Access::remote_write);
  call.chunks.begin_reply_chunk();
  call.chunks.add_reply_segment(memory.segment);
  EXPECT_EQ(exchange(call, small_call(kXid)).octets, Bytes());
  EXPECT_TRUE(peer.ended());
  handler.intercept = {};
  connect();
  expect_alive();
}

// [8166-3.3.1-g] the client posts one receive, for the reply: the server sends no other message
TEST_F(ResponderTest, SendsNothingUnsolicited) {
  peer.receives = 1;
  start();
  for (std::uint32_t xid = 1; xid < 20; ++xid) {
    EXPECT_EQ(exchange(header(xid), small_call(xid)).payload, words({xid, 1, 7}));
    run_ready(context);
    EXPECT_TRUE(peer.messages.empty());
    ASSERT_TRUE(peer.connected());
  }
}

// [8166-3.3.3-b] the server accepts messages of 1024 bytes, whatever its threshold is
TEST_F(ResponderTest, MessagesOf1024Octets) {
  Bytes call = small_call(kXid);
  call.resize(1024 - wire::kMinHeader);
  fill_pattern(MutableOctets(call).subspan(24), 7);
  for (const bool private_data : {true, false}) {
    transport::ServerOptions options;
    options.connection.private_data = private_data;
    options.connection.receive_size = 16;
    start(options);
    EXPECT_EQ(exchange(header(kXid), call).payload, words({kXid, 1, 7}));
    EXPECT_EQ(handler.complaint, "");
  }
}

// [8166-3.3.1-b] [8166-3.3.1-d] [8166-3.3.1-e] [8166-3.3.3-e] a receive is posted for each granted credit
TEST_F(ResponderTest, GrantsWhatIsAskedForWithinItsLimit) {
  transport::ServerOptions options;
  options.connection.credits = 20;
  start(options);
  for (const std::uint32_t asked : {0u, 1u, 3u, 10u, 20u, 1000u, 2u}) {
    auto call = header(kXid);
    call.credits = asked;
    const auto reply = exchange(call, small_call(kXid));
    EXPECT_EQ(reply.header.credits, std::clamp(asked, 1u, 20u));
    // Makes as many calls at once as there are credits.
    for (std::uint32_t i = 0; i < reply.header.credits; ++i) peer.send(header(i), small_call(i));
    run_ready(context);
    EXPECT_EQ(peer.messages.size(), reply.header.credits);
    peer.messages.clear();
    ASSERT_TRUE(peer.connected());
  }
}

// [8166-3.3.1-e] the receives are posted before the reply that grants them
TEST_F(ResponderTest, PostsReceivesBeforeItGrantsThem) {
  transport::ServerOptions options;
  options.connection.credits = 20;
  start(options);
  const auto posted = [&] { return server_fabric->operations(fabric::LoopbackOperation::post_receive); };
  const std::uint64_t before = posted();
  std::uint64_t at_call = 0;
  handler.intercept = [&](transport::IncomingCall&) {
    at_call = posted();
    EXPECT_EQ(server_fabric->operations(fabric::LoopbackOperation::post_send), 0u);
    return false;
  };
  EXPECT_EQ(exchange(header(kXid), small_call(kXid)).header.credits, 20u);
  EXPECT_EQ(before, 4 + options.connection.reverse_credits);
  EXPECT_EQ(at_call, 20 + options.connection.reverse_credits);
}

// [8797-4.1-c] the server does not invalidate if either side has the R flag clear
TEST_F(ResponderTest, NoRemoteInvalidationUnlessBothSidesAgree) {
  for (const bool server_clears : {false, true}) {
    transport::ServerOptions options;
    options.connection.remote_invalidation = !server_clears;
    start(options);
    if (!server_clears) {
      peer.private_data.clear();
      connect();
    }
    auto memory = peer.expose(1000, fabric::Access::remote_write);
    auto call = header(kXid);
    call.chunks.add_write_chunk(std::vector{memory.segment});
    const auto reply = exchange(call, small_call(kXid, {1000}));
    EXPECT_EQ(reply.header.chunks.write_chunk(0)[0].length, 1000u);
    EXPECT_FALSE(reply.invalidated);
    EXPECT_EQ(server->counters().invalidated, 0u);
  }
}

}  // namespace
}  // namespace rpcrdma::test
