// SPDX-License-Identifier: BSD-3-Clause
// A stream without violations: each test sends frames or posts work, and states the result.
#include <filesystem>
#include <random>

#include "iwarp_test.hpp"
#include "wire/fpdu.hpp"

namespace rpcrdma::test {
namespace {

class Stream : public IwarpTest {
 protected:
  iwarp::ReadRequest asked_for() {
    const Heard heard = peer_.next_segment();
    EXPECT_EQ(heard.opcode(), Opcode::read_request);
    EXPECT_FALSE(heard.header.tagged);  // [5040-5.2.1-a]
    EXPECT_EQ(heard.header.queue, 1u);
    EXPECT_EQ(heard.ulpdu.size(), 46u);
    Reader in(heard.payload);
    return iwarp::decode_read_request(in);
  }
  /// Returns a stream of FPDUs with Sends and Writes of several forms. The Writes fill `window`, which has 3000 bytes.
  Bytes everything(const Segment& window);
  /// Expects that the queue pair receives the four Sends of everything() and places the Writes of everything().
  void expect_everything(const Segment& window);
};

Bytes Stream::everything(const Segment& window) {
  Bytes payload(3000);
  fill_pattern(payload, 1);
  const auto part = [&](std::size_t from, std::size_t size) {
    return Bytes(payload.begin() + static_cast<std::ptrdiff_t>(from),
                 payload.begin() + static_cast<std::ptrdiff_t>(from + size));
  };
  return write(0xdead, 7, {}) + send(1, part(0, 100)) + write(window.handle, window.offset, part(0, 1000), false) +
         fpdu(ddp(untagged(Opcode::send, 0, 2, 0, false), part(0, 64))) +  // a Write may come between two segments
         write(window.handle, window.offset + 1000, part(1000, 2000)) +
         fpdu(ddp(untagged(Opcode::send, 0, 2, 64), part(64, 36))) + send(3, {}) +
         fpdu(ddp(untagged(Opcode::send_solicited, 0, 4), part(0, 5)));
}

void Stream::expect_everything(const Segment& window) {
  ASSERT_TRUE(until([&] { return node().log.size() == 4 || node().disconnected; }));
  EXPECT_EQ(node().tags(), (std::vector<int>{1, 2, 3, 4}));
  const std::uint32_t lengths[] = {100, 100, 0, 5};
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(node().result(i + 1).status);
    EXPECT_EQ(node().result(i + 1).length, lengths[i]);
    EXPECT_FALSE(node().result(i + 1).invalidated);
  }
  EXPECT_EQ(window.length, 3000u);
  EXPECT_TRUE(has_pattern(memory().part(100000, 3000).octets(), 1));
  EXPECT_TRUE(has_pattern(memory().part(0, 100).octets(), 1));
  EXPECT_TRUE(has_pattern(memory().part(100, 100).octets(), 1));
  EXPECT_TRUE(all_are(memory().part(103000, 1000).octets(), std::byte{0xee}));
}

class Slices : public Stream, public testing::WithParamInterface<std::tuple<std::size_t, bool>> {};

// [5044-5.1-b] [5044-5.2-a] [5040-5.1-a] [5040-5.3-b] the stream arrives byte by byte, in random slices, or at once,
// with CRCs and without [5044-4.4-j]; each message is delivered whole and in order [5041-4.1-d] [5041-5.4-a], with its
// length [5044-3-f] [5041-3-e] [5041-5.4-b]
TEST_P(Slices, Stream) {
  const auto [largest, crc] = GetParam();
  serve(crc);
  const Exposed exposed = expose(100000, 3000, fabric::Access::remote_write);
  for (int tag = 1; tag <= 4; ++tag) post_receive(100, tag);
  const Bytes stream = everything(exposed.segment);
  std::mt19937 random(5044);
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t n = std::min(stream.size() - at, 1 + random() % largest);
    const auto from = stream.begin() + static_cast<std::ptrdiff_t>(at);
    peer_.send({from, from + static_cast<std::ptrdiff_t>(n)});
    run_ready(context_);
    at += n;
  }
  expect_everything(exposed.segment);
}

INSTANTIATE_TEST_SUITE_P(All, Slices, testing::Combine(testing::Values(1u, 20u, 300u, 1u << 20), testing::Bool()));

