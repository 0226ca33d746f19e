// SPDX-License-Identifier: BSD-3-Clause
// A client and a hand-made server: what the client sends, and how it treats replies.
#include <algorithm>

#include "requester_fixture.hpp"

namespace rpcrdma::test {
namespace {

// [8166-4.2.2-a] [8166-4.2.3-a] [8166-4.2.1-a] [8797-4-c]
TEST_F(RequesterTest, TheCallOnTheWire) {
  transport::ClientOptions options;
  options.connection.credits = 9;
  start(options);
  ShapedCall& call = submit();
  EXPECT_EQ(to_hex(Octets(peer.info().private_data).first(8)), "f6ab0e1801010303");
  const auto message = next_call();
  EXPECT_EQ(to_hex(message.octets).substr(0, 56), hex(call.xid) +
                                                      "00000001"
                                                      "00000009"
                                                      "00000000"
                                                      "00000000"
                                                      "00000000"
                                                      "00000000");
  EXPECT_EQ(message.payload, words({call.xid, 0, 1, 0, 0, 0}));
  answer(message.header);
  EXPECT_EQ(call.times_done, 1);
  EXPECT_FALSE(call.status);
}

// [8167-2.4-a] next_xid() skips the XID of a call in flight
TEST_F(RequesterTest, XidsOfCallsInFlightAreSkipped) {
  start();
  ShapedCall call(pool, client->requester(), {});
  const std::uint32_t xid = call.xid + 2;
  call.xid = xid;
  client->requester().submit(call);
  const auto message = next_call();
  EXPECT_EQ(message.header.xid, xid);
  EXPECT_EQ(client->requester().next_xid(), xid - 1);
  EXPECT_EQ(client->requester().next_xid(), xid + 1);
  answer(message.header);
  EXPECT_EQ(call.times_done, 1);
}

// [8166-4.5-c] [8166-4.5-a] [8166-4.5-g] [8166-4.6.1-c] [8166-4.6.2-b] [8166-4.3.1-b] [8166-4.2.4-a] [8166-4.2.4-c]
TEST_F(RequesterTest, BrokenRepliesAreDroppedSilently) {
  start();
  ShapedCall& call = submit();
  const auto message = next_call();
  const std::string xid = hex(call.xid);
  const std::string broken[] = {
      "",
      "00",
      xid + "00000001 00000020 00000000 00000000 00000000",
      xid + "00000002 00000020 00000000 00000000 00000000 00000000" + xid + "00000001 00000001",
      xid + "00000001 00000020 00000005 00000000 00000000 00000000" + xid + "00000001 00000001",
      xid + "00000001 00000020 00000002 00000000 00000000 00000000 00000000 00000000" + xid + "00000001 00000001",
      xid + "00000001 00000020 00000003 00000000 00000000 00000000",
      xid +
          "00000001 00000020 00000000 00000001 00000000 00000001 00000010 00000000 00000000 00000000 00000000 "
          "00000000" +
          xid + "00000001 00000001",                                                    // a Read list
      xid + "00000001 00000020 00000001 00000000 00000000 00000000",                    // no message
      xid + "00000001 00000020 00000001 00000000 00000001 00000000 00000000 00000000",  // no message
      xid + "00000001 00000020 00000000 00000000 00000000 00000000" + hex(call.xid + 1) + "00000001 00000001",
      xid + "00000001 00000020 00000000 00000000 00000000 00000000" + xid,  // truncated
      xid + "00000001 00000020 00000000 00000000 00000003 00000000" + xid + "00000001 00000001",
      xid + "00000001 00000020 00000004 00000003",
      xid + "00000001 00000020 00000004 00000001 00000001",
      hex(call.xid + 1) + "00000001 00000020 00000000 00000000 00000000 00000000" + hex(call.xid + 1) + "00000001",
      hex(call.xid + 1) + "00000001 00000020 00000004 00000002",
      xid + "00000001 00000020 00000000 00000000 00000000 00000000" + xid + "00000000 00000001",  // a call
  };
  std::uint64_t dropped = 0;
  for (const std::string& octets : broken) {
    send(octets);
    EXPECT_EQ(call.times_done, 0) << octets;
    EXPECT_EQ(client->requester().counters().discarded_replies, ++dropped) << octets;
  }
  EXPECT_EQ(client->requester().counters().granted, 1u);
  answer(message.header);
  EXPECT_EQ(call.times_done, 1);
  EXPECT_FALSE(call.status);
  EXPECT_TRUE(peer.messages.empty());
}

// [8166-4.5-f] [8167-4.1-c] an RDMA_ERROR ends the call, and its credits are ignored; [8267-3.1-b] [8267-6.4.2-c]
// nothing is retransmitted
TEST_F(RequesterTest, PeerErrors) {
  start();
  ShapedCall& first = submit();
  next_call();
  send(hex(first.xid) + "00000001 00000009 00000004 00000002");
  EXPECT_EQ(first.status, TransportError::peer_err_chunk);
  EXPECT_EQ(client->requester().counters().granted, 1u);
  ShapedCall& second = submit();
  next_call();
  // An RDMA_ERROR has the version of the message that it refuses.
  send(hex(second.xid) + "00000001 00000009 00000004 00000001 00000002 00000005");
  EXPECT_EQ(second.status, TransportError::peer_err_vers);
  EXPECT_EQ(second.times_done, 1);
  Shape shape;
  shape.reply_body = 8000;
  ShapedCall& third = submit(shape);
  ASSERT_TRUE(next_call().header.chunks.has_reply_chunk());
  send(hex(third.xid) + "00000001 00000009 00000004 00000002");  // ERR_CHUNK: the peer cannot send the reply
  EXPECT_EQ(third.status, TransportError::peer_err_chunk);
  run_ready(context);
  EXPECT_TRUE(peer.messages.empty());
  for (const auto& call : calls) EXPECT_EQ(call->times_encoded, 1);
}

// [8166-6.1-a] [8166-6.1-e] data that is not eligible is not reduced: it needs a Position-Zero Read chunk or a Reply
// chunk
TEST_F(RequesterTest, LongBodiesAreNotReduced) {
  start();
  Shape shape;
  shape.call_body = 8000;
  shape.reply_body = 8000;
  ShapedCall& call = submit(shape);
  const auto message = next_call();
  EXPECT_EQ(message.header.procedure, wire::Procedure::nomsg);
  EXPECT_TRUE(message.payload.empty());
  std::uint32_t length = 0;
  for (const wire::ReadSegment& segment : message.header.chunks.reads) {
    EXPECT_EQ(segment.position, 0u);
    length += segment.target.length;
  }
  EXPECT_EQ(length, 24u + 8000);
  EXPECT_EQ(message.header.chunks.write_chunk_count(), 0u);
  ASSERT_EQ(message.header.chunks.reply_chunk().size(), 1u);
  EXPECT_GE(message.header.chunks.reply_chunk()[0].length, 12u + 8000);
  answer(message.header);
  EXPECT_FALSE(call.status) << call.status.message();
}

// [8166-8.1.2-b] [8166-8.1.3-a] each call exposes its memory anew
TEST_F(RequesterTest, NothingStaysExposed) {
  start();
  Shape shape;
  shape.items = {9000};
  shape.results = {8000};
  shape.reply_body = 5000;
  std::vector<std::uint32_t> seen;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(client_fabric->bound_windows(), 0u);
    ShapedCall& call = submit(shape);
    const auto message = next_call();
    const auto& chunks = message.header.chunks;
    EXPECT_EQ(client_fabric->bound_windows(), 3u);
    for (const std::uint32_t handle :
         {chunks.reads.at(0).target.handle, chunks.write_chunk(0)[0].handle, chunks.reply_chunk()[0].handle}) {
      EXPECT_EQ(std::count(seen.begin(), seen.end(), handle), 0);
      seen.push_back(handle);
    }
    answer(message.header);
    EXPECT_EQ(call.times_done, 1);
  }
}

// [8166-3.3.1-a] [8166-3.3.1-b] [8166-3.3.1-c] [8166-3.3.3-a] [8166-3.3.1-d] [8166-8.1.4-b] The requester sends calls
// only up to the last credit grant. A grant of 0 counts as 1. A grant above the requested number counts as that number.
TEST_F(RequesterTest, CreditsAreNeverExceeded) {
  transport::ClientOptions options;
  options.connection.credits = 6;
  start(options);
  for (int i = 0; i < 60; ++i) submit();
  std::deque<wire::Header> open;
  const auto expect_open = [&](std::size_t count) {
    run_ready(context);
    while (!peer.messages.empty()) open.push_back(peer.take().header);
    EXPECT_EQ(open.size(), count);
  };
  const auto answer_one = [&](std::uint32_t credits) {
    answer(open.front(), credits);
    open.pop_front();
  };
  expect_open(1);
  answer_one(4);
  expect_open(4);
  answer_one(2);  // the grant falls below the number of calls in flight
  expect_open(3);
  answer_one(2);
  expect_open(2);
  answer_one(0);  // counts as 1
  expect_open(1);
  answer_one(100);  // counts as 6, the number that the client requests
  expect_open(6);
  peer.abort();
  open.clear();
  // [8166-3.3.3-a] a new connection starts with one credit
  ASSERT_TRUE(run_until(context, [&] { return !peer.messages.empty(); }));
  expect_open(1);
}

// [8166-3.4.6-b] [8166-3.4.6-c] [8166-6.1-d] a reply whose chunks differ from those that the call offered ends the call
// with TransportError::bad_reply
TEST_F(RequesterTest, RepliesThatDoNotMatchTheOffer) {
  start();
  Shape shape;
  shape.results = {8000};
  shape.pieces = 2;
  shape.apart = true;
  shape.max_reply = 20;
  using Change = void (*)(wire::Header&, Bytes&);
  const Change changes[] = {
      [](wire::Header& h, Bytes&) { h.chunks.write_chunk(0)[0].handle ^= 1; },
      [](wire::Header& h, Bytes&) { h.chunks.write_chunk(0)[1].offset += 1; },
      [](wire::Header& h, Bytes&) { h.chunks.write_chunk(0)[0].length += 1; },
      [](wire::Header& h, Bytes&) { h.chunks.write_chunk(0)[0].length -= 1; },  // a gap
      [](wire::Header& h, Bytes&) {
        h.chunks.add_write_segment({1, 0, 0});
      },
      [](wire::Header& h, Bytes&) {
        h.chunks.add_write_chunk(std::vector<Segment>{{1, 0, 0}});
      },
      [](wire::Header& h, Bytes&) { h.chunks.clear(); },
      [](wire::Header& h, Bytes&) { h.chunks.begin_reply_chunk(); },
      [](wire::Header& h, Bytes& payload) {  // the result is inline, and its chunk unused
        for (Segment& segment : h.chunks.write_chunk(0)) segment.length = 0;
        payload.resize(2000);
      },
      [](wire::Header& h, Bytes&) {
        h.procedure = wire::Procedure::nomsg;
        h.chunks.begin_reply_chunk();
        h.chunks.add_reply_segment({1, 12, 3});
      },
  };
  int index = 0;
  for (const Change change : changes) {
    SCOPED_TRACE(index++);
    ShapedCall& call = submit(shape);
    const auto message = next_call();
    wire::Header reply = reply_to(message.header);
    Bytes payload = words({call.xid, 1, 1, 8000});
    change(reply, payload);
    const bool nomsg = reply.procedure == wire::Procedure::nomsg;
    send(reply, nomsg ? Bytes() : payload);
    EXPECT_EQ(call.times_done, 1);
    EXPECT_EQ(call.status, TransportError::bad_reply);
    EXPECT_EQ(client_fabric->bound_windows(), 0u);
  }
}

// [8166-4.3.2.2-c] [8166-4.3.2.2-d] a reply may return an unused chunk either with its segments or empty; data in an
// unused chunk is no result
TEST_F(RequesterTest, UnusedWriteChunksInBothForms) {
  start();
  Shape shape;
  shape.results = {8000};
  shape.max_reply = 20;
  for (const bool empty : {false, true}) {
    ShapedCall& call = submit(shape);
    const auto message = next_call();
    wire::Header reply = reply_to(message.header);
    reply.chunks.clear();
    reply.chunks.begin_write_chunk();
    Segment segment = message.header.chunks.write_chunk(0)[0];
    peer.write(segment, Bytes(segment.length, std::byte{0xee}));
    segment.length = 0;
    if (!empty) reply.chunks.add_write_segment(segment);
    send(reply, words({call.xid, 1, 1, 0}));
    EXPECT_FALSE(call.status) << call.status.message();
    EXPECT_EQ(call.reply_items, 1u);
    EXPECT_EQ(call.reply_item_bytes, 0u);
  }
}

// An RDMA_NOMSG reply with data in a Write chunk and in the Reply chunk is accepted.
TEST_F(RequesterTest, WriteChunkAndReplyChunkTogether) {
  start();
  Shape shape;
  shape.results = {8000};
  shape.reply_body = 6000;
  ShapedCall& call = submit(shape);
  const auto message = next_call();
  wire::Header reply = reply_to(message.header);
  reply.procedure = wire::Procedure::nomsg;
  Bytes result(8000), stream = words({call.xid, 1, 1, 8000});
  fill_pattern(result, 0x10000 + 1);
  stream.resize(stream.size() + 6000);
  fill_pattern(MutableOctets(stream).subspan(16), 0x10000 + 1);
  peer.write(message.header.chunks.write_chunk(0)[0], result);
  peer.write(message.header.chunks.reply_chunk()[0], stream);
  reply.chunks.reply_chunk()[0].length = static_cast<std::uint32_t>(stream.size());
  send(reply, {});
  EXPECT_FALSE(call.status) << call.status.message();
  EXPECT_EQ(call.complaint, "");
}

// [8797-4.1-e] the R flag is clear if handles name registrations instead of windows
TEST_F(RequesterTest, NoRemoteInvalidationOfRegistrations) {
  for (const bool windows : {true, false}) {
    fabric::Capabilities capabilities = fabric::LoopbackNetwork::default_capabilities();
    capabilities.remote_invalidation = windows;
    const auto other = network.make_fabric(windows ? "windows" : "registrations", capabilities);
    memory::Pool other_pool(*other);
    client = transport::Client::make(*other, other_pool, peer.listen(), {}, {});
    ShapedCall call(other_pool, client->requester(), {});
    client->requester().submit(call);
    const auto message = next_call();
    const auto told = wire::find_private_data(peer.info().private_data);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->remote_invalidation, windows);
    answer(message.header);
    EXPECT_EQ(call.times_done, 1);
    client.reset();
  }
}

