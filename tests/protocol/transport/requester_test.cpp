// SPDX-License-Identifier: BSD-3-Clause
// A client and a hand-made server: receive X, expect Y (RFC 8166 section 4.5, as Requester).
#include <gtest/gtest.h>

#include <algorithm>

#include "exchange.hpp"
#include "raw_peer.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/wire/private_data.hpp"
#include "support/pattern.hpp"
#include "support/run.hpp"

namespace rpcrdma::test {
namespace {

using transport::TransportError;

class RequesterTest : public testing::Test {
 protected:
  void start(transport::ClientOptions options = {}) {
    options.first_backoff = options.last_backoff = std::chrono::milliseconds(1);
    const auto r = wire::encode(wire::PrivateData{true, 4096, 4096});
    peer.private_data.assign(r.begin(), r.end());
    client = transport::Client::make(*client_fabric, pool, peer.listen(), options, {});
  }
  ShapedCall& submit(const Shape& shape = {}) {
    calls.push_back(std::make_unique<ShapedCall>(pool, client->requester(), shape));
    client->requester().submit(*calls.back());
    run_ready(context);
    return *calls.back();
  }
  /// The next call that has reached the peer.
  RawPeer::Message next_call() {
    EXPECT_TRUE(run_until(context, [&] { return !peer.messages.empty(); }));
    return peer.take();
  }
  /// The header of a good reply to `call`: its lists as they came, lengths as they came.
  static wire::Header reply_to(const wire::Header& call, std::uint32_t credits = 32) {
    wire::Header out = call;
    out.credits = credits;
    out.procedure = wire::Procedure::msg;
    out.chunks.reads.clear();
    return out;
  }
  static Bytes small_reply(std::uint32_t xid) { return words({xid, 1, 1}); }
  void answer(const wire::Header& call, std::uint32_t credits = 32) {
    wire::Header reply = reply_to(call, credits);
    for (std::size_t i = 0; i < reply.chunks.write_chunk_count(); ++i)
      for (Segment& segment : reply.chunks.write_chunk(i)) segment.length = 0;
    for (Segment& segment : reply.chunks.reply_chunk()) segment.length = 0;
    send(reply, small_reply(call.xid));
  }
  void send(const wire::Header& reply, Octets payload, std::optional<std::uint32_t> invalidate = {}) {
    peer.send(reply, payload, invalidate);
    run_ready(context);
  }
  void send(std::string_view hex) {
    peer.send(from_hex(hex));
    run_ready(context);
  }
  static std::string hex(std::uint32_t xid) { return to_hex(words({xid})); }

  boost::asio::io_context context;
  fabric::LoopbackNetwork network{context};
  std::unique_ptr<fabric::LoopbackFabric> client_fabric = network.make_fabric("client");
  std::unique_ptr<fabric::LoopbackFabric> peer_fabric = network.make_fabric("peer");
  memory::Pool pool{*client_fabric};
  RawPeer peer{*peer_fabric};
  std::deque<std::unique_ptr<ShapedCall>> calls;
  std::unique_ptr<transport::Client> client;
};

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
      xid + "00000001 00000020 00000001 00000000 00000000 00000000",                    // holds nothing
      xid + "00000001 00000020 00000001 00000000 00000001 00000000 00000000 00000000",  // likewise
      xid + "00000001 00000020 00000000 00000000 00000000 00000000" + hex(call.xid + 1) + "00000001 00000001",
      xid + "00000001 00000020 00000000 00000000 00000000 00000000" + xid,  // cut short
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

// [8166-4.5-f] [8167-4.1-c] an RDMA_ERROR ends the call, and its credit word is left alone
TEST_F(RequesterTest, PeerErrors) {
  start();
  ShapedCall& first = submit();
  next_call();
  send(hex(first.xid) + "00000001 00000009 00000004 00000002");
  EXPECT_EQ(first.status, TransportError::peer_err_chunk);
  EXPECT_EQ(client->requester().counters().granted, 1u);
  ShapedCall& second = submit();
  next_call();
  // The version of an error is the one that was refused.
  send(hex(second.xid) + "00000001 00000009 00000004 00000001 00000002 00000005");
  EXPECT_EQ(second.status, TransportError::peer_err_vers);
  EXPECT_EQ(second.times_done, 1);
}

// [8166-3.3.1-a] [8166-3.3.1-b] [8166-3.3.1-c] [8166-3.3.3-a] [8166-3.3.1-d]
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
  answer_one(2);  // lowered below what is in flight
  expect_open(3);
  answer_one(2);
  expect_open(2);
  answer_one(0);  // counts as 1
  expect_open(1);
  answer_one(100);  // never more than were asked for
  expect_open(6);
  peer.abort();
  open.clear();
  // [8166-3.3.3-a] on a new connection with one again
  ASSERT_TRUE(run_until(context, [&] { return !peer.messages.empty(); }));
  expect_open(1);
}

// [8166-3.4.6-b] [8166-3.4.6-c] [8166-6.1-d] replies that do not match what was offered
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
      [](wire::Header& h, Bytes& payload) {  // the result inline, the chunk unused
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

// [8166-4.3.2.2-c] [8166-4.3.2.2-d] an unused chunk may come back with its segments or empty
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
    segment.length = 0;
    if (!empty) reply.chunks.add_write_segment(segment);
    send(reply, words({call.xid, 1, 1, 0}));
    EXPECT_FALSE(call.status) << call.status.message();
    EXPECT_EQ(call.reply_items, 1u);
  }
}

