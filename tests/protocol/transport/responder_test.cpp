// SPDX-License-Identifier: BSD-3-Clause
// A server and a hand-made client: receive X, expect Y (RFC 8166 section 4.5, as Responder).
#include <gtest/gtest.h>

#include "exchange.hpp"
#include "raw_peer.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "rpcrdma/requester/reverse.hpp"
#include "rpcrdma/responder/server.hpp"
#include "rpcrdma/wire/private_data.hpp"
#include "support/pattern.hpp"
#include "support/run.hpp"

namespace rpcrdma::test {
namespace {

constexpr std::uint32_t kXid = 0xa0000001;

class ResponderTest : public testing::Test {
 protected:
  void start(const transport::ServerOptions& options = {}) {
    server = transport::Server::make({{server_fabric.get(), &pool, &handler}}, options, {});
    server->listen({boost::asio::ip::make_address("127.0.0.1"), 0},
                   [this](Result<fabric::Endpoint> bound) { endpoint = bound.value(); });
    run_ready(context);
    const auto r = wire::encode(wire::PrivateData{true, 4096, 4096});
    peer.private_data.assign(r.begin(), r.end());
    connect();
  }
  void connect() {
    peer.connect(endpoint);
    run_ready(context);
    ASSERT_TRUE(peer.connected());
  }
  /// What comes back for `message`, as hexadecimal digits; empty: nothing.
  std::string answer(Octets message) {
    peer.send(message);
    run_ready(context);
    return to_hex(peer.take().octets);
  }
  std::string answer(std::string_view hex) { return answer(from_hex(hex)); }
  /// The smallest call of the test protocol: no items, `results` of these lengths, `reply_body` bytes.
  static Bytes small_call(std::uint32_t xid, std::initializer_list<std::uint32_t> results = {},
                          std::uint32_t reply_body = 0) {
    Bytes out = words({xid, 0, 7, reply_body, 0, static_cast<std::uint32_t>(results.size())});
    const Bytes lengths = words(results);
    out.insert(out.end(), lengths.begin(), lengths.end());
    return out;
  }
  static wire::Header header(std::uint32_t xid, wire::Procedure procedure = wire::Procedure::msg) {
    wire::Header out;
    out.xid = xid;
    out.credits = 32;
    out.procedure = procedure;
    return out;
  }
  RawPeer::Message exchange(const wire::Header& call, Octets payload) {
    peer.send(call, payload);
    run_ready(context);
    return peer.take();
  }
  void expect_alive() {
    const auto reply = exchange(header(0xbbbb), small_call(0xbbbb));
    EXPECT_EQ(reply.header.procedure, wire::Procedure::msg);
    EXPECT_EQ(reply.payload, words({0xbbbb, 1, 7}));
  }
  void expect_err_chunk(const RawPeer::Message& message, std::uint32_t xid = kXid) {
    ASSERT_EQ(message.octets.size(), 20u);
    EXPECT_EQ(message.header.procedure, wire::Procedure::error);
    EXPECT_EQ(message.header.error, wire::ErrorKind::chunk);
    EXPECT_EQ(message.header.xid, xid);  // [8166-4.5-d]
    EXPECT_FALSE(message.invalidated);
  }