// [8797-4.1-d] The call exposes three handles. The reply invalidates none or one of them by Send with Invalidate. The
// requester invalidates the other handles itself, and no window is bound any more when done() runs.
TEST_F(RequesterTest, RemoteInvalidationOfAnyHandle) {
  start();
  Shape shape;
  shape.items = {9000};
  shape.results = {8000};
  shape.max_reply = 5000;
  for (std::size_t which = 0; which < 4; ++which) {
    const auto before = client->requester().counters();
    ShapedCall& call = submit(shape);
    std::size_t bound = 99;
    call.on_done = [&] { bound = client_fabric->bound_windows(); };
    const auto message = next_call();
    const auto& chunks = message.header.chunks;
    const std::optional<std::uint32_t> handles[] = {std::nullopt, chunks.reads.at(0).target.handle,
                                                    chunks.write_chunk(0)[0].handle, chunks.reply_chunk()[0].handle};
    wire::Header reply = reply_to(message.header);
    reply.chunks.write_chunk(0)[0].length = 0;
    reply.chunks.reply_chunk()[0].length = 0;
    send(reply, words({call.xid, 1, 1, 0}), handles[which]);
    EXPECT_EQ(call.times_done, 1);
    EXPECT_FALSE(call.status) << call.status.message();
    EXPECT_EQ(bound, 0u);  // [8166-4.4.1-a] [8166-8.1.3-b]
    const auto after = client->requester().counters();
    EXPECT_EQ(after.remote_invalidations - before.remote_invalidations, which == 0 ? 0u : 1u);
    EXPECT_EQ(after.local_invalidations - before.local_invalidations, which == 0 ? 3u : 2u);
  }
}

}  // namespace
}  // namespace rpcrdma::test