// RDMA_NOMSG with data in Write chunks, and RDMA_MSG with data in the Reply chunk, are taken
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

// [8797-4.1-d] whichever handle the peer invalidates, each is invalidated once, and all before done()
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

// [8166-4.5.4-a] the connection ends before the call does when memory cannot be taken back
TEST_F(RequesterTest, FailedInvalidationEndsTheConnection) {
  for (const auto operation : {fabric::LoopbackOperation::invalidate, fabric::LoopbackOperation::completion}) {
    start();
    Shape shape;
    shape.items = {9000};
    ShapedCall& call = submit(shape);
    const auto message = next_call();
    run_ready(context);
    // What completes next at the client: the receive of the reply, then the invalidation.
    client_fabric->fail_nth(operation, operation == fabric::LoopbackOperation::completion ? 2 : 1);
    send(reply_to(message.header), small_reply(call.xid));
    ASSERT_TRUE(run_until(context, [&] { return call.times_done == 1; }));
    EXPECT_TRUE(run_until(context, [&] { return peer.ended(); }));
    EXPECT_FALSE(call.status) << call.status.message();
    EXPECT_EQ(call.complaint, "");
    EXPECT_EQ(client_fabric->bound_windows(), 0u);
    client.reset();
  }
}

// [8166-3.4.5.1-a] [8166-4.4.1-c] resent with the same XID, other handles, in the same order
TEST_F(RequesterTest, LostConnection) {
  start();
  answer((submit(), next_call()).header);
  Shape shape;
  shape.items = {9000};
  std::vector<ShapedCall*> sent;
  for (int i = 0; i < 5; ++i) sent.push_back(&submit(shape));
  std::vector<std::uint32_t> xids, handles;
  for (int i = 0; i < 5; ++i) {
    const auto message = next_call();
    xids.push_back(message.header.xid);
    handles.push_back(message.header.chunks.reads.at(0).target.handle);
  }
  peer.abort();
  for (int i = 0; i < 5; ++i) {
    const auto message = next_call();
    EXPECT_EQ(message.header.xid, xids[static_cast<std::size_t>(i)]);
    EXPECT_EQ(std::count(handles.begin(), handles.end(), message.header.chunks.reads.at(0).target.handle), 0);
    Bytes data;
    peer.read(message.header.chunks.reads.at(0).target, data);
    run_ready(context);
    EXPECT_TRUE(peer.read_ended());
    EXPECT_TRUE(has_pattern(data, 2));
    answer(message.header);
  }
  EXPECT_EQ(peer.connections(), 2);
  for (ShapedCall* call : sent) {
    EXPECT_EQ(call->times_done, 1);
    EXPECT_EQ(call->times_encoded, 2);
    EXPECT_FALSE(call->status);
  }
  EXPECT_EQ(client->requester().counters().resent, 5u);
  EXPECT_EQ(client->requester().counters().reconnects, 1u);
}

