// SPDX-License-Identifier: BSD-3-Clause
// Tests of the iWARP codecs, in part with whole frames that an independent dissector has decoded.
#include <gtest/gtest.h>

#include "support/hex.hpp"
#include "wire/crc32c.hpp"
#include "wire/ddp.hpp"
#include "wire/fpdu.hpp"
#include "wire/marker.hpp"
#include "wire/mpa_startup.hpp"
#include "wire/read_request.hpp"
#include "wire/terminate.hpp"

namespace rpcrdma::fabric::iwarp {
namespace {

using test::Bytes;
using test::ExactCopy;
using test::from_hex;
using test::to_hex;

std::uint32_t crc_of(Octets octets) {
  Crc32c crc;
  crc.add(octets);
  return crc.value();
}

// [5044-4.4-a]
TEST(Crc32c, KnownValues) {
  const std::string_view digits = "123456789";
  EXPECT_EQ(crc_of(std::as_bytes(std::span(digits))), 0xe3069283u);
  std::array<std::byte, 4> wire{};
  encode_crc(crc_of(Bytes(32)), wire.data());
  EXPECT_EQ(to_hex(wire), "aa36918a");
  encode_crc(crc_of(Bytes(32, std::byte{0xff})), wire.data());
  EXPECT_EQ(to_hex(wire), "43aba862");
  EXPECT_EQ(decode_crc(wire.data()), crc_of(Bytes(32, std::byte{0xff})));
}

TEST(Crc32c, PiecesAreTheSameAsTheWhole) {
  const Bytes octets = from_hex("00112233445566778899aabbccddeeff");
  for (std::size_t cut = 0; cut <= octets.size(); ++cut) {
    Crc32c crc;
    crc.add(Octets(octets).first(cut));
    crc.add(Octets(octets).subspan(cut));
    EXPECT_EQ(crc.value(), crc_of(octets)) << cut;
  }
}

// [5044-4.1-c]
TEST(Fpdu, Pads) {
  for (std::size_t size = 1; size <= 8; ++size) {
    EXPECT_EQ((kFpduLengthSize + size + fpdu_pad(size)) % 4, 0u);
    EXPECT_LT(fpdu_pad(size), 4u);
    EXPECT_EQ(fpdu_size(size), 2 + size + fpdu_pad(size) + 4);
  }
}

// [5044-4.5-a] [5044-4.5-b] [5044-5.1-a]
TEST(Fpdu, MulpduFromTheSegmentSize) {
  EXPECT_EQ(mulpdu_for(1460, false), 1454u);
  EXPECT_EQ(mulpdu_for(1461, false), 1454u);
  EXPECT_EQ(mulpdu_for(1460, true), 1442u);
  EXPECT_EQ(mulpdu_for(536, false), 530u);
  EXPECT_EQ(mulpdu_for(536, true), 522u);
  EXPECT_EQ(mulpdu_for(9000, false), 8994u);
  EXPECT_EQ(mulpdu_for(9000, true), 8922u);
}

// [5044-3-d] [5044-4.5-c] [5044-3-e] The MULPDU is at least 128 and at most 64768 bytes, whatever the EMSS of TCP and
// the wish of the user are.
TEST(Fpdu, MulpduStaysWithinItsRange) {
  EXPECT_EQ(mulpdu_for(100, false), 128u);
  EXPECT_EQ(mulpdu_for(0, true), 128u);
  EXPECT_EQ(mulpdu_for(65483, false), 64768u);
  EXPECT_EQ(clamp_mulpdu(1), 128u);
  EXPECT_EQ(clamp_mulpdu(1u << 30), 64768u);
}

// [5044-4.2-a] [5044-4.2-b] The decoder ignores the reserved bits of a marker and the two low bits of its pointer.
// [5044-4.3-b] Markers are 512 bytes apart in the stream.
TEST(Markers, Codec) {
  EXPECT_EQ(to_hex(encode_marker(0x14)), "00000014");
  EXPECT_EQ(decode_marker(encode_marker(0xfffc)), 0xfffcu);
  EXPECT_EQ(decode_marker(Marker{std::byte{0xff}, std::byte{0xff}, std::byte{0}, std::byte{0x17}}), 0x14u);
  EXPECT_EQ(until_marker(0), 0u);
  EXPECT_EQ(until_marker(4), 508u);
  EXPECT_EQ(until_marker(511), 1u);
  EXPECT_EQ(until_marker(512), 0u);
}

// [5041-4.3-b]
TEST(Ddp, MessageNumbersWrap) { EXPECT_EQ(next_msn(0xffffffff), 0u); }

class FpduVector : public testing::TestWithParam<const char*> {};

/// Returns the ULPDU of a frame; fails if the CRC is wrong.
Bytes ulpdu_of(const Bytes& frame) {
  const std::size_t size = Reader(frame).u16();
  EXPECT_EQ(frame.size(), fpdu_size(size));
  const Octets covered = Octets(frame).first(frame.size() - kFpduCrcSize);
  EXPECT_EQ(decode_crc(frame.data() + covered.size()), crc_of(covered));
  return {frame.begin() + 2, frame.begin() + 2 + static_cast<std::ptrdiff_t>(size)};
}

// [5044-4.1-a] [5041-4.2-a] [5041-4.3-a] [5040-4.1-a] a header that is decoded and encoded again has the same bytes; a
// truncated header is not decoded
TEST_P(FpduVector, DdpHeader) {
  const Bytes ulpdu = ulpdu_of(test::load_vectors("stack.hex").at(GetParam()));
  Reader in(ulpdu);
  const DdpHeader header = decode_ddp(in);
  ASSERT_TRUE(in.ok());
  EXPECT_EQ(ulpdu.size() - in.remaining(), header.size());
  EXPECT_EQ(header.ddp_version, kDdpVersion);
  EXPECT_EQ(header.rdmap_version, kRdmapVersion);
  Bytes again(header.size());
  Writer out(again);
  encode(header, out);
  EXPECT_EQ(to_hex(out.written()), to_hex(Octets(ulpdu).first(header.size())));
  for (std::size_t size = 0; size < header.size(); ++size) {
    const ExactCopy prefix(Octets(ulpdu).first(size));
    Reader cut(prefix.octets());
    static_cast<void>(decode_ddp(cut));
    EXPECT_FALSE(cut.ok()) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Stack, FpduVector,
                         testing::Values("getattr_call", "getattr_reply", "write_call_readchunk", "read_req",
                                         "read_resp", "write_reply_inv", "read_call_writechunk", "rdma_write",
                                         "read_reply_writechunk", "nomsg_call", "nomsg_reply", "err_vers", "err_chunk",
                                         "terminate_rdmap", "terminate_ddp", "terminate_mpa_ird"),
                         [](const auto& param) { return std::string(param.param); });

// [5040-4.4-a]
TEST(ReadRequests, Vector) {
  const Bytes ulpdu = ulpdu_of(test::load_vectors("stack.hex").at("read_req"));
  const Octets octets = Octets(ulpdu).subspan(kUntaggedHeaderSize);
  Reader in(octets);
  const ReadRequest request = decode_read_request(in);
  EXPECT_EQ(request, (ReadRequest{0x9abc, 0x20, 5, 0x1234, 0x7f0000001000}));
  Bytes again(ReadRequest::kSize);
  Writer out(again);
  encode(request, out);
  EXPECT_EQ(to_hex(again), to_hex(octets));
  for (std::size_t size = 0; size < octets.size(); ++size) {
    const ExactCopy prefix(octets.first(size));
    Reader cut(prefix.octets());
    static_cast<void>(decode_read_request(cut));
    EXPECT_FALSE(cut.ok()) << size;
  }
}

struct TerminateVector {
  const char* name;
  TerminateCode code;
  std::size_t ddp;
  std::size_t read;
};
class TerminateVectors : public testing::TestWithParam<TerminateVector> {};

// [5040-4.8-a] [5040-4.8-c] A Terminate that is decoded and encoded again has the same bytes. A truncated Terminate is
// decoded if its first four bytes have arrived.
TEST_P(TerminateVectors, DecodesAndEncodesIdentically) {
  const Bytes ulpdu = ulpdu_of(test::load_vectors("stack.hex").at(GetParam().name));
  const Octets octets = Octets(ulpdu).subspan(kUntaggedHeaderSize);
  Terminate message;
  ASSERT_TRUE(decode(octets, message));
  EXPECT_EQ(message.code, GetParam().code);
  EXPECT_EQ(message.ddp_header.size(), GetParam().ddp);
  EXPECT_EQ(message.read_request.size(), GetParam().read);
  Bytes again(Terminate::kMaxSize);
  Writer out(again);
  encode(message, out);
  EXPECT_EQ(to_hex(out.written()), to_hex(octets));
  for (std::size_t size = 0; size < octets.size(); ++size) {
    const ExactCopy prefix(octets.first(size));
    Terminate cut;
    EXPECT_EQ(decode(prefix.octets(), cut), size >= 4) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Stack, TerminateVectors,
                         testing::Values(TerminateVector{"terminate_rdmap", {0, 1, 0}, 18, 28},
                                         TerminateVector{"terminate_ddp", {1, 1, 1}, 14, 0},
                                         TerminateVector{"terminate_mpa_ird", {2, 0, 6}, 0, 0}),
                         [](const auto& param) { return std::string(param.param.name); });

TerminateCode code_of(std::string_view hex) {
  Terminate message;
  EXPECT_TRUE(decode(from_hex(hex), message)) << hex;
  return message.code;
}

// [5040-4.8-b] Linux siw packs the layer and type bits in another order
TEST(Terminates, OfSiw) {
  EXPECT_EQ(code_of("21030300"), (TerminateCode{1, 2, 3}));
  EXPECT_EQ(code_of("11000300"), (TerminateCode{1, 1, 0}));
  EXPECT_EQ(code_of("10000700002e"), (TerminateCode{0, 1, 0}));
  EXPECT_EQ(code_of("20090300"), (TerminateCode{0, 2, 9}));
  EXPECT_EQ(code_of("02020000"), (TerminateCode{2, 0, 2}));
  EXPECT_EQ(code_of("1205c000002a"), (TerminateCode{1, 2, 5}));
  EXPECT_EQ(code_of("1205dfff002a"), (TerminateCode{1, 2, 5}));  // reserved bits
}

TEST(Terminates, AreDescribed) {
  EXPECT_EQ(describe(terminate::kBounds), "DDP tagged buffer error: base or bounds violation (1/1/01)");
  EXPECT_EQ(describe({7, 3, 0x2a}), "unknown layer error: unknown (7/3/2a)");
}

struct StartupVector {
  const char* name;
  StartupFrame::Kind kind;
};
class StartupVectors : public testing::TestWithParam<StartupVector> {};

// [5044-7.1.1-a] [6581-6-e] [6581-9-a]
TEST_P(StartupVectors, DecodesAndEncodesIdentically) {
  const Bytes octets = test::load_vectors("stack.hex").at(GetParam().name);
  StartupFrame frame;
  ASSERT_EQ(decode(octets, GetParam().kind, frame), StartupError::none);
  EXPECT_TRUE(frame.crc);
  EXPECT_FALSE(frame.markers);
  EXPECT_EQ(to_hex(frame.private_data), "f6ab0e1801010303");
  EXPECT_EQ(to_hex(encode(frame)), to_hex(octets));
  for (std::size_t size = 0; size < octets.size(); ++size) {
    const ExactCopy prefix(Octets(octets).first(size));
    EXPECT_NE(decode(prefix.octets(), GetParam().kind, frame), StartupError::none) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Stack, StartupVectors,
                         testing::Values(StartupVector{"mpa_req", StartupFrame::Kind::request},
                                         StartupVector{"mpa_rep", StartupFrame::Kind::reply},
                                         StartupVector{"enhanced_mpa_req", StartupFrame::Kind::request},
                                         StartupVector{"enhanced_mpa_rep", StartupFrame::Kind::reply}),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(Startup, EnhancedData) {
  StartupFrame frame;
  const auto vectors = test::load_vectors("stack.hex");
  ASSERT_EQ(decode(vectors.at("enhanced_mpa_req"), StartupFrame::Kind::request, frame), StartupError::none);
  EXPECT_EQ(frame.enhanced, (EnhancedData{true, true, true, true, 16, 16}));
  ASSERT_EQ(decode(vectors.at("enhanced_mpa_rep"), StartupFrame::Kind::reply, frame), StartupError::none);
  EXPECT_EQ(frame.enhanced, (EnhancedData{true, true, false, false, 16, 16}));
}

// [5044-7.1.1-b] A key with any one wrong bit is refused. [5044-7.1.2-i] The key of a Request is refused where a Reply
// is expected.
TEST(Startup, WrongKeys) {
  Bytes octets = test::load_vectors("stack.hex").at("mpa_req");
  StartupFrame frame;
  EXPECT_EQ(decode(octets, StartupFrame::Kind::reply, frame), StartupError::key);
  for (std::size_t bit = 0; bit < 128; ++bit) {
    octets[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    EXPECT_EQ(decode(octets, StartupFrame::Kind::request, frame), StartupError::key) << bit;
    octets[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
  }
}

// [5044-7.1.1-h] [5044-7.1.1-e] [5044-7.1.1-f] [6581-6-a]
TEST(Startup, LengthsAndFlags) {
  const std::string key = "4d504120494420526571204672616d65";
  StartupFrame frame;
  EXPECT_EQ(decode(from_hex(key + "00010201"), StartupFrame::Kind::request, frame), StartupError::private_data_length);
  EXPECT_EQ(decode(from_hex(key + "10020003"
                                  "000000"),
                   StartupFrame::Kind::request, frame),
            StartupError::enhanced_data);
  ASSERT_EQ(decode(from_hex(key + "2f010000"), StartupFrame::Kind::request, frame), StartupError::none);
  EXPECT_FALSE(frame.rejected);
  ASSERT_EQ(decode(from_hex(key + "10010000"), StartupFrame::Kind::request, frame), StartupError::none);
  EXPECT_FALSE(frame.enhanced);
  Bytes largest = from_hex(key + "00010200");
  largest.resize(largest.size() + 512);
  ASSERT_EQ(decode(largest, StartupFrame::Kind::request, frame), StartupError::none);
  EXPECT_EQ(frame.private_data.size(), 512u);
}

}  // namespace
}  // namespace rpcrdma::fabric::iwarp
