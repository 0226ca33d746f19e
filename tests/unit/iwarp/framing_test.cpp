// SPDX-License-Identifier: BSD-3-Clause
// FpduWriter and FpduReader, separately and connected to each other.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "framing/fpdu_reader.hpp"
#include "framing/fpdu_writer.hpp"
#include "support/feed_reader.hpp"
#include "support/hex.hpp"
#include "support/pattern.hpp"

namespace rpcrdma::fabric::iwarp {
namespace {

using test::Bytes;
using test::from_hex;
using test::to_hex;

DdpHeader send_header(std::uint32_t msn) {
  DdpHeader header;
  header.opcode = static_cast<std::uint8_t>(Opcode::send);
  header.msn = msn;
  return header;
}

/// Records the segments that it receives.
struct Kept final : SegmentSink {
  struct Segment {
    DdpHeader header;
    Bytes payload;
    bool whole = false;
  };
  Target on_segment(const DdpHeader& header, std::uint32_t payload) noexcept override {
    segments.push_back({header, Bytes(payload), false});
    return {drop || payload == 0 ? nullptr : segments.back().payload.data()};
  }
  void on_segment_end() noexcept override { segments.back().whole = true; }
  void on_framing_error(const TerminateCode& code) noexcept override { error = code; }
  std::size_t whole() const {
    std::size_t n = 0;
    for (const Segment& segment : segments) n += segment.whole ? 1 : 0;
    return n;
  }