// [5041-4.1-e] [5040-4.1-c] [5040-4.1-d] reserved bits, and an STag where none is defined, are ignored
TEST_F(Stream, ReservedBits) {
  serve();
  post_receive(100, 1);
  Bytes ulpdu = ddp(untagged(Opcode::send, 0, 1), filled(4, 1));
  ulpdu[0] |= std::byte{0x3c};
  ulpdu[1] |= std::byte{0x30};
  ulpdu[5] = std::byte{0x77};
  peer_.send(fpdu(ulpdu));
  ASSERT_TRUE(until([&] { return node().count(1) == 1; }));
  EXPECT_FALSE(node().result(1).status);
  EXPECT_FALSE(node().result(1).invalidated);
}

// [5044-5.1-a] an FPDU fits the TCP segments of the path
TEST_F(Stream, FramesFitTheSegmentsOfThePath) {
  constexpr std::uint32_t kSegment = 1000;
  peer_.limit_segments(kSegment);
  serve();
  peer_.send(write(0, 0, {}));
  fill_pattern(memory().octets, 3);
  ASSERT_FALSE(node().send(memory().part(0, 10000), 1));
  node().qp->submit();
  std::size_t received = 0;
  for (bool last = false; !last && !HasFailure();) {
    const Heard heard = peer_.segment();
    EXPECT_LE(iwarp::fpdu_size(heard.ulpdu.size()), kSegment);
    received += heard.payload.size();
    last = heard.header.last;
  }
  EXPECT_EQ(received, 10000u);
}

// Quiescing a queue pair ends the connection in an orderly way if only Receives are outstanding.
TEST_F(Stream, QuiesceOfAnIdleConnectionIsOrderly) {
  serve();
  peer_.send(write(0, 0, {}));
  post_receive(100, 1);
  ASSERT_FALSE(node().send(memory().part(1000, 100), 2));
  node().qp->submit();
  ASSERT_TRUE(until([&] { return node().count(2) == 1; }));
  node().qp->quiesce();
  EXPECT_EQ(peer_.segment().opcode(), Opcode::send);
  EXPECT_TRUE(peer_.ends());
  EXPECT_FALSE(peer_.was_reset());
}

// If the peer has acknowledged all bytes that were sent, and all bytes that have arrived have been read, the quiesce of
// an idle connection closes the socket at once. It does not wait until the peer closes its side.
TEST_F(Stream, QuiesceOfAnIdleConnectionClosesItsSocket) {
  const auto descriptors = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
  fabric::IwarpOptions options;
  options.close_timeout = std::chrono::hours(1);
  open(options);
  serve();
  post_receive(100, 1);
  peer_.send(send(1, Bytes(100)));  // its TCP segment acknowledges all that the node has sent: the MPA Reply
  ASSERT_TRUE(until([&] { return node().count(1) == 1; }));
  const auto before = descriptors();
  node().qp->quiesce();
  EXPECT_EQ(descriptors(), before - 1);
  EXPECT_TRUE(peer_.ends());
  EXPECT_FALSE(peer_.was_reset());
}

TEST_F(Stream, QuiesceOfABusyConnectionIsAReset) {
  serve();
  peer_.send(write(0, 0, {}));
  ASSERT_FALSE(node().read(memory().part(0, 100), {7, 100, 0}, 1));
  node().qp->submit();
  EXPECT_EQ(peer_.segment().opcode(), Opcode::read_request);
  node().qp->quiesce();
  EXPECT_TRUE(peer_.ends());
  EXPECT_TRUE(peer_.was_reset());
}

// [5041-5.2-a] [5041-4.1-b] [5041-4.1-c] [5041-4.3-c] [5041-4.3-d] [5044-3-a] [5044-3-b] [5044-3-c] [5044-4.5-d]
// [5041-4.4-a] [5041-4.2-b] [5041-5.3-b]
TEST_F(Stream, SendsAreCutToTheMulpdu) {
  fabric::IwarpOptions options;
  options.max_ulpdu = 128;
  options.crc = true;
  open(options);
  start();
  asked();
  peer_.send(reply(0x50, 2, "00100010"));
  ASSERT_TRUE(until([&] { return node().established(); }));
  fill_pattern(memory().octets, 3);
  ASSERT_FALSE(node().send(memory().part(0, 1024), 1));
  node().qp->submit();
  Bytes got;
  for (std::size_t i = 0; i < 10; ++i) {
    const Heard heard = peer_.segment();
    EXPECT_TRUE(heard.crc_good);
    EXPECT_EQ(heard.header, (untagged(Opcode::send, 0, 1, i * 110, i == 9)));
    EXPECT_EQ(heard.payload.size(), i == 9 ? 34u : 110u);
    got = got + heard.payload;
  }
  EXPECT_TRUE(has_pattern(got, 3));
  ASSERT_FALSE(node().write(memory().part(0, 300), {0x55, 300, 16384}, 2));
  node().qp->submit();
  for (std::size_t i = 0; i < 3; ++i) {
    const Heard heard = peer_.next_segment();
    EXPECT_EQ(heard.header, tagged(Opcode::write, 0x55, 16384 + i * 114, i == 2));
    EXPECT_EQ(heard.payload.size(), i == 2 ? 72u : 114u);
  }
}