// [8166-4.4.1-c] [8166-8.1.3-c] a cancelled call is over when no peer can reach its memory; its credit is not
TEST_F(RequesterTest, Cancel) {
  start();
  Shape shape;
  shape.results = {9000};
  ShapedCall& call = submit(shape);
  const auto message = next_call();
  ShapedCall& waiting = submit(shape);
  client->requester().cancel(waiting);
  client->requester().cancel(call);
  EXPECT_EQ(call.times_done, 0);  // not inside
  EXPECT_EQ(waiting.times_done, 0);
  std::size_t bound = 99;
  call.on_done = [&] { bound = client_fabric->bound_windows(); };
  run_ready(context);
  EXPECT_EQ(call.times_done, 1);
  EXPECT_EQ(call.status, BaseError::cancelled);
  EXPECT_EQ(waiting.status, BaseError::cancelled);
  EXPECT_EQ(bound, 0u);
  client->requester().cancel(call);  // over already
  ShapedCall& next = submit();
  EXPECT_TRUE(peer.messages.empty());  // the one credit is still out
  wire::Header late = reply_to(message.header);
  send(late, words({call.xid, 1, 1, 9000}));
  EXPECT_EQ(call.times_done, 1);
  answer(next_call().header);
  EXPECT_EQ(next.times_done, 1);
  EXPECT_FALSE(next.status);
}

// What done() submits and cancels while other calls are about to end
TEST_F(RequesterTest, SubmittingAndCancellingInsideDone) {
  start();
  answer((submit(), next_call()).header, 4);
  std::vector<ShapedCall*> first, then;
  for (int i = 0; i < 2; ++i) first.push_back(&submit());
  for (int i = 0; i < 2; ++i) next_call();
  first[0]->on_done = [&] {
    for (int i = 0; i < 2; ++i) {
      calls.push_back(std::make_unique<ShapedCall>(pool, client->requester(), Shape{}));
      then.push_back(calls.back().get());
      client->requester().submit(*calls.back());
    }
    client->requester().cancel(*then[0]);
  };
  for (ShapedCall* call : first) client->requester().cancel(*call);
  ASSERT_TRUE(run_until(context, [&] { return first[0]->times_done + first[1]->times_done == 2; }));
  ASSERT_EQ(then.size(), 2u);
  next_call();
  answer(next_call().header, 4);
  run_ready(context);
  for (ShapedCall* call : first) EXPECT_EQ(call->status, BaseError::cancelled);
  EXPECT_EQ(then[0]->times_done, 1);
  EXPECT_EQ(then[0]->status, BaseError::cancelled);
  EXPECT_EQ(then[1]->times_done, 1);
  EXPECT_FALSE(then[1]->status);
}

TEST_F(RequesterTest, Deadlines) {
  start();
  answer((submit(), next_call()).header, 2);
  Shape shape;
  shape.results = {9000};
  std::vector<std::unique_ptr<ShapedCall>> mine;
  for (int i = 0; i < 4; ++i) {
    mine.push_back(std::make_unique<ShapedCall>(pool, client->requester(), shape));
    mine.back()->deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20 + i % 2);
    client->requester().submit(*mine.back());
  }
  ASSERT_TRUE(run_until(context, [&] {
    return std::all_of(mine.begin(), mine.end(), [](const auto& call) { return call->times_done == 1; });
  }));
  for (const auto& call : mine) EXPECT_EQ(call->status, BaseError::deadline_exceeded);
  EXPECT_EQ(client_fabric->bound_windows(), 0u);
  // Nobody answered and all credits are out: a new connection is made for the next call.
  peer.messages.clear();
  ShapedCall& next = submit();
  const auto message = next_call();
  EXPECT_EQ(message.header.xid, next.xid);
  EXPECT_EQ(peer.connections(), 2);
  answer(message.header);
  EXPECT_EQ(next.times_done, 1);
}

// [8166-4.4.1-a] A server that never finishes reading holds no caller longer than the grace: the connection goes
TEST_F(RequesterTest, ATransferThatNeverEnds) {
  for (const bool cancelled : {true, false}) {
    SCOPED_TRACE(cancelled);
    transport::ClientOptions options;
    options.silence = std::chrono::hours(1);
    options.grace = std::chrono::milliseconds(20);
    start(options);
    answer((submit(), next_call()).header, 32);
    const int before = peer.connections();
    Shape shape;
    shape.items = {9000};
    ShapedCall call(pool, client->requester(), shape);
    if (!cancelled) call.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    std::size_t bound = 99;
    call.on_done = [&] { bound = client_fabric->bound_windows(); };
    client->requester().submit(call);
    const auto message = next_call();
    network.pause(fabric::LoopbackPause::half_placed);
    Bytes data;
    peer.read(message.header.chunks.reads.at(0).target, data);
    run_ready(context);
    if (cancelled) client->requester().cancel(call);
    ASSERT_TRUE(run_until(context, [&] { return call.times_done == 1; }));
    EXPECT_EQ(call.status, cancelled ? BaseError::cancelled : BaseError::deadline_exceeded);
    EXPECT_EQ(bound, 0u);
    network.resume();
    ShapedCall& next = submit();
    answer(next_call().header);
    EXPECT_EQ(next.times_done, 1);
    EXPECT_EQ(peer.connections() - before, 1);
    client.reset();
  }
}

