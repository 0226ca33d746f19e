// SPDX-License-Identifier: BSD-3-Clause
// Chunks in calls of a hand-made client (RFC 8166 sections 3.4, 3.5 and 4.5).
#include "responder_fixture.hpp"
#include "support/pattern.hpp"

namespace rpcrdma::test {
namespace {

// [8166-4.2.4-a] RDMA_NOMSG whose Position-Zero Read chunk is missing or does not hold the payload
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

// The responder answers with ERR_CHUNK if Read chunks overlap, have a position that is not permitted, or
// [8267-6.4.2-b] exceed its limits.
TEST_F(ResponderTest, ReadChunksThatDoNotFit) {
  transport::ServerOptions options;
  options.max_chunk = 100000;
  options.max_segments = 4;
  start(options);
  const Bytes payload = small_call(kXid);
  const std::vector<std::vector<wire::ReadSegment>> lists = {
      {{0, {1, 100, 0}}},                                    // position 0 in an RDMA_MSG
      {{4, {1, 100, 0}}},                                    // at the position of the RPC message type
      {{28, {1, 100, 0}}},                                   // beyond the end
      {{16, {1, 5, 0}}, {20, {2, 4, 0}}},                    // overlaps the first
      {{16, {1, 8, 0}}, {12, {2, 8, 0}}},                    // not ascending, and overlapping
      {{16, {1, 60000, 0}}, {16, {1, 60000, 0}}},            // too long together [8166-8.1.4-a]
      {{16, {1, 0xffffffff, 0}}, {16, {1, 0xffffffff, 0}}},  // sum beyond 32 bits
      {{0xfffffffc, {1, 8, 0}}},                             // extends beyond 32 bits
      {{16, {1, 4, 0}}, {16, {1, 4, 0}}, {16, {1, 4, 0}}, {16, {1, 4, 0}}, {16, {1, 4, 0}}},  // more than max_segments
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

// [8166-3.4.5.2-d] [8166-3.4.5-d] Read chunks with and without padding: one or two segments, then an empty segment
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
        call.chunks.reads.push_back({24, {all.handle, 0, 0}});  // an empty segment needs no RDMA Read
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
  call.chunks.begin_write_chunk();  // an empty chunk: the second result travels inline
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
  EXPECT_TRUE(has_pattern(octets.subspan(150, 50), 99, 150));  // not written to
  EXPECT_TRUE(has_pattern(octets.subspan(200, 1), 0x10000 + 7, 150));
  EXPECT_TRUE(has_pattern(octets.subspan(201, 799), 99, 201));
  EXPECT_TRUE(has_pattern(octets.subspan(1000, 299), 0x10000 + 9));
  EXPECT_TRUE(has_pattern(octets.subspan(1299), 99, 1299));  // the pad is not written
  EXPECT_EQ(reply.payload.size(), 12u + 4 + 4 + 12 + 4);
}

// [8166-4.5.3-b] [8267-3.1-a] nothing is written if a result does not fit its chunk
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

// [8166-4.5.3-b] a reply that does not fit inline, without a Reply chunk or with one that is too small
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

// [8166-3.5.3-d] [8166-3.5.3-f] [8166-4.3.3-c] The Reply chunk has two segments. The responder fills the first segment
// and writes the remaining bytes to the second one. It returns the chunk with the number of bytes in each segment.
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

// [8166-3.5.3-c] [8166-4.2.1-a] a long call is checked after it has been read
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

// [8166-4.5.3-a] a chunk that cannot be read ends the connection; a retransmission of the call receives ERR_CHUNK
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
  // The server remembers a faulty call only until it has refused one retransmission of the call. The second
  // retransmission is treated as a new call: the server tries to read the chunk, and the connection ends.
  EXPECT_EQ(exchange(call, payload).octets, Bytes());
  EXPECT_TRUE(peer.ended());
}

// [8166-4.5.3-a] the server cannot read from a peer whose IRD is 0: it refuses Read chunks, and the connection stays
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

// A call that has ended a connection is recognized when it is retransmitted with other handles. A different call with
// the same XID from the same peer address counts as a new call.
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
    other[11] ^= std::byte{1};  // another seed, so another call
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

// In every chunk list, a segment that extends beyond the last address is refused; one that ends there is accepted.
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

// [8267-6.4.2-a] the largest number of segments: 16 in each of four chunks
TEST_F(ResponderTest, SixteenSegmentsInEachChunk) {
  start();
  constexpr std::uint32_t kPieces = 16, kPiece = 500, kAll = kPieces * kPiece;
  const auto cut = [&](const Segment& all, std::uint32_t length) {
    std::vector<Segment> out;
    for (std::uint32_t i = 0; i < kPieces; ++i)
      out.push_back({all.handle, i + 1 < kPieces ? kPiece : length - i * kPiece, all.offset + i * kPiece});
    return out;
  };
  // A call of the protocol in exchange.hpp, with one argument and one result of kAll bytes each. The bodies of the call
  // and of the reply are so long that the call without its argument has kAll bytes, and the reply without its result
  // too.
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

}  // namespace
}  // namespace rpcrdma::test