// [5044-3-e] [5041-5.2-c] To a peer on this host, frames need not fit TCP segments. Even then, no ULPDU is longer than
// 64768 bytes.
TEST_F(Stream, NoFrameIsTooLarge) {
  connect();
  fill_pattern(memory().octets, 4);
  ASSERT_FALSE(node().write(memory().part(0, 1u << 20), {0x55, 1u << 20, 0x1000}, 1));
  node().qp->submit();
  std::size_t at = 0;
  bool last = false;
  while (!last) {
    const Heard heard = peer_.next_segment();
    ASSERT_EQ(heard.opcode(), Opcode::write);
    EXPECT_LE(heard.ulpdu.size(), 64768u);
    EXPECT_EQ(heard.header.offset, 0x1000 + at);
    EXPECT_TRUE(has_pattern(heard.payload, 4, at));
    at += heard.payload.size();
    last = heard.header.last;
  }
  EXPECT_EQ(at, 1u << 20);
}

// [5040-4.1-d] [5040-5.3-d] [5041-4.3-b] the forms of a Send
TEST_F(Stream, Sends) {
  connect();
  const BufferRef part = memory().part(0, 3);
  const fabric::SendOptions forms[] = {{}, {true, {}}, {false, 0x01020304}, {true, 0x01020304}, {false, 0}};
  for (const auto& form : forms) ASSERT_FALSE(node().qp->post_send({&part, 1}, form, nullptr));
  node().qp->submit();
  const std::pair<Opcode, std::uint32_t> expected[] = {{Opcode::send, 0},
                                                       {Opcode::send_solicited, 0},
                                                       {Opcode::send_invalidate, 0x01020304},
                                                       {Opcode::send_solicited_invalidate, 0x01020304},
                                                       {Opcode::send_invalidate, 0}};
  std::uint32_t msn = 1;
  for (const auto& [opcode, stag] : expected) {
    const Heard heard = peer_.segment();
    EXPECT_EQ(heard.opcode(), opcode);
    EXPECT_EQ(heard.header.stag, stag);
    EXPECT_EQ(heard.header.msn, msn++);
  }
}

// [5040-5.1-b] [5041-5.3-a] [5040-5.5-d] work is sent in the order of posting
TEST_F(Stream, WorkGoesOutInOrder) {
  connect();
  constexpr int kCount = 30;
  for (int i = 0; i < kCount; ++i) {
    const auto at = static_cast<std::uint32_t>(i);
    switch (i % 3) {
      case 0: ASSERT_FALSE(node().write(memory().part(0, i % 2 == 0 ? 70000 : 10), {at, 70000, 0}, i)); break;
      case 1: ASSERT_FALSE(node().send(memory().part(0, 10), i, {.invalidate = at})); break;
      default: ASSERT_FALSE(node().read(memory().part(0, 10), {at, 10, 0}, i));
    }
    if (i % 7 == 0) node().qp->submit();
  }
  node().qp->submit();
  for (std::uint32_t i = 0; i < kCount && !HasFailure();) {
    const Heard heard = peer_.next_segment();
    EXPECT_EQ(heard.opcode(), i % 3 == 0 ? Opcode::write : i % 3 == 1 ? Opcode::send_invalidate : Opcode::read_request);
    std::uint32_t stag = heard.header.stag;
    if (i % 3 == 2) {
      Reader in(heard.payload);
      stag = iwarp::decode_read_request(in).source_stag;
    }
    EXPECT_EQ(stag, i);
    if (heard.header.last) ++i;
  }
}

// [5041-5.2-b] a message of 2^32 bytes is refused
TEST_F(Stream, MessagesThatAreTooLong) {
  connect();
  const BufferRef half{memory().octets.data(), 1u << 31, memory().all().local_key};
  const BufferRef halves[] = {half, half};
  EXPECT_EQ(node().qp->post_write(halves, 1, 0, nullptr), BaseError::invalid_argument);
  EXPECT_EQ(node().qp->post_send(halves, {}, nullptr), BaseError::invalid_argument);
}