  boost::asio::io_context context;
  fabric::LoopbackNetwork network{context};
  std::unique_ptr<fabric::LoopbackFabric> server_fabric = network.make_fabric("server");
  std::unique_ptr<fabric::LoopbackFabric> peer_fabric = network.make_fabric("peer");
  memory::Pool pool{*server_fabric};
  ShapedHandler handler;
  fabric::Endpoint endpoint;
  std::unique_ptr<transport::Server> server;
  RawPeer peer{*peer_fabric};
};

// [8166-4.5-a] a message shorter than a header is discarded
TEST_F(ResponderTest, ShortMessages) {
  start();
  const Bytes call = from_hex("a0000001 00000001 00000020 00000000 00000000 00000000 00000000");
  for (std::size_t size = 0; size < call.size(); ++size) EXPECT_EQ(answer(Octets(call).first(size)), "") << size;
  EXPECT_EQ(server->counters().discarded, 28u);
  expect_alive();
}

// The length that a fabric reports is checked against the buffer.
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

// [8166-4.5-b] [8166-4.5.2-a] [8166-4.6.1-b] [8166-4.2.4-a] [8166-4.2.1-a]
TEST_F(ResponderTest, BrokenHeaders) {
  start();
  const char* broken[] = {
      "a0000001 00000001 00000020 00000005 00000000 00000000 00000000",                    // unknown procedure
      "a0000001 00000001 00000020 00000002 00000000 00000000 00000000 00000000 00000000",  // RDMA_MSGP
      "a0000001 00000001 00000020 00000001 00000000 00000000 00000000",                    // RDMA_NOMSG without chunks
      "a0000001 00000001 00000020 00000000 00000001 00000000 00000000",                    // truncated Read list
      "a0000001 00000001 00000020 00000000 00000000 00000001 ffffffff",                    // truncated Write list
      "a0000001 00000001 00000020 00000000 00000002 00000000 00000000 a0000001 00000000",  // neither 0 nor 1
      "a0000001 00000001 00000020 00000000 00000000 00000000 00000000 a0000002 00000000",  // another XID
      "a0000001 00000001 00000020 00000000 00000000 00000000 00000000 a0000001",           // cut behind the XID
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

// [8166-4.6.2-b] [8166-4.2.4-d] [8166-4.5-c] obsolete, errors and replies are not answered
TEST_F(ResponderTest, NotAnswered) {
  start();
  EXPECT_EQ(answer("a0000001 00000001 00000020 00000003 00000000 00000000 00000000"), "");
  EXPECT_EQ(answer("a0000001 00000001 00000020 00000004 00000002"), "");
  EXPECT_EQ(answer("a0000001 00000001 00000020 00000004 00000001 00000001 00000001"), "");
  EXPECT_EQ(answer("a0000001 00000001 00000020 00000004 00000009 00000001 00000001"), "");
  EXPECT_EQ(answer("a0000001 00000001 00000020 00000000 00000000 00000000 00000000 a0000001 00000001"), "");
  expect_alive();
}

// [8166-4.5-c] a malformed message that may be a reply to a reverse call is not answered: the answer would end the
// peer's own call of the same XID
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

// An RDMA_NOMSG whose lists do not hold the payload [8166-4.2.4-a]
TEST_F(ResponderTest, NomsgWithoutPositionZero) {
  start();
  auto call = header(kXid, wire::Procedure::nomsg);
  call.chunks.begin_reply_chunk();
  call.chunks.add_reply_segment({1, 2, 3});
  expect_err_chunk(exchange(call, {}));
  call.chunks.reads.push_back({24, {1, 100, 0}});
  expect_err_chunk(exchange(call, {}));
  call.chunks.reads = {{0, {1, 0, 0}}};
  expect_err_chunk(exchange(call, {}));
  expect_alive();
}

// Read chunks that claim the same bytes, or lie outside the message; [8267-6.4.2-b] too many segments
TEST_F(ResponderTest, ReadChunksThatDoNotFit) {
  transport::ServerOptions options;
  options.max_chunk = 100000;
  options.max_segments = 4;
  start(options);
  const Bytes payload = small_call(kXid);
  const std::vector<std::vector<wire::ReadSegment>> lists = {
      {{0, {1, 100, 0}}},                                    // position 0 in an RDMA_MSG
      {{4, {1, 100, 0}}},                                    // before the message type ends
      {{28, {1, 100, 0}}},                                   // behind the end
      {{16, {1, 5, 0}}, {20, {2, 4, 0}}},                    // the second inside the first
      {{16, {1, 8, 0}}, {12, {2, 8, 0}}},                    // not ascending, and overlapping
      {{16, {1, 60000, 0}}, {16, {1, 60000, 0}}},            // too long together [8166-8.1.4-a]
      {{16, {1, 0xffffffff, 0}}, {16, {1, 0xffffffff, 0}}},  // sum beyond 32 bits
      {{0xfffffffc, {1, 8, 0}}},                             // end beyond 32 bits
      {{16, {1, 4, 0}}, {16, {1, 4, 0}}, {16, {1, 4, 0}}, {16, {1, 4, 0}}, {16, {1, 4, 0}}},  // more than four
  };
  for (const auto& list : lists) {
    auto call = header(kXid);
    call.chunks.reads = list;
    SCOPED_TRACE(list.size());
    expect_err_chunk(exchange(call, payload));
  }
  EXPECT_EQ(handler.calls, 0);
  expect_alive();
}

// [8166-3.4.5.2-d] [8166-3.4.5-d] with pad or without, in any segments, in any order of positions
TEST_F(ResponderTest, ReadChunksWithAndWithoutPad) {
  start();
  struct Case {
    std::vector<std::uint32_t> segments;
  };
  for (const std::uint32_t length : {5u, 8u, 6001u}) {
    for (const bool padded : {false, true}) {
      for (const std::uint32_t first : {1u, 4u, length}) {
        const std::uint32_t total = padded ? pad4(length) : length;
        auto data = peer.expose(total, fabric::Access::remote_read);
        fill_pattern(data.memory.octets().first(length), 8);
        auto call = header(kXid);
        const Segment& all = data.segment;
        call.chunks.reads.push_back({24, {all.handle, std::min(first, total), all.offset}});
        if (first < total) call.chunks.reads.push_back({24, {all.handle, total - first, all.offset + first}});
        call.chunks.reads.push_back({24, {all.handle, 0, 0}});  // a segment without bytes is read without RDMA
        std::size_t got = 0;
        memory::RegisteredBuffer memory = pool.allocate(length).value();
        bool same = false;
        handler.intercept = [&](transport::IncomingCall& incoming) {
          const BufferRef destination = memory.ref();
          got = incoming.payload().items.at(0).length;
          incoming.pull(0, {&destination, 1}, [&](error_code status) {
            same = !status && has_pattern(memory.octets(), 8);
            incoming.reply().octets(words({incoming.xid(), 1}));
            incoming.send({});
          });
          return true;
        };
        const auto reply = exchange(call, words({kXid, 0, 8, 0, 1, length, 0}));
        EXPECT_EQ(got, total);
        EXPECT_TRUE(same) << length << " " << padded << " " << first;
        EXPECT_EQ(reply.payload, words({kXid, 1}));
        EXPECT_TRUE(reply.header.chunks.reads.empty());     // [8166-4.3.1-a]
        EXPECT_EQ(reply.invalidated, data.segment.handle);  // [8797-4.1-b]
      }
    }
  }
}

// [8166-3.4.6-b] [8166-3.4.6-c] [8166-3.4.6.2-b] [8166-3.4.6.2-c] [8166-4.3.2.1-a] [8166-4.3.2.2-c] [8166-4.3.2.3-a]
TEST_F(ResponderTest, WriteChunksInOrder) {
  start();
  auto memory = peer.expose(4000, fabric::Access::remote_write);
  fill_pattern(memory.memory.octets(), 99);
  const Segment all = memory.segment;
  const auto part = [&](std::uint32_t at, std::uint32_t length) {
    return Segment{all.handle, length, all.offset + at};
  };
  auto call = header(kXid);
  const std::vector<Segment> first = {part(0, 100), part(100, 50), part(200, 100), part(400, 7)};
  call.chunks.add_write_chunk(first);
  call.chunks.begin_write_chunk();  // the second result is to come inline
  call.chunks.add_write_chunk(std::vector{part(1000, 300)});
  call.chunks.add_write_chunk(std::vector{part(2000, 300), part(3000, 300)});
  const auto reply = exchange(call, small_call(kXid, {151, 10, 299}));
  ASSERT_EQ(reply.header.chunks.write_chunk_count(), 4u);
  EXPECT_EQ(std::vector(reply.header.chunks.write_chunk(0).begin(), reply.header.chunks.write_chunk(0).end()),
            (std::vector<Segment>{part(0, 100), part(100, 50), part(200, 1), part(400, 0)}));
  EXPECT_TRUE(reply.header.chunks.write_chunk(1).empty());
  EXPECT_EQ(reply.header.chunks.write_chunk(2)[0], part(1000, 299));
  EXPECT_EQ(reply.header.chunks.write_chunk(3)[0], part(2000, 0));
  EXPECT_EQ(reply.header.chunks.write_chunk(3)[1], part(3000, 0));
  const auto octets = memory.memory.octets();
  EXPECT_TRUE(has_pattern(octets.first(150), 0x10000 + 7));
  EXPECT_TRUE(has_pattern(octets.subspan(150, 50), 99, 150));  // untouched
  EXPECT_TRUE(has_pattern(octets.subspan(200, 1), 0x10000 + 7, 150));
  EXPECT_TRUE(has_pattern(octets.subspan(201, 799), 99, 201));
  EXPECT_TRUE(has_pattern(octets.subspan(1000, 299), 0x10000 + 9));
  EXPECT_TRUE(has_pattern(octets.subspan(1299), 99, 1299));  // no pad
  EXPECT_EQ(reply.payload.size(), 12u + 4 + 4 + 12 + 4);
}

// [8166-4.5.3-b] [8267-3.1-a] nothing is written when the result does not fit its chunk
TEST_F(ResponderTest, ResultLargerThanItsChunk) {
  start();
  auto memory = peer.expose(4000, fabric::Access::remote_write);
  fill_pattern(memory.memory.octets(), 99);
  auto call = header(kXid);
  call.chunks.add_write_chunk(std::vector{memory.segment});
  expect_err_chunk(exchange(call, small_call(kXid, {4001})));
  EXPECT_TRUE(has_pattern(memory.memory.octets(), 99));
  EXPECT_EQ(handler.sent, 1);
  expect_alive();
}

// [8166-4.5.3-b] neither inline nor Reply chunk
TEST_F(ResponderTest, ReplyTooLong) {
  start();
  expect_err_chunk(exchange(header(kXid), small_call(kXid, {}, 8000)));
  auto memory = peer.expose(6000, fabric::Access::remote_write);
  fill_pattern(memory.memory.octets(), 99);
  auto call = header(kXid);
  call.chunks.begin_reply_chunk();
  call.chunks.add_reply_segment(memory.segment);
  expect_err_chunk(exchange(call, small_call(kXid, {}, 8000)));
  expect_err_chunk(exchange(call, small_call(kXid, {}, 900000)));
  EXPECT_TRUE(has_pattern(memory.memory.octets(), 99));
  expect_alive();
}

// [8166-3.5.3-d] [8166-3.5.3-f] [8166-4.3.3-c]
TEST_F(ResponderTest, ReplyChunkOfSeveralSegments) {
  start();
  auto memory = peer.expose(9000, fabric::Access::remote_write);
  const Segment all = memory.segment;
  auto call = header(kXid);
  call.chunks.begin_reply_chunk();
  call.chunks.add_reply_segment({all.handle, 5000, all.offset});
  call.chunks.add_reply_segment({all.handle, 4000, all.offset + 5000});
  const auto reply = exchange(call, small_call(kXid, {}, 6000));
  EXPECT_EQ(reply.header.procedure, wire::Procedure::nomsg);
  ASSERT_EQ(reply.header.chunks.reply_chunk().size(), 2u);
  EXPECT_EQ(reply.header.chunks.reply_chunk()[0].length, 5000u);
  EXPECT_EQ(reply.header.chunks.reply_chunk()[1].length, 1012u);
  EXPECT_TRUE(has_pattern(memory.memory.octets().subspan(12, 6000), 0x10000 + 7));
}

// [8166-3.5.3-c] [8166-4.2.1-a] a long call is checked once it is here
TEST_F(ResponderTest, LongCalls) {
  start();
  auto memory = peer.expose(24, fabric::Access::remote_read);
  const auto put = [&](const Bytes& octets) { std::copy(octets.begin(), octets.end(), memory.memory.octets().data()); };
  auto call = header(kXid, wire::Procedure::nomsg);
  const Segment all = memory.segment;
  call.chunks.reads = {{0, {all.handle, 10, all.offset}}, {0, {all.handle, 14, all.offset + 10}}};
  put(words({kXid + 1, 0, 7, 0, 0, 0}));
  expect_err_chunk(exchange(call, {}));
  memory = peer.expose(24, fabric::Access::remote_read);
  call.chunks.reads = {{0, memory.segment}};
  put(words({kXid, 1, 7, 0, 0, 0}));
  expect_err_chunk(exchange(call, {}));
  memory = peer.expose(24, fabric::Access::remote_read);
  call.chunks.reads = {{0, memory.segment}};
  put(words({kXid, 0, 7, 0, 0, 0}));
  EXPECT_EQ(exchange(call, {}).payload, words({kXid, 1, 7}));
  expect_alive();
}

// [8166-4.5.3-a] a chunk that cannot be read ends the connection; the same call again is answered by ERR_CHUNK
TEST_F(ResponderTest, UnreadableChunkIsRefusedTheSecondTime) {
  start();
  auto call = header(kXid);
  call.chunks.reads.push_back({24, {0x12345, 100, 0}});
  const Bytes payload = words({kXid, 0, 7, 0, 1, 100, 0});
  EXPECT_EQ(exchange(call, payload).octets, Bytes());
  EXPECT_TRUE(peer.ended());
  EXPECT_EQ(server->counters().connections, 0u);
  connect();
  expect_err_chunk(exchange(call, payload));
  expect_alive();
  // Once answered it is forgotten.
  EXPECT_EQ(exchange(call, payload).octets, Bytes());
  EXPECT_TRUE(peer.ended());
}

// [8166-4.5.3-a] a peer with an IRD of 0 cannot be read from: its Read chunks are refused, and the connection stays
TEST_F(ResponderTest, ReadChunksOfAPeerThatTakesNoReads) {
  peer.inbound_reads = 0;
  start();
  const auto exposed = peer.expose(100, fabric::Access::remote_read);
  auto call = header(kXid);
  call.chunks.reads.push_back({24, exposed.segment});
  const Bytes payload = words({kXid, 0, 7, 0, 1, 100, 0});
  for (int i = 0; i < 3; ++i) expect_err_chunk(exchange(call, payload));
  auto long_call = header(kXid, wire::Procedure::nomsg);
  long_call.chunks.reads.push_back({0, exposed.segment});
  expect_err_chunk(exchange(long_call, {}));
  EXPECT_FALSE(peer.ended());
  expect_alive();
}

TEST_F(ResponderTest, UnwritableChunkIsRefusedTheSecondTime) {
  start();
  auto call = header(kXid);
  call.chunks.add_write_chunk(std::vector<Segment>{{0x12345, 100, 0}});
  EXPECT_EQ(exchange(call, small_call(kXid, {100})).octets, Bytes());
  EXPECT_TRUE(peer.ended());
  connect();
  expect_err_chunk(exchange(call, small_call(kXid, {100})));
  expect_alive();
}

// Sent again the call has other handles; another call of the same XID, from behind the same address, is another call
TEST_F(ResponderTest, SuspectsAreKnownByWhatIsSentAgain) {
  start();
  for (const bool read : {true, false}) {
    SCOPED_TRACE(read);
    const auto call_with = [&](const Segment& segment) {
      auto call = header(kXid);
      if (read)
        call.chunks.reads.push_back({24, segment});
      else
        call.chunks.add_write_chunk(std::vector{segment});
      return call;
    };
    const Bytes payload = read ? words({kXid, 0, 7, 0, 1, 100, 0}) : small_call(kXid, {100});
    EXPECT_EQ(exchange(call_with({0x12345, 100, 0}), payload).octets, Bytes());
    EXPECT_TRUE(peer.ended());
    connect();
    EXPECT_EQ(exchange(header(kXid), small_call(kXid)).payload, words({kXid, 1, 7}));
    auto exposed = peer.expose(200, read ? fabric::Access::remote_read : fabric::Access::remote_write);
    Bytes other = payload;
    other[11] ^= std::byte{1};  // the seed
    if (read) {
      fill_pattern(exposed.memory.octets(), 7);
      expect_err_chunk(exchange(call_with({0x54321, 100, 4096}), payload));
    } else {
      EXPECT_EQ(exchange(call_with({exposed.segment.handle, 100, exposed.segment.offset}), other).header.procedure,
                wire::Procedure::msg);
      expect_err_chunk(exchange(call_with({0x54321, 100, 4096}), payload));
    }
    expect_alive();
  }
}

// [8166-4.5.4-b] a reply, or an RDMA_ERROR, that cannot be sent ends the connection
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

// [8166-4.5.4-b] a reply for which there is no memory ends the connection as well
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

// A segment beyond the last address is refused in every chunk list; one that ends there is accepted.
TEST_F(ResponderTest, SegmentsThatWrapAround) {
  start();
  const Segment wraps = {1, 100, ~std::uint64_t{0} - 98}, fits = {1, 100, ~std::uint64_t{0} - 99};
  for (const Segment& segment : {wraps, fits}) {
    std::vector<wire::Header> calls(3, header(kXid));
    calls[0].chunks.reads.push_back({24, segment});
    calls[1].chunks.add_write_chunk(std::vector{segment});
    calls[2].chunks.begin_reply_chunk();
    calls[2].chunks.add_reply_segment(segment);
    int delivered = 0;
    handler.intercept = [&](transport::IncomingCall& call) {
      ++delivered;
      call.fail();
      return true;
    };
    for (const wire::Header& call : calls) expect_err_chunk(exchange(call, small_call(kXid)));
    EXPECT_EQ(delivered, segment == fits ? 3 : 0);
  }
}

// [8166-3.3.1-g] a client that has no receive but for the reply it expects
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

// [8166-3.3.3-b] whatever is agreed on, 1024 bytes are taken
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

// [8267-6.4.2-a] as many segments as any client may use: 16 in each of four chunks
TEST_F(ResponderTest, SixteenSegmentsInEachChunk) {
  start();
  constexpr std::uint32_t kPieces = 16, kPiece = 500, kAll = kPieces * kPiece;
  const auto cut = [&](const Segment& all, std::uint32_t length) {
    std::vector<Segment> out;
    for (std::uint32_t i = 0; i < kPieces; ++i)
      out.push_back({all.handle, i + 1 < kPieces ? kPiece : length - i * kPiece, all.offset + i * kPiece});
    return out;
  };
  // One argument and one result of kAll bytes each, and a body behind them in either direction.
  Bytes stream = words({kXid, 0, 7, kAll - 16, 1, kAll, 1, kAll});
  stream.resize(kAll);
  fill_pattern(MutableOctets(stream).subspan(32), 7);
  auto body = peer.expose(kAll, fabric::Access::remote_read);
  std::copy(stream.begin(), stream.end(), body.memory.octets().data());
  auto argument = peer.expose(kAll, fabric::Access::remote_read);
  fill_pattern(argument.memory.octets(), 8);
  auto result = peer.expose(kAll, fabric::Access::remote_write);
  auto reply = peer.expose(kAll, fabric::Access::remote_write);
  auto call = header(kXid, wire::Procedure::nomsg);
  for (const Segment& segment : cut(body.segment, kAll)) call.chunks.reads.push_back({0, segment});
  for (const Segment& segment : cut(argument.segment, kAll)) call.chunks.reads.push_back({24, segment});
  call.chunks.add_write_chunk(cut(result.segment, kAll));
  call.chunks.begin_reply_chunk();
  for (const Segment& segment : cut(reply.segment, kAll)) call.chunks.add_reply_segment(segment);
  const auto answer = exchange(call, {});
  EXPECT_EQ(handler.complaint, "");
  EXPECT_EQ(answer.header.procedure, wire::Procedure::nomsg);
  EXPECT_TRUE(has_pattern(result.memory.octets(), 0x10000 + 7));
  EXPECT_TRUE(has_pattern(reply.memory.octets().subspan(16), 0x10000 + 7));
}

// [8166-3.3.1-b] [8166-3.3.1-d] [8166-3.3.1-e] [8166-3.3.3-e] what is granted is backed by receives
TEST_F(ResponderTest, GrantsWhatIsAskedForWithinItsLimit) {
  transport::ServerOptions options;
  options.connection.credits = 20;
  start(options);
  for (const std::uint32_t asked : {0u, 1u, 3u, 10u, 20u, 1000u, 2u}) {
    auto call = header(kXid);
    call.credits = asked;
    const auto reply = exchange(call, small_call(kXid));
    EXPECT_EQ(reply.header.credits, std::clamp(asked, 1u, 20u));
    // As many at once as were granted.
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

// [8797-4.1-c] plain Sends when either side has R clear
TEST_F(ResponderTest, NoRemoteInvalidationUnlessBothSidesAgree) {
  start();
  peer.private_data.clear();
  connect();
  auto memory = peer.expose(1000, fabric::Access::remote_write);
  auto call = header(kXid);
  call.chunks.add_write_chunk(std::vector{memory.segment});
  const auto reply = exchange(call, small_call(kXid, {1000}));
  EXPECT_EQ(reply.header.chunks.write_chunk(0)[0].length, 1000u);
  EXPECT_FALSE(reply.invalidated);
  EXPECT_EQ(server->counters().invalidated, 0u);
}

}  // namespace
}  // namespace rpcrdma::test