  std::vector<Segment> segments;
  std::optional<TerminateCode> error;
  bool drop = false;
};

void feed(FpduReader& reader, Octets stream, std::size_t slice = 1u << 30) {
  test::feed_reader(reader, stream, [slice] { return slice; });
}

Bytes frame(bool crc, bool markers, std::uint32_t count) {
  FpduWriter writer;
  writer.start(crc, markers);
  const Bytes zeros(24);
  for (std::uint32_t i = 0; i < count; ++i) {
    writer.begin(send_header(i + 1), {}, zeros.size());
    writer.payload(zeros);
    writer.end();
  }
  return writer.drain();
}

// [5044-4.3-e] [5044-4.4-h] [5044-7.1.2-l] figure 5 of RFC 5044: a frame with markers
TEST(Framing, FirstFrameWithMarkers) {
  const auto vectors = test::load_vectors("marker.hex");
  EXPECT_EQ(to_hex(frame(true, true, 1)), to_hex(vectors.at("first_fpdu")));
  Kept kept;
  FpduReader reader(kept);
  reader.start(true, true);
  feed(reader, vectors.at("first_fpdu"));
  ASSERT_EQ(kept.whole(), 1u);
  EXPECT_EQ(kept.segments[0].header, send_header(1));
  EXPECT_EQ(kept.segments[0].payload, Bytes(24));
}

/// A frame of exactly `size` bytes, without markers.
void add_frame(FpduWriter& writer, std::size_t size, const Bytes& payload) {
  const std::size_t count = size - 2 - kUntaggedHeaderSize - 4;
  writer.begin(send_header(1), {}, count);
  writer.payload(Octets(payload).first(count));
  writer.end();
}

// [5044-4.3-c] figure 6 of RFC 5044: the marker at 0x200 lies inside a frame that starts at 0x1ec
TEST(Framing, SecondFrameWithMarkers) {
  FpduWriter writer;
  writer.start(true, true);
  const Bytes zeros(600);
  add_frame(writer, 0x1ec - kMarkerSize, zeros);
  ASSERT_EQ(writer.drain().size(), 0x1ecu);
  writer.begin(send_header(2), {}, 24);
  writer.payload(Octets(zeros).first(24));
  writer.end();
  EXPECT_EQ(to_hex(writer.drain()), to_hex(test::load_vectors("marker.hex").at("second_fpdu")));
}

// [5044-4.3-d] a marker between two frames belongs to the second one, and its pointer is 0
TEST(Framing, MarkerBetweenFrames) {
  FpduWriter writer;
  writer.start(true, true);
  const Bytes zeros(600);
  add_frame(writer, 508, zeros);
  add_frame(writer, 100, zeros);
  const Bytes stream = writer.drain();
  ASSERT_EQ(stream.size(), 4 + 508 + 4 + 100u);
  EXPECT_EQ(to_hex(Octets(stream).subspan(512, 6)), "00000000005e");
  Kept kept;
  FpduReader reader(kept);
  reader.start(true, true);
  feed(reader, stream, 1);
  EXPECT_EQ(kept.whole(), 2u);
}

// [5044-4.4-g] the CRC covers a marker between pad and CRC
TEST(Framing, MarkerBetweenPadAndCrc) {
  FpduWriter writer;
  writer.start(true, true);
  const Bytes zeros(600);
  add_frame(writer, 512, zeros);  // first marker, 508 bytes up to the pad, second marker, CRC
  const Bytes stream = writer.drain();
  ASSERT_EQ(stream.size(), 4 + 508 + 4 + 4u);
  EXPECT_EQ(to_hex(Octets(stream).subspan(512, 4)), "000001fc");
  Crc32c crc;
  crc.add(Octets(stream).first(516));
  EXPECT_EQ(decode_crc(stream.data() + 516), crc.value());
  Kept kept;
  FpduReader reader(kept);
  reader.start(true, true);
  feed(reader, stream);
  EXPECT_EQ(kept.whole(), 1u);
}

// [5044-8-e] [5044-8-a] [5044-5.2-b] a marker that does not point to the start of its FPDU is an error
TEST(Framing, MarkersThatPointElsewhere) {
  Bytes stream = test::load_vectors("marker.hex").at("first_fpdu");
  stream[3] = std::byte{4};
  Kept kept;
  FpduReader reader(kept);
  reader.start(false, true);
  feed(reader, stream);
  EXPECT_EQ(kept.error, terminate::kMarkers);
  EXPECT_EQ(kept.whole(), 0u);
}

// [5044-4.2-a] [5044-4.2-b] reserved bits of a marker are ignored
TEST(Framing, ReservedBitsOfMarkers) {
  Bytes stream = test::load_vectors("marker.hex").at("first_fpdu");
  stream[0] = std::byte{0xff};
  stream[3] = std::byte{3};
  Kept kept;
  FpduReader reader(kept);
  reader.start(false, true);
  feed(reader, stream);
  EXPECT_EQ(kept.whole(), 1u);
}

struct Way {
  bool crc;
  bool markers;
};
class FramingWays : public testing::TestWithParam<Way> {};

// [5044-5.1-b] [5044-4.3-h] [5044-4.3-g] [5041-3-c] frames of random sizes, in slices of random sizes
TEST_P(FramingWays, RoundTrip) {
  std::mt19937 random(5044);
  Bytes payload(kMaxMulpdu);
  test::fill_pattern(payload, 1);
  for (const std::size_t largest_slice : {1u, 7u, 600u, 5000u, 1u << 20}) {
    FpduWriter writer;
    writer.start(GetParam().crc, GetParam().markers);
    Kept kept;
    FpduReader reader(kept);
    reader.start(GetParam().crc, GetParam().markers);
    std::vector<std::size_t> sizes;
    for (int batch = 0; batch < 4; ++batch) {
      while (writer.has_room()) {
        const std::size_t size = random() % (random() % 8 == 0 ? kMaxMulpdu - kUntaggedHeaderSize + 1 : 200);
        sizes.push_back(size);
        writer.begin(send_header(static_cast<std::uint32_t>(sizes.size())), {}, size);
        writer.payload(Octets(payload).first(size / 3));
        writer.payload(Octets(payload).subspan(size / 3, size - size / 3));
        writer.end();
      }
      test::feed_reader(reader, writer.drain(), [&] { return random() % largest_slice + 1; });
    }
    ASSERT_EQ(kept.whole(), sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_EQ(kept.segments[i].header.msn, i + 1);
      ASSERT_EQ(kept.segments[i].payload.size(), sizes[i]);
      EXPECT_TRUE(test::has_pattern(kept.segments[i].payload, 1)) << i;
    }
    EXPECT_TRUE(reader.between_frames());
  }
}

// [5044-4.4-i] [5044-4.4-d] [5044-8-c] A reader gets a frame with one corrupted byte, and then the intact frame. With
// CRCs, it delivers neither of them. Without CRCs, it ignores the CRC field: if the corrupted byte belongs to this
// field, it delivers both frames. Each byte of the frame is corrupted in turn, except the bytes of the first marker.
TEST_P(FramingWays, SpoiltOctets) {
  const Bytes good = frame(GetParam().crc, GetParam().markers, 1);
  for (std::size_t at = GetParam().markers ? 4 : 0; at < good.size(); ++at) {
    Bytes stream = good;
    stream[at] ^= std::byte{0x20};
    stream.insert(stream.end(), good.begin() + (GetParam().markers ? 4 : 0), good.end());
    Kept kept;
    FpduReader reader(kept);
    reader.start(GetParam().crc, GetParam().markers);
    feed(reader, stream);
    if (GetParam().crc) {
      EXPECT_EQ(kept.whole(), 0u) << at;
    } else if (at >= good.size() - kFpduCrcSize) {
      EXPECT_EQ(kept.whole(), 2u) << at;
    }
  }
}

// advance() by any number of bytes does not change the stream; cut() keeps the rest of a partly written frame and drops
// all later frames.
TEST_P(FramingWays, Cut) {
  const Bytes payload(100, std::byte{0x77});
  const auto fill = [&](FpduWriter& writer) {
    writer.start(GetParam().crc, GetParam().markers);
    for (std::uint32_t i = 0; i < 10; ++i) {
      writer.begin(send_header(i + 1), {}, payload.size());
      writer.payload(payload);
      writer.end();
    }
  };
  FpduWriter whole;
  fill(whole);
  const Bytes all = whole.drain();
  for (std::size_t written = 0; written <= all.size(); ++written) {
    FpduWriter writer;
    fill(writer);
    writer.advance(written);
    const Bytes rest = writer.cut();
    EXPECT_TRUE(writer.empty());
    Bytes stream(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(written));
    stream.insert(stream.end(), rest.begin(), rest.end());
    ASSERT_TRUE(std::equal(stream.begin(), stream.end(), all.begin())) << written;
    writer.begin(send_header(99), {}, 0);  // a frame after cut() continues the stream
    writer.end();
    const Bytes last = writer.drain();
    stream.insert(stream.end(), last.begin(), last.end());
    Kept kept;
    FpduReader reader(kept);
    reader.start(GetParam().crc, GetParam().markers);
    feed(reader, stream);
    ASSERT_EQ(kept.whole(), kept.segments.size()) << written;
    EXPECT_EQ(kept.segments.back().header.msn, 99u);
    EXPECT_LE(stream.size(), written + 2 * (100 + 40)) << written;
  }
}

// A long message may continue in a batch that has no room for another message. Markers make copies of all bytes, and
// then no batch is that large.
TEST_P(FramingWays, RoomOfABatch) {
  const Bytes payload(60000);
  FpduWriter writer;
  writer.start(GetParam().crc, GetParam().markers);
  const auto fill = [&](bool in_message) {
    for (; writer.has_room(in_message); writer.end()) {
      writer.begin(send_header(1), {}, payload.size());
      writer.payload(payload);
    }
    std::size_t size = 0;
    for (const iovec& vector : writer.pending()) size += vector.iov_len;
    return size;
  };
  const std::size_t messages = fill(false);
  EXPECT_LT(messages, 400'000u);
  const std::size_t one = fill(true);
  EXPECT_LT(one, 1'200'000u);
  if (GetParam().markers)
    EXPECT_EQ(one, messages);
  else
    EXPECT_GE(one, 1u << 20);
}

INSTANTIATE_TEST_SUITE_P(All, FramingWays,
                         testing::Values(Way{false, false}, Way{true, false}, Way{false, true}, Way{true, true}),
                         [](const auto& param) {
                           return std::string(param.param.crc ? "crc" : "plain") +
                                  (param.param.markers ? "_markers" : "");
                         });

// [5044-4.1-b] the pad may hold anything; the CRC covers it
TEST(Framing, PadThatIsNotZero) {
  Bytes stream = test::load_vectors("stack.hex").at("read_resp");
  for (std::size_t i = 1; i <= 3; ++i) stream[stream.size() - 4 - i] = std::byte{0xff};
  Kept kept;
  FpduReader reader(kept);
  reader.start(true, false);
  feed(reader, stream);
  EXPECT_EQ(kept.error, terminate::kCrc);
  Crc32c crc;
  crc.add(Octets(stream).first(stream.size() - 4));
  encode_crc(crc.value(), stream.data() + stream.size() - 4);
  Kept again;
  FpduReader other(again);
  other.start(true, false);
  feed(other, stream);
  EXPECT_EQ(again.whole(), 1u);
}

// [5044-6-b] nothing is delivered before the last byte has arrived
TEST(Framing, EveryPrefix) {
  const Bytes stream = test::load_vectors("stack.hex").at("getattr_call");
  for (std::size_t size = 0; size < stream.size(); ++size) {
    Kept kept;
    FpduReader reader(kept);
    reader.start(true, false);
    feed(reader, Octets(stream).first(size), 3);
    EXPECT_EQ(kept.whole(), 0u) << size;
    EXPECT_EQ(reader.between_frames(), size == 0);
  }
}

TEST(Framing, TooShortForAHeader) {
  for (const char* hex : {"0000000000000000", "000d41430000000000000000", "0011414300000000000000000000000000000000"}) {
    Kept kept;
    FpduReader reader(kept);
    reader.start(false, false);
    feed(reader, from_hex(hex));
    EXPECT_EQ(kept.error, terminate::kMarkers) << hex;
  }
}

// Bytes that follow the payload of a large segment are not written to its target.
TEST(Framing, LargePayloadsArePlacedDirectly) {
  FpduWriter writer;
  writer.start(false, false);
  Bytes payload(60000);
  test::fill_pattern(payload, 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    writer.begin(send_header(i + 1), {}, payload.size());
    writer.payload(payload);
    writer.end();
  }
  const Bytes stream = writer.drain();
  Kept kept;
  FpduReader reader(kept);
  reader.start(false, false);
  feed(reader, Octets(stream).first(100));
  const FpduReader::Plan plan = reader.plan();
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].data(), kept.segments[0].payload.data() + 80);
  EXPECT_EQ(plan[0].size(), payload.size() - 80);
  feed(reader, Octets(stream).subspan(100));
  ASSERT_EQ(kept.whole(), 3u);
  for (const auto& segment : kept.segments) EXPECT_TRUE(test::has_pattern(segment.payload, 3));
}

// While many small frames arrive, one read has room for the replies to 32 READs of 4 KiB. After a large frame it has
// room for few bytes again.
TEST(Framing, ReadsOfSmallFramesGrow) {
  FpduWriter writer;
  writer.start(false, false);
  Bytes payload(60000);
  test::fill_pattern(payload, 7);
  Kept kept;
  FpduReader reader(kept);
  reader.start(false, false);
  const auto room = [&reader] { return boost::asio::buffer_size(reader.plan()); };
  const std::size_t at_first = room();
  std::uint32_t sent = 0;
  const auto send = [&](std::size_t size, int frames) {
    Bytes stream;
    for (int i = 0; i < frames; ++i) {
      writer.begin(send_header(++sent), {}, size);
      writer.payload(Octets(payload).first(size));
      writer.end();
      std::ranges::copy(writer.drain(), std::back_inserter(stream));
    }
    feed(reader, stream);
  };
  for (int i = 0; i < 2; ++i) {
    send(4096, 128);
    EXPECT_GE(room(), 32u * 4096);
    send(60000, 1);
    EXPECT_LE(room(), at_first);
    send(24, 32);  // the reader no longer expects a large frame
    EXPECT_LE(room(), 2 * at_first);
  }
  ASSERT_EQ(kept.whole(), sent);
  for (const auto& segment : kept.segments) EXPECT_TRUE(test::has_pattern(segment.payload, 7));
}

/// The sink of an RDMA Read, whose Response arrives in several segments, possibly with Sends between them. The bytes
/// after `limit` do not belong to the sink and must not change.
struct Reading final : SegmentSink {
  static constexpr std::size_t kBehind = 1000;