// [5041-5.2-d] [5040-5.1-c] a message without bytes takes one segment
TEST_F(Stream, EmptyMessages) {
  connect();
  ASSERT_FALSE(node().qp->post_send({}, {}, nullptr));
  ASSERT_FALSE(node().qp->post_write({}, 5, 6, nullptr));
  ASSERT_FALSE(node().read(memory().part(0, 0), {7, 0, 8}, 1));
  node().qp->submit();
  EXPECT_EQ(to_hex(peer_.segment().ulpdu), "414300000000000000000000000100000000");
  EXPECT_EQ(to_hex(peer_.segment().ulpdu), "c140000000050000000000000006");
  const iwarp::ReadRequest request = asked_for();
  EXPECT_EQ(request.size, 0u);
  peer_.send(response(request.sink_stag, request.sink_offset, {}));
  ASSERT_TRUE(until([&] { return node().count(1) == 1; }));
  EXPECT_FALSE(node().result(1).status);
}

// [5040-5.2.1-e] [5040-4.4-b] an empty Read is answered, whatever its STag
TEST_F(Stream, EmptyReadOfNothing) {
  serve();
  peer_.send(read_request(1, {0x1234, 0x5678, 0, 0xdead, 0xbeef}));
  const Heard answer = peer_.segment();
  EXPECT_EQ(answer.header, tagged(Opcode::read_response, 0x1234, 0x5678));
  EXPECT_TRUE(answer.payload.empty());
}

// [5040-5.2.1-c] [5040-5.5-c] a Read returns the data of the Writes before it
TEST_F(Stream, ReadAfterWrite) {
  serve();
  const Exposed writable = expose(0, 100, fabric::Access::remote_write);
  const Exposed readable = expose(0, 100, fabric::Access::remote_read);
  peer_.send(write(writable.segment.handle, writable.segment.offset + 10, filled(20, 0x44)) +
             read_request(1, {1, 0, 40, readable.segment.handle, readable.segment.offset}));
  EXPECT_EQ(peer_.segment().payload, filled(10, 0xee) + filled(20, 0x44) + filled(10, 0xee));
}

// [5040-6.1-b] [5040-5.5-f] [5040-5.5-g] [5040-5.2-a] [5040-5.5-b] with an ORD of one, a second Read, and the work
// posted after it, wait for the first Response
TEST_F(Stream, OneReadAtATime) {
  start();
  asked();
  peer_.send(reply(0x10, 2, "00010010"));
  ASSERT_TRUE(until([&] { return node().established(); }));
  for (int i = 0; i < 10; ++i)
    ASSERT_FALSE(node().read(memory().part(static_cast<std::uint32_t>(i) * 10, 10), {7, 10, 0}, i));
  ASSERT_FALSE(node().send(memory().part(0, 1), 10));
  node().qp->submit();
  std::vector<int> expected;
  for (int i = 0; i < 10; ++i) {
    const iwarp::ReadRequest request = asked_for();
    EXPECT_EQ(node().tags(), expected);
    peer_.send(response(request.sink_stag, request.sink_offset, filled(10, static_cast<std::uint8_t>(i))));
    expected.push_back(i);
  }
  EXPECT_EQ(peer_.next_segment().opcode(), Opcode::send);
  expected.push_back(10);
  EXPECT_TRUE(until([&] { return node().tags() == expected; }));
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(all_are(memory().part(static_cast<std::uint32_t>(i) * 10, 10).octets(), std::byte(i)));
}

// [5040-5.5-g] [5040-5.2.2-d] a Send is sent while a Read is outstanding, and completes after it
TEST_F(Stream, SendBehindARead) {
  connect();
  ASSERT_FALSE(node().read(memory().part(0, 10), {7, 10, 0}, 1));
  ASSERT_FALSE(node().send(memory().part(0, 1), 2));
  node().qp->submit();
  const iwarp::ReadRequest request = asked_for();
  EXPECT_EQ(peer_.next_segment().opcode(), Opcode::send);
  run_ready(context_);
  EXPECT_TRUE(node().log.empty());
  peer_.send(response(request.sink_stag, request.sink_offset, filled(4, 1), false) +
             response(request.sink_stag, request.sink_offset + 4, filled(6, 1)));
  EXPECT_TRUE(until([&] { return node().tags() == std::vector<int>{1, 2}; }));
}