// The same when the server has answered the call that it still reads
TEST_F(RequesterTest, ATransferThatNeverEndsThoughItWasAnswered) {
  transport::ClientOptions options;
  options.silence = std::chrono::hours(1);
  options.grace = std::chrono::milliseconds(20);
  start(options);
  Shape shape;
  shape.items = {9000};
  ShapedCall call(pool, client->requester(), shape);
  call.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  client->requester().submit(call);
  const auto message = next_call();
  network.pause(fabric::LoopbackPause::half_placed);
  Bytes data;
  peer.read(message.header.chunks.reads.at(0).target, data);
  answer(message.header);
  EXPECT_EQ(call.times_done, 0);
  ASSERT_TRUE(run_until(context, [&] { return call.times_done == 1; }));
  EXPECT_FALSE(call.status) << call.status.message();
  EXPECT_EQ(client_fabric->bound_windows(), 0u);
}

// [8166-4.4.1-a] The server invalidates a handle that it still reads by, and the call is cancelled: the memory is
// not given back while a Response gathers from it
TEST_F(RequesterTest, InvalidatedWhileItIsRead) {
  transport::ClientOptions options;
  options.grace = std::chrono::hours(1);
  start(options);
  Shape shape;
  shape.items = {9000};
  ShapedCall& call = submit(shape);
  const auto message = next_call();
  const Segment segment = message.header.chunks.reads.at(0).target;
  network.pause(fabric::LoopbackPause::half_placed);
  Bytes data;
  peer.read(segment, data);
  send(reply_to(message.header), small_reply(call.xid), segment.handle);
  client->requester().cancel(call);
  run_ready(context);
  EXPECT_EQ(call.times_done, 0);
  EXPECT_FALSE(peer.read_ended());
  network.resume();
  run_ready(context);
  EXPECT_TRUE(peer.read_ended());
  EXPECT_TRUE(has_pattern(data, 2));
  EXPECT_EQ(call.times_done, 1);
  EXPECT_EQ(call.status, BaseError::cancelled);
}

// A call that timed out while the server was silent: the others are sent again on a new connection
TEST_F(RequesterTest, SilentServer) {
  for (const bool silent : {true, false}) {
    transport::ClientOptions options;
    options.silence = silent ? std::chrono::milliseconds(1) : std::chrono::hours(1);
    start(options);
    answer((submit(), next_call()).header, 32);
    const int before = peer.connections();
    ShapedCall& patient = submit();
    ShapedCall call(pool, client->requester(), {});
    call.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    client->requester().submit(call);
    ASSERT_TRUE(run_until(context, [&] { return call.times_done == 1; }));
    EXPECT_EQ(call.status, BaseError::deadline_exceeded);
    next_call();
    next_call();
    if (silent) {
      EXPECT_EQ(next_call().header.xid, patient.xid);
    }
    run_ready(context);
    EXPECT_EQ(peer.connections() - before, silent ? 1 : 0);
    client.reset();
    EXPECT_EQ(patient.times_done, 1);
  }
}

TEST_F(RequesterTest, UnreachableUntilTheDeadline) {
  start();
  client = transport::Client::make(*client_fabric, pool, {boost::asio::ip::make_address("127.0.0.1"), 9}, {}, {});
  ShapedCall call(pool, client->requester(), {});
  call.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
  client->requester().submit(call);
  ASSERT_TRUE(run_until(context, [&] { return call.times_done == 1; }));
  EXPECT_EQ(call.status, TransportError::unreachable);
  EXPECT_TRUE(client->last_error());
  EXPECT_FALSE(client->connected());
}

// [8166-4.5.4-c] a call that cannot be sent fails at once, and the others go on
TEST_F(RequesterTest, CallsThatCannotBeSent) {
  transport::ClientOptions options;
  options.max_long_call = 100000;
  start(options);
  Shape shape;
  shape.call_body = 200000;
  ShapedCall& too_long = submit(shape);
  ASSERT_TRUE(run_until(context, [&] { return too_long.times_done == 1; }));
  EXPECT_EQ(too_long.status, TransportError::call_too_long);
  ShapedCall& good = submit();
  auto same_xid = std::make_unique<ShapedCall>(pool, client->requester(), Shape{});
  same_xid->xid = good.xid;
  const auto message = next_call();
  answer(message.header);
  ShapedCall& held = submit();
  same_xid->xid = held.xid;
  client->requester().submit(*same_xid);
  run_ready(context);
  EXPECT_EQ(same_xid->status, BaseError::invalid_argument);  // [8167-2.4-a]
  answer(next_call().header);
  EXPECT_FALSE(good.status);
  EXPECT_FALSE(held.status);
}