  explicit Reading(std::size_t size) : memory(size + kBehind, std::byte{0xcc}), limit(size) {}
  Target on_segment(const DdpHeader& header, std::uint32_t payload) noexcept override {
    if (!header.tagged) {
      sends.emplace_back(payload);
      return {payload == 0 ? nullptr : sends.back().data()};
    }
    EXPECT_LE(header.offset + payload, limit);
    return {memory.data() + header.offset, static_cast<std::uint32_t>(limit - header.offset - payload)};
  }
  void on_segment_end() noexcept override { ++whole; }
  void on_framing_error(const TerminateCode& code) noexcept override { error = code; }
  Octets placed() const { return Octets(memory).first(limit); }
  bool kept_within() const { return test::all_are(Octets(memory).subspan(limit), std::byte{0xcc}); }

  Bytes memory;
  const std::size_t limit;
  std::vector<Bytes> sends;
  std::size_t whole = 0;
  std::optional<TerminateCode> error;
};

/// Makes the segments of a Read Response whose data has the pattern 5, and Sends whose data has the pattern 6.
class ResponseWriter {
 public:
  explicit ResponseWriter(std::size_t size, bool crc = false, bool markers = false) : data_(size) {
    test::fill_pattern(data_, 5);
    test::fill_pattern(send_, 6);
    writer_.start(crc, markers);
  }
  std::size_t left() const { return data_.size() - sent_; }
  void segment(std::size_t size) {
    DdpHeader header;
    header.tagged = true;
    header.opcode = static_cast<std::uint8_t>(Opcode::read_response);
    header.offset = sent_;
    header.last = size == left();
    add(header, Octets(data_).subspan(sent_, size));
    sent_ += size;
  }
  void send(std::size_t size) { add(send_header(++sends_), Octets(send_).first(size)); }
  Bytes take() { return std::exchange(stream_, {}); }