/// The node reads kSize bytes into its memory at kSink. The peer answers with large segments.
class LargeResponse : public Stream {
 protected:
  static constexpr std::uint32_t kSize = 380000;
  static constexpr std::uint32_t kSink = 1u << 20;

  void read() {
    connect();
    post_receive(100, 2);
    ASSERT_FALSE(node().read(memory().part(kSink, kSize), {7, kSize, 0}, 1));
    node().qp->submit();
    request_ = asked_for();
    fill_pattern(data_, 3);
  }
  /// Returns the next segment of the Response.
  Bytes segment(std::uint32_t size) {
    const auto from = data_.begin() + sent_;
    const std::uint32_t at = std::exchange(sent_, sent_ + size);
    return response(request_.sink_stag, request_.sink_offset + at, {from, from + size}, sent_ == kSize);
  }
  bool placed(std::uint32_t size) { return has_pattern(memory().part(kSink, size).octets(), 3); }

 private:
  std::uint32_t sent_ = 0;
  iwarp::ReadRequest request_;
  Bytes data_ = Bytes(kSize);
};

// One read takes several segments: first as expected, then with a Send in between, then of other sizes. Nothing is
// written beyond the sink, and the Read completes after the Send.
TEST_F(LargeResponse, ArrivesInSegmentsOfSeveralSizes) {
  read();
  Bytes stream = segment(60000);
  for (int i = 0; i < 2; ++i) stream = std::move(stream) + segment(60000);
  stream = std::move(stream) + send(1, filled(100, 0x22));
  for (const std::uint32_t size : {60000, 10, 64000, 60000, 15990}) stream = std::move(stream) + segment(size);
  peer_.send(stream);
  ASSERT_TRUE(until([&] { return node().log.size() == 2 || node().disconnected; }));
  EXPECT_EQ(node().tags(), (std::vector<int>{2, 1}));
  EXPECT_TRUE(all_are(memory().part(0, 100).octets(), std::byte{0x22}));
  EXPECT_TRUE(placed(kSize));
  EXPECT_TRUE(all_are(memory().part(kSink + kSize, 1000).octets(), std::byte{0xee}));
}