// [8797-5.1-a] [8166-3.3.3-d] a peer that says nothing: 1024 each way, and still its replies are understood
TEST_F(RequesterTest, PeerWithoutPrivateData) {
  start();
  peer.private_data.clear();
  Shape shape;
  shape.call_body = 2000;
  ShapedCall& call = submit(shape);
  const auto message = next_call();
  EXPECT_EQ(message.header.procedure, wire::Procedure::nomsg);
  // Linux's server invalidates whenever the client has R set, though it says nothing itself.
  send(reply_to(message.header), small_reply(call.xid), message.header.chunks.reads.at(0).target.handle);
  EXPECT_FALSE(call.status);
}

TEST_F(RequesterTest, DestroyingTheClientEndsAllCalls) {
  start();
  Shape shape;
  shape.items = {9000};
  for (int i = 0; i < 5; ++i) submit(shape);
  next_call();
  client.reset();
  for (const auto& call : calls) {
    EXPECT_EQ(call->times_done, 1);
    EXPECT_EQ(call->status, BaseError::cancelled);
  }
  EXPECT_EQ(client_fabric->bound_windows(), 0u);
}

// However a call ends, done() may take the client with it; the other calls end before that returns
TEST_F(RequesterTest, DestroyingTheClientInsideDone) {
  enum class End { reply, reply_after_invalidation, cancel, cancel_while_waiting, deadline, loss };
  for (const End how :
       {End::reply, End::reply_after_invalidation, End::cancel, End::cancel_while_waiting, End::deadline, End::loss}) {
    SCOPED_TRACE(static_cast<int>(how));
    transport::ClientOptions options;
    options.grace = std::chrono::milliseconds(10);
    start(options);
    answer((submit(), next_call()).header, 2);
    Shape shape;
    if (how != End::reply) shape.items = {9000};
    ShapedCall call(pool, client->requester(), shape);
    if (how == End::deadline) call.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    std::deque<std::unique_ptr<ShapedCall>> others;
    std::size_t over = 0;
    call.on_done = [&] {
      client.reset();
      for (const auto& other : others) over += static_cast<std::size_t>(other->times_done);
    };
    const auto another = [&] {
      others.push_back(std::make_unique<ShapedCall>(pool, client->requester(), Shape{}));
      client->requester().submit(*others.back());
    };
    if (how == End::cancel_while_waiting)
      for (int i = 0; i < 2; ++i) another();  // they have the credits
    client->requester().submit(call);
    while (others.size() < 4) another();
    wire::Header header;
    while (how != End::cancel_while_waiting && header.xid != call.xid) header = next_call().header;
    if (how == End::reply || how == End::reply_after_invalidation) answer(header, 2);
    if (how == End::loss) {  // while the call is ending
      network.pause(fabric::LoopbackPause::half_placed);
      Bytes data;
      peer.read(header.chunks.reads.at(0).target, data);
      run_ready(context);
    }
    if (how == End::cancel || how == End::cancel_while_waiting || how == End::loss) client->requester().cancel(call);
    ASSERT_TRUE(run_until(context, [&] { return call.times_done == 1; }));
    run_ready(context);
    EXPECT_EQ(client, nullptr);
    EXPECT_EQ(over, others.size());
    for (const auto& other : others) EXPECT_EQ(other->times_done, 1);
    EXPECT_EQ(client_fabric->bound_windows(), 0u);
    network.resume();
    peer.messages.clear();
    run_ready(context);
  }
}

TEST_F(RequesterTest, CloseWaitsForCalls) {
  start();
  ShapedCall& call = submit();
  const auto message = next_call();
  bool closed = false;
  client->close([&] { closed = true; });
  run_ready(context);
  EXPECT_FALSE(closed);
  answer(message.header);
  ASSERT_TRUE(run_until(context, [&] { return closed; }));
  EXPECT_EQ(call.times_done, 1);
  EXPECT_FALSE(call.status);
  EXPECT_FALSE(client->connected());
}

}  // namespace
}  // namespace rpcrdma::test