 private:
  void add(const DdpHeader& header, Octets payload) {
    writer_.begin(header, {}, payload.size());
    writer_.payload(payload);
    writer_.end();
    std::ranges::copy(writer_.drain(), std::back_inserter(stream_));
  }

  FpduWriter writer_;
  Bytes data_;
  Bytes send_ = Bytes(kMaxMulpdu - kUntaggedHeaderSize);
  Bytes stream_;
  std::size_t sent_ = 0;
  std::uint32_t sends_ = 0;
};

// After the first segment of a Read Response, one read takes several segments, and their payloads are not copied.
TEST(Framing, OneReadTakesExpectedSegments) {
  constexpr std::size_t kSegment = 60000;
  ResponseWriter response(10 * kSegment + 10000);
  while (response.left() != 0) response.segment(std::min(response.left(), kSegment));
  const Bytes stream = response.take();
  Reading reading(10 * kSegment + 10000);
  FpduReader reader(reading);
  reader.start(false, false);
  feed(reader, Octets(stream).first(100));
  EXPECT_GE(boost::asio::buffer_size(reader.plan()), (1 + FpduReader::kExpected) * kSegment - 100);
  const std::uint64_t copied = reader.take_copied();
  feed(reader, Octets(stream).subspan(100));
  EXPECT_EQ(reading.whole, 11u);
  EXPECT_TRUE(test::has_pattern(reading.placed(), 5));
  EXPECT_TRUE(reading.kept_within());
  EXPECT_LE(copied, 100u);
  EXPECT_EQ(reader.take_copied(), 0u);
}

// After a Send in the place of a segment, the reader expects segments again when two of the same size have arrived in a
// row.
TEST(Framing, ExpectationsEndWhenTheyAreWrong) {
  constexpr std::size_t kSegment = 60000;
  ResponseWriter response(12 * kSegment);
  Reading reading(12 * kSegment);
  FpduReader reader(reading);
  reader.start(false, false);
  // Feeds what has been written, and then the first bytes of a segment. Returns whether more of its kind are expected.
  const auto expects = [&] {
    feed(reader, response.take());
    response.segment(kSegment);
    const Bytes last = response.take();
    feed(reader, Octets(last).first(100));
    const bool more = reader.plan().size() > 2;
    feed(reader, Octets(last).subspan(100));
    return more;
  };
  EXPECT_TRUE(expects());
  const auto segments_and_send = [&](int segments) {
    for (int i = 0; i < segments; ++i) response.segment(kSegment);
    response.send(100);
  };
  segments_and_send(2);
  EXPECT_FALSE(expects());
  response.segment(kSegment);
  EXPECT_TRUE(expects());
}

// Segments of other sizes than expected, and Sends between them, are received as if they had been expected.
TEST_P(FramingWays, SegmentsThatWereNotExpected) {
  std::mt19937 random(5040);
  const auto below = [&random](std::size_t limit) { return std::size_t{random()} % limit; };
  for (int round = 0; round < 30; ++round) {
    const std::size_t size = 200'000 + below(600'000);
    const std::size_t usual = 8000 + below(kMaxMulpdu - kTaggedHeaderSize - 8000);
    ResponseWriter response(size, GetParam().crc, GetParam().markers);
    std::size_t frames = 0;
    std::vector<std::size_t> sends;
    for (; response.left() != 0; ++frames) {
      const std::size_t other = below(8);
      const std::size_t wanted = other == 0   ? below(kMaxMulpdu - kTaggedHeaderSize + 1)
                                 : other == 1 ? usual + below(20)
                                              : usual;
      response.segment(std::min({wanted, response.left(), std::size_t{kMaxMulpdu - kTaggedHeaderSize}}));
      if (below(4) != 0) continue;
      sends.push_back(below(2) == 0 ? below(100) : below(kMaxMulpdu - kUntaggedHeaderSize + 1));
      response.send(sends.back());
    }
    Reading reading(size);
    FpduReader reader(reading);
    reader.start(GetParam().crc, GetParam().markers);
    const std::size_t largest_slice = std::size_t{1} << (4 + below(17));
    test::feed_reader(reader, response.take(), [&] { return below(largest_slice) + 1; });
    ASSERT_EQ(reading.whole, frames + sends.size());
    EXPECT_FALSE(reading.error);
    EXPECT_TRUE(reader.between_frames());
    EXPECT_TRUE(test::has_pattern(reading.placed(), 5));
    EXPECT_TRUE(reading.kept_within());
    ASSERT_EQ(reading.sends.size(), sends.size());
    for (std::size_t i = 0; i < sends.size(); ++i) {
      ASSERT_EQ(reading.sends[i].size(), sends[i]);
      EXPECT_TRUE(test::has_pattern(reading.sends[i], 6));
    }
  }
}

// [5044-8-c] one read takes three frames; the second one has a wrong CRC, and the third one is not delivered
TEST(Framing, WrongCrcAmongExpectedSegments) {
  constexpr std::size_t kSegment = 60000;
  ResponseWriter response(3 * kSegment, true);
  while (response.left() != 0) response.segment(kSegment);
  Bytes stream = response.take();
  stream[stream.size() / 2] ^= std::byte{1};
  Reading reading(3 * kSegment);
  FpduReader reader(reading);
  reader.start(true, false);
  feed(reader, Octets(stream).first(100));
  feed(reader, Octets(stream).subspan(100));
  EXPECT_EQ(reading.whole, 1u);
  EXPECT_EQ(reading.error, terminate::kCrc);
}

TEST(Framing, DroppedPayload) {
  Kept kept;
  kept.drop = true;
  FpduReader reader(kept);
  reader.start(true, false);
  feed(reader, frame(true, false, 5), 11);
  EXPECT_EQ(kept.whole(), 5u);
  EXPECT_FALSE(kept.error);
}

}  // namespace
}  // namespace rpcrdma::fabric::iwarp