// While further segments are expected, the queue pair is destroyed. Nothing is written to the sink any more.
TEST_F(LargeResponse, TheQueuePairIsDestroyed) {
  read();
  Bytes stream = segment(60000);
  for (int i = 0; i < 3; ++i) stream = std::move(stream) + segment(60000);
  const auto middle = stream.begin() + 150'000;
  peer_.send({stream.begin(), middle});
  ASSERT_TRUE(until([&] { return placed(149'000); }));
  peer_.send({middle, stream.end()});
  node().qp.reset();
  std::ranges::fill(memory().octets, std::byte{0x99});
  run_ready(context_);
  EXPECT_TRUE(all_are(memory().part(0, 8u << 20).octets(), std::byte{0x99}));
  EXPECT_EQ(node().log.size(), 0u);
}

// [5040-8.1.1-c] each sink has an STag of its own, and the distance from one STag to the next varies
TEST_F(Stream, SinksHaveTagsOfTheirOwn) {
  connect();
  for (int i = 0; i < 3; ++i) ASSERT_FALSE(node().read(memory().part(0, 10), {7, 10, 0}, i));
  node().qp->submit();
  const std::uint32_t first = asked_for().sink_stag;
  const std::uint32_t second = asked_for().sink_stag;
  const std::uint32_t third = asked_for().sink_stag;
  EXPECT_NE(first, second);
  EXPECT_NE(second - first, third - second);
}

// Responses and posted work are sent alternately.
TEST_F(Stream, ResponsesAndWorksTakeTurns) {
  serve();
  constexpr std::uint32_t kSize = 4u << 20;
  const Exposed exposed = expose(0, kSize, fabric::Access::remote_read);
  Bytes burst;
  for (std::uint32_t i = 1; i <= 3; ++i)
    burst = burst + read_request(i, {i, 0, kSize, exposed.segment.handle, exposed.segment.offset});
  for (int i = 0; i < 3; ++i) ASSERT_FALSE(node().write(memory().part(kSize, 10), {9, 10, 0}, i));
  node().qp->submit();
  peer_.send(burst);
  std::string order;
  for (int messages = 0; messages < 6 && !HasFailure();) {
    const Heard heard = peer_.segment();
    if (!heard.header.last) continue;
    ++messages;
    order += heard.opcode() == Opcode::write ? 'w' : 'r';
  }
  EXPECT_TRUE(order == "wrwrwr" || order == "rwrwrw") << order;
}

// [5044-7.2-a] [5041-3-f] the peer ends its direction in an orderly way
TEST_F(Stream, OrderlyEnd) {
  serve();
  post_receive(10, 1);
  peer_.send(send(1, filled(3, 1)));
  peer_.shut_down();
  EXPECT_FALSE(end().failed()) << end().message();
  EXPECT_TRUE(peer_.ends());
  EXPECT_FALSE(node().result(1).status);
}

// [5041-6.2-c] Work that was posted before disconnect() is sent, even if the peer ends its direction of the stream
// before all of it has been sent. No work can be posted after disconnect().
TEST_F(Stream, BothEndWithWorkLeft) {
  serve();
  peer_.send(write(0, 0, {}));
  ASSERT_FALSE(node().write(memory().part(0, 8u << 20), {5, 8u << 20, 0}, 1));
  node().qp->submit();
  node().qp->disconnect();
  EXPECT_EQ(node().send(memory().part(0, 1), 2), FabricError::not_connected);
  EXPECT_EQ(node().write(memory().part(0, 1), {5, 1, 0}, 3), FabricError::not_connected);
  peer_.shut_down();
  std::size_t got = 0;
  for (bool last = false; !last && !HasFailure();) {
    const Heard heard = peer_.next_segment();
    got += heard.payload.size();
    last = heard.header.last;
  }
  EXPECT_EQ(got, 8u << 20);
  EXPECT_TRUE(peer_.ends());
  EXPECT_FALSE(end().failed()) << end().message();
  EXPECT_FALSE(node().result(1).status);
}

// An orderly end does not wait forever for a peer that does not answer it.
TEST_F(Stream, EndThatThePeerDoesNotAnswer) {
  fabric::IwarpOptions options;
  options.close_timeout = std::chrono::milliseconds(50);
  open(options);
  serve();
  peer_.send(write(0, 0, {}));
  node().qp->disconnect();
  EXPECT_EQ(end(), boost::system::errc::timed_out);
}

// An orderly end does not wait forever for a peer that does not read the work posted before disconnect().
TEST_F(Stream, EndBehindWorkThatThePeerDoesNotTake) {
  fabric::IwarpOptions options;
  options.close_timeout = std::chrono::milliseconds(50);
  open(options);
  serve();
  peer_.send(write(0, 0, {}));
  for (int i = 0; i < 16; ++i) ASSERT_FALSE(node().write(memory().part(0, 8u << 20), {5, 8u << 20, 0}, i));
  node().qp->submit();
  ASSERT_TRUE(until([&] { return peer_.available() != 0; }));
  node().qp->disconnect();
  EXPECT_EQ(end(), boost::system::errc::timed_out);
  EXPECT_EQ(node().result(15).status, FabricError::flushed);
}

// An orderly end does not wait forever for a peer that does not read the Responses to its Reads.
TEST_F(Stream, EndBehindAResponseThatThePeerDoesNotTake) {
  fabric::IwarpOptions options;
  options.close_timeout = std::chrono::milliseconds(50);
  open(options);
  serve();
  constexpr std::uint32_t kSize = 8u << 20;
  peer_.socket().set_option(boost::asio::socket_base::receive_buffer_size(16384));
  const Exposed exposed = expose(0, kSize, fabric::Access::remote_read);
  peer_.send(read_request(1, {1, 0, kSize, exposed.segment.handle, exposed.segment.offset}));
  ASSERT_TRUE(until([&] { return peer_.available() != 0; }));
  node().qp->disconnect();
  EXPECT_EQ(end(), boost::system::errc::timed_out);
}

TEST_F(Stream, AbortResetsTheConnection) {
  serve();
  node().qp->abort();
  EXPECT_TRUE(peer_.ends());
  EXPECT_TRUE(peer_.was_reset());
}

// If the peer stops reading, only the direction to the peer is blocked. [5040-5.5-e] Work that has not been sent does
// not complete.
TEST_F(Stream, APeerThatDoesNotRead) {
  serve();
  peer_.send(write(0, 0, {}));
  for (int i = 0; i < 16; ++i) ASSERT_FALSE(node().write(memory().part(0, 8u << 20), {5, 8u << 20, 0}, i));
  node().qp->submit();
  ASSERT_TRUE(until([&] { return peer_.available() != 0; }));
  post_receive(10, 100);
  peer_.send(send(1, {}));
  EXPECT_TRUE(until([&] { return node().count(100) == 1; }));
  EXPECT_LT(node().log.size(), 17u);
}

}  // namespace
}  // namespace rpcrdma::test
