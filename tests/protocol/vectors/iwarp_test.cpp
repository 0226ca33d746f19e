// SPDX-License-Identifier: BSD-3-Clause
// Decodes and encodes whole frames with the stack's own code: MPA start-up, FPDU and CRC, DDP, RDMAP.
#include <gtest/gtest.h>

#include <random>

#include "frames.hpp"
#include "rpcrdma/wire/private_data.hpp"
#include "wire/mpa_startup.hpp"
#include "wire/read_request.hpp"

namespace rpcrdma::fabric::iwarp {
namespace {

using test::Bytes;
using test::ExactCopy;

Bytes vector_of(const std::string& name) { return test::load_vectors("stack.hex").at(name); }

Segment only_segment(const Bytes& octets) {
  Collector collector(true, false);
  collector.feed(octets, octets.size());
  EXPECT_FALSE(collector.error);
  EXPECT_EQ(collector.segments.size(), 1u);
  return collector.segments.empty() ? Segment{} : collector.segments.front();
}

struct StartupCase {
  const char* name;
  StartupFrame::Kind kind;
};
class StartupVector : public testing::TestWithParam<StartupCase> {};

// [5044-7.1.1-a] [5044-7.1.1-h] [6581-9-a] each decoded frame encodes to the same bytes; each prefix is refused
TEST_P(StartupVector, DecodesAndEncodesIdentically) {
  const Bytes octets = vector_of(GetParam().name);
  StartupFrame frame;
  ASSERT_EQ(decode(ExactCopy(octets).octets(), GetParam().kind, frame), StartupError::none);
  EXPECT_EQ(encode(frame), octets);
  EXPECT_TRUE(frame.crc);
  EXPECT_FALSE(frame.markers);
  EXPECT_FALSE(frame.rejected);
  EXPECT_EQ(*wire::find_private_data(frame.private_data), (wire::PrivateData{true, 4096, 4096}));
  for (std::size_t size = 0; size < octets.size(); ++size) {
    const ExactCopy prefix(Octets(octets).first(size));
    EXPECT_NE(decode(prefix.octets(), GetParam().kind, frame), StartupError::none) << size;
  }
  const auto other =
      GetParam().kind == StartupFrame::Kind::reply ? StartupFrame::Kind::request : StartupFrame::Kind::reply;
  EXPECT_EQ(decode(octets, other, frame), StartupError::key);
}

INSTANTIATE_TEST_SUITE_P(Stack, StartupVector,
                         testing::Values(StartupCase{"mpa_req", StartupFrame::Kind::request},
                                         StartupCase{"mpa_rep", StartupFrame::Kind::reply},
                                         StartupCase{"enhanced_mpa_req", StartupFrame::Kind::request},
                                         StartupCase{"enhanced_mpa_rep", StartupFrame::Kind::reply}),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(StartupVectors, EnhancedData) {
  StartupFrame frame;
  ASSERT_EQ(decode(vector_of("enhanced_mpa_req"), StartupFrame::Kind::request, frame), StartupError::none);
  EXPECT_EQ(frame.revision, 2);
  EXPECT_EQ(frame.enhanced, (EnhancedData{true, true, true, true, 16, 16}));
  ASSERT_EQ(decode(vector_of("enhanced_mpa_rep"), StartupFrame::Kind::reply, frame), StartupError::none);
  EXPECT_EQ(frame.enhanced, (EnhancedData{true, true, false, false, 16, 16}));
  ASSERT_EQ(decode(vector_of("mpa_req"), StartupFrame::Kind::request, frame), StartupError::none);
  EXPECT_EQ(frame.revision, 1);
  EXPECT_FALSE(frame.enhanced);
}

class FrameVector : public testing::TestWithParam<const char*> {};

// [5044-4.1-a] [5044-4.4-a] [5041-4.2-a] [5041-4.3-a] each frame is found, however the stream is sliced; the decoded
// frame encodes to the same bytes
TEST_P(FrameVector, DecodesAndEncodesIdentically) {
  const Bytes octets = vector_of(GetParam());
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{7}, octets.size()}) {
    Collector collector(true, false);
    collector.feed(octets, step);
    ASSERT_FALSE(collector.error) << describe(*collector.error);
    ASSERT_EQ(collector.segments.size(), 1u);
    EXPECT_TRUE(collector.between_frames());
  }
  const Segment segment = only_segment(octets);
  FpduWriter writer;
  writer.start(true, false);
  EXPECT_EQ(test::to_hex(write_frame(writer, segment.header, segment.payload)), test::to_hex(octets));
  Reader reader(segment.raw_header);
  EXPECT_EQ(decode_ddp(reader), segment.header);
}

// [5044-6-b] an incomplete frame delivers nothing
TEST_P(FrameVector, TruncatedPrefixesDeliverNothing) {
  const Bytes octets = vector_of(GetParam());
  for (std::size_t size = 0; size < octets.size(); ++size) {
    const ExactCopy prefix(Octets(octets).first(size));
    Collector collector(true, false);
    collector.feed(prefix.octets(), std::max<std::size_t>(size, 1));
    EXPECT_TRUE(collector.segments.empty()) << size;
    EXPECT_FALSE(collector.error) << size;
    EXPECT_EQ(collector.between_frames(), size == 0);
  }
}

// [5044-4.4-i] [5044-8-a] a frame with a corrupted byte delivers nothing
TEST_P(FrameVector, DamagedFramesDeliverNothing) {
  const Bytes octets = vector_of(GetParam());
  for (std::size_t at = 0; at < octets.size(); ++at) {
    Bytes damaged = octets;
    damaged[at] ^= std::byte{0x10};
    Collector collector(true, false);
    collector.feed(damaged, damaged.size());
    EXPECT_TRUE(collector.segments.empty()) << at;
    // A damaged length field (bytes 0 and 1) can make the receiver wait for more bytes. Damage after this field leaves
    // the end of the frame in its place, so the CRC must reveal it.
    EXPECT_TRUE(at < 2 || collector.error == terminate::kCrc) << at;
  }
}

TEST_P(FrameVector, WithoutCrcDamageGoesUnseen) {
  Bytes octets = vector_of(GetParam());
  octets.back() ^= std::byte{1};
  Collector collector(false, false);
  collector.feed(octets, octets.size());
  EXPECT_EQ(collector.segments.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Stack, FrameVector,
                         testing::Values("getattr_call", "getattr_reply", "write_call_readchunk", "read_req",
                                         "read_resp", "write_reply_inv", "read_call_writechunk", "rdma_write",
                                         "read_reply_writechunk", "nomsg_call", "nomsg_reply", "err_vers", "err_chunk",
                                         "terminate_rdmap", "terminate_ddp", "terminate_mpa_ird"),
                         [](const auto& param) { return std::string(param.param); });

// Several frames in one stream, in slices of many sizes.
TEST(FrameVectors, OneStream) {
  Bytes stream;
  const std::vector<std::string> names{"getattr_call", "write_call_readchunk", "read_resp", "read_call_writechunk",
                                       "nomsg_call"};
  for (const std::string& name : names) {
    const Bytes octets = vector_of(name);
    stream.insert(stream.end(), octets.begin(), octets.end());
  }
  for (std::size_t step = 1; step <= stream.size(); step = step * 2 + 1) {
    Collector collector(true, false);
    collector.feed(stream, step);
    ASSERT_EQ(collector.segments.size(), names.size()) << step;
    for (std::size_t i = 0; i < names.size(); ++i)
      EXPECT_EQ(collector.segments[i].payload, only_segment(vector_of(names[i])).payload);
  }
}

// [5040-4.1-a] [5040-4.1-b] [5040-4.1-d] the headers of a Send, a Send with Invalidate, an RDMA Write and an RDMA Read
// Response are decoded correctly
TEST(RdmapVectors, Headers) {
  const DdpHeader send = only_segment(vector_of("getattr_call")).header;
  EXPECT_EQ(send.opcode, static_cast<std::uint8_t>(Opcode::send));
  EXPECT_FALSE(send.tagged);
  EXPECT_TRUE(send.last);
  EXPECT_EQ(send.queue, kSendQueue);
  EXPECT_EQ(send.msn, 1u);
  const DdpHeader invalidate = only_segment(vector_of("write_reply_inv")).header;
  EXPECT_EQ(invalidate.opcode, static_cast<std::uint8_t>(Opcode::send_invalidate));
  EXPECT_EQ(invalidate.stag, 0x1234u);
  EXPECT_EQ(invalidate.msn, 2u);
  const Segment write = only_segment(vector_of("rdma_write"));
  EXPECT_TRUE(write.header.tagged);
  EXPECT_EQ(write.header.opcode, static_cast<std::uint8_t>(Opcode::write));
  EXPECT_EQ(write.header.stag, 0x2222u);
  EXPECT_EQ(write.header.offset, 0x100000u);
  EXPECT_EQ(test::to_hex(write.payload), "61626364656667");
  const Segment response = only_segment(vector_of("read_resp"));
  EXPECT_EQ(response.header.opcode, static_cast<std::uint8_t>(Opcode::read_response));
  EXPECT_EQ(response.header.offset, 0x20u);
}

// [5040-4.4-a]
TEST(RdmapVectors, ReadRequest) {
  const Segment segment = only_segment(vector_of("read_req"));
  EXPECT_EQ(segment.header.queue, kReadQueue);
  ASSERT_EQ(segment.payload.size(), ReadRequest::kSize);
  Reader in(segment.payload);
  const ReadRequest request = decode_read_request(in);
  ASSERT_TRUE(in.ok());
  EXPECT_EQ(request, (ReadRequest{0x9abc, 0x20, 5, 0x1234, 0x7f0000001000}));
  Bytes again(ReadRequest::kSize);
  Writer out(again);
  encode(request, out);
  EXPECT_EQ(again, segment.payload);
  for (std::size_t size = 0; size < segment.payload.size(); ++size) {
    const ExactCopy prefix(Octets(segment.payload).first(size));
    Reader cut(prefix.octets());
    static_cast<void>(decode_read_request(cut));
    EXPECT_FALSE(cut.ok()) << size;
  }
}

struct TerminateCase {
  const char* name;
  TerminateCode code;
  std::size_t ddp_header;
  std::size_t read_request;
};
class TerminateVector : public testing::TestWithParam<TerminateCase> {};

// [5040-4.8-a] [5040-4.8-c] layer and type bits in the order of the RFC
TEST_P(TerminateVector, DecodesAndEncodesIdentically) {
  const Segment segment = only_segment(vector_of(GetParam().name));
  EXPECT_EQ(segment.header.opcode, static_cast<std::uint8_t>(Opcode::terminate));
  EXPECT_EQ(segment.header.queue, kTerminateQueue);
  Terminate message;
  const ExactCopy copy(segment.payload);
  ASSERT_TRUE(decode(copy.octets(), message));
  EXPECT_EQ(message.code, GetParam().code) << describe(message.code);
  EXPECT_EQ(message.ddp_header.size(), GetParam().ddp_header);
  EXPECT_EQ(message.read_request.size(), GetParam().read_request);
  Bytes again(Terminate::kMaxSize);
  Writer out(again);
  encode(message, out);
  again.resize(out.size());
  EXPECT_EQ(test::to_hex(again), test::to_hex(segment.payload));
  // A Terminate without its code is malformed. With the code, missing headers are tolerated.
  for (std::size_t size = 0; size < segment.payload.size(); ++size) {
    const ExactCopy prefix(Octets(segment.payload).first(size));
    EXPECT_EQ(decode(prefix.octets(), message), size >= 4) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Stack, TerminateVector,
                         testing::Values(TerminateCase{"terminate_rdmap", {0, 1, 0}, 18, 28},
                                         TerminateCase{"terminate_ddp", {1, 1, 1}, 14, 0},
                                         TerminateCase{"terminate_mpa_ird", {2, 0, 6}, 0, 0}),
                         [](const auto& param) { return std::string(param.param.name); });

// [5044-4.3-b] [5044-4.3-c] [5044-4.3-e] the frames with markers that RFC 5044 prints, at their positions in the stream
TEST(MarkerVectors, FramesWithMarkers) {
  const auto vectors = test::load_vectors("marker.hex");
  const Bytes payload(24);
  DdpHeader header;
  header.opcode = static_cast<std::uint8_t>(Opcode::send);
  header.msn = 1;
  FpduWriter writer;
  writer.start(true, true);
  const Bytes first = write_frame(writer, header, payload);
  EXPECT_EQ(test::to_hex(first), test::to_hex(vectors.at("first_fpdu")));
  // The RFC prints a second frame that begins at position 0x1ec of the stream. `filler` fills the stream up to there.
  const Bytes filler = write_frame(writer, header, Bytes(0x1ec - first.size() - 2 - kUntaggedHeaderSize - 4));
  ASSERT_EQ(first.size() + filler.size(), 0x1ecu);
  header.msn = 2;
  const Bytes second = write_frame(writer, header, payload);
  EXPECT_EQ(test::to_hex(second), test::to_hex(vectors.at("second_fpdu")));
  Bytes stream = first;
  stream.insert(stream.end(), filler.begin(), filler.end());
  stream.insert(stream.end(), second.begin(), second.end());
  for (const std::size_t step : {std::size_t{1}, std::size_t{5}, stream.size()}) {
    Collector collector(true, true);
    collector.feed(stream, step);
    ASSERT_FALSE(collector.error) << describe(*collector.error);
    ASSERT_EQ(collector.segments.size(), 3u);
    EXPECT_EQ(collector.segments[2].header, header);
    EXPECT_EQ(collector.segments[2].payload, payload);
  }
  for (std::size_t size = 0; size < first.size(); ++size) {
    Collector collector(true, true);
    collector.feed(ExactCopy(Octets(first).first(size)).octets(), 64);
    EXPECT_TRUE(collector.segments.empty());
  }
}

// [5044-4.3-f] [5044-4.3-h] [5044-4.4-g] frames of many lengths, so that markers fall into every part of a frame
TEST(MarkerVectors, StreamsOfAnyFrames) {
  std::mt19937 random(5044);
  for (const bool crc : {true, false}) {
    FpduWriter writer;
    writer.start(crc, true);
    Bytes stream;
    std::vector<Segment> sent;
    for (std::uint32_t i = 1; i <= 400; ++i) {
      DdpHeader header;
      header.tagged = random() % 2 == 0;
      header.opcode = static_cast<std::uint8_t>(header.tagged ? Opcode::write : Opcode::send);
      header.stag = header.tagged ? static_cast<std::uint32_t>(random()) : 0;
      header.msn = header.tagged ? 0 : i;
      Bytes payload(random() % (i % 4 == 0 ? 3000 : 40));
      for (std::byte& octet : payload) octet = static_cast<std::byte>(random());
      const Bytes frame = write_frame(writer, header, payload);
      stream.insert(stream.end(), frame.begin(), frame.end());
      sent.push_back({header, {}, payload});
    }
    for (std::size_t step = 1; step < 70000; step = step * 6 + 1) {
      Collector collector(crc, true);
      collector.feed(stream, step);
      ASSERT_FALSE(collector.error) << collector.segments.size() << ": " << describe(*collector.error);
      ASSERT_EQ(collector.segments.size(), sent.size());
      for (std::size_t i = 0; i < sent.size(); ++i) {
        ASSERT_EQ(collector.segments[i].header, sent[i].header) << i;
        ASSERT_EQ(collector.segments[i].payload, sent[i].payload) << i;
      }
    }
  }
}

}  // namespace
}  // namespace rpcrdma::fabric::iwarp
