// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/wire/header.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "support/hex.hpp"

namespace rpcrdma::wire {
namespace {

using test::Bytes;
using test::ExactCopy;
using test::from_hex;

constexpr DecodeLimits kTwo{.highest_version = kVersionTwo};

WireError error_of_two(std::string_view hex, const DecodeLimits& limits = kTwo) {
  Header header;
  const Bytes octets = from_hex(hex);
  const DecodeResult result = decode(ExactCopy(octets).octets(), header, limits);
  return result ? WireError{} : result.error();
}

const Bytes& vector_of(const std::string& name) {
  static const auto vectors = test::load_vectors("v2.hex");
  return vectors.at(name);
}

class HeaderVectorV2 : public testing::TestWithParam<const char*> {};

// [v2-4.2-a] each vector encodes to the same bytes; each prefix of its header is refused
TEST_P(HeaderVectorV2, DecodesAndEncodesIdentically) {
  const Bytes& octets = vector_of(GetParam());
  Header header;
  const auto length = decode(octets, header, kTwo);
  ASSERT_TRUE(length) << make_error_code(length.error()).message();
  EXPECT_EQ(encoded_size(header), *length);
  Bytes again(*length);
  ASSERT_TRUE(encode(header, again));
  EXPECT_TRUE(std::equal(again.begin(), again.end(), octets.begin()));
  EXPECT_EQ(*length == octets.size(), header.procedure != Procedure::msg) << "a payload follows RDMA2_MSG only";
  EXPECT_EQ(encode(header, MutableOctets(again).first(*length - 1)).error(), BaseError::buffer_overflow);
  for (std::size_t size = 0; size < *length; ++size) {
    Header cut;
    EXPECT_FALSE(decode(ExactCopy(Octets(octets).first(size)).octets(), cut, kTwo)) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(V2, HeaderVectorV2,
                         testing::Values("msg_call", "msg_reply", "msg_chunks", "nomsg_call", "nomsg_reply", "err_vers",
                                         "err_bad_header", "err_inval_option", "init", "init_all", "request",
                                         "response", "response_wide", "update", "unknown_option"),
                         [](const auto& param) { return std::string(param.param); });

TEST(HeaderV2, Fields) {
  Header header;
  ASSERT_TRUE(decode(vector_of("msg_chunks"), header, kTwo));
  EXPECT_EQ(header.xid, 0x11u);
  EXPECT_EQ(header.credits, 32u);
  EXPECT_EQ(header.procedure, Procedure::msg);
  EXPECT_EQ(header.direction, Direction::call);
  ASSERT_EQ(header.chunks.reads.size(), 1u);
  EXPECT_EQ(header.chunks.reads[0], (ReadSegment{128, {0x1234, 5, 0x7f0000001000}}));
  ASSERT_EQ(header.chunks.write_chunk_count(), 2u);
  EXPECT_EQ(header.chunks.write_chunk(0)[1], (Segment{0x2223, 2048, 0x200000}));
  EXPECT_TRUE(header.chunks.write_chunk(1).empty());
  EXPECT_EQ(header.chunks.reply_chunk()[0], (Segment{0x4444, 8192, 0x9000}));
}

// [v2-4.2.2-b] the direction of an error message is `reply`
TEST(HeaderV2, Errors) {
  Header header;
  ASSERT_TRUE(decode(vector_of("err_vers"), header, kTwo));
  EXPECT_EQ(header.error, ErrorKind::vers);
  EXPECT_EQ(header.direction, Direction::reply);
  EXPECT_EQ(header.highest_version, 1u);
  ASSERT_TRUE(decode(vector_of("err_inval_option"), header, kTwo));
  EXPECT_EQ(header.error, ErrorKind::invalid_option);
  for (const char* kind : {"00000000", "00000004", "ffffffff"})
    EXPECT_EQ(error_of_two(std::string("00000010 00000002 00000010 00000004") + kind), WireError::bad_error);
}

// [v2-4.2.2-a] the direction word is 0 or 1, and agrees with the payload
TEST(HeaderV2, Directions) {
  const std::string fixed = "00000010 00000002 00000020 00000000";
  const std::string none = "00000000 00000000 00000000";
  EXPECT_EQ(error_of_two(fixed + "00000002" + none + "00000010 00000000"), WireError::bad_direction);
  EXPECT_EQ(error_of_two(fixed + "00000000" + none + "00000010 00000001"), WireError::bad_direction);
  EXPECT_EQ(error_of_two(fixed + "00000001" + none + "00000010 00000000"), WireError::bad_direction);
  EXPECT_EQ(error_of_two(fixed + "00000001" + none + "00000010 00000001"), WireError{});
  EXPECT_EQ(error_of_two("00000010 00000002 00000020 00000005 00000002 00000001 00000000"), WireError::bad_direction);
}

// [v2-4.2.1-a] an RDMA2_MSG has a payload
TEST(HeaderV2, Payload) {
  const std::string head = "00000010 00000002 00000020 00000000 00000000 00000000 00000000 00000000";
  EXPECT_EQ(error_of_two(head), WireError::xid_mismatch);
  EXPECT_EQ(error_of_two(head + "00000011 00000000"), WireError::xid_mismatch);
  EXPECT_EQ(error_of_two(head + "00000010"), WireError::bad_direction);
}

// [v2-4.2.3-a] which messages are discarded, and which are answered
TEST(HeaderV2, Answers) {
  EXPECT_EQ(error_of_two("00000010 00000002 00000020"), WireError::too_short);
  EXPECT_EQ(error_of_two("00000010 00000002 00000020 00000000 00000000 00000000"), WireError::too_short);
  EXPECT_EQ(error_of_two("00000010 00000002 00000020 00000003 00000000 00000000 00000000"), WireError::bad_procedure);
  for (const char* version : {"00000000", "00000003", "ffffffff"})
    EXPECT_EQ(error_of_two(std::string("00000010") + version + "00000020 00000000 00000000 00000000 00000000 00000010"),
              WireError::bad_version);
  EXPECT_EQ(error_of_two("00000010 00000002 00000020 00000001 00000000 00000000 00000000 00000000"),
            WireError::bad_chunks);
  EXPECT_EQ(answered_with(WireError::too_short), Answer::discard);
  EXPECT_EQ(answered_with(WireError::bad_error), Answer::discard);
  EXPECT_EQ(answered_with(WireError::bad_version), Answer::err_vers);
  for (const WireError e : {WireError::bad_procedure, WireError::bad_chunks, WireError::too_many_segments,
                            WireError::xid_mismatch, WireError::bad_direction, WireError::bad_option})
    EXPECT_EQ(answered_with(e), Answer::err_chunk);
}

// [v2-3.1-a] [xchar-4-a] the answer to a message with an unsupported option has the XID of this message
TEST(HeaderV2, UnsupportedOption) {
  EXPECT_EQ(answered_with(WireError::unsupported_option), Answer::err_option);
  Header header;
  ASSERT_TRUE(decode(vector_of("unknown_option"), header, kTwo));
  EXPECT_EQ(header.option_type, 77u);
  EXPECT_EQ(header.option.size(), 3u);
  Header answer;
  make_err_option(header, 9, answer);
  std::array<std::byte, 64> room{};
  const auto size = encode(answer, room);
  ASSERT_TRUE(size);
  EXPECT_EQ(test::to_hex(Octets(room).first(*size)), "0000001a00000002000000090000000400000003");
}

TEST(HeaderV2, LengthsOfOptionsThatLie) {
  const std::string fixed = "00000010 00000002 00000020 00000005 00000000 00000001";
  for (const char* size : {"00000001", "00000005", "80000000", "fffffffd", "ffffffff"})
    EXPECT_EQ(error_of_two(fixed + size), WireError::bad_option) << size;
  EXPECT_EQ(error_of_two(fixed + "00000003 000000"), WireError::bad_option) << "without its pad";
}

TEST(HeaderV2, RefusesToEncode) {
  std::array<std::byte, 128> room{};
  Header header;
  header.procedure = Procedure::nomsg;
  header.version = kVersionTwo;
  EXPECT_EQ(encode(header, room).error(), BaseError::invalid_argument);
  header.procedure = Procedure::msgp;
  EXPECT_EQ(encode(header, room).error(), BaseError::invalid_argument);
  header.procedure = Procedure::error;
  header.error = static_cast<ErrorKind>(0);
  EXPECT_EQ(encoded_size(header), 0u);
  header.error = ErrorKind::invalid_option;
  EXPECT_EQ(encoded_size(header), 20u);
  header.version = kVersion;
  EXPECT_EQ(encoded_size(header), 0u) << "version one has no such error";
  header.procedure = Procedure::optional;
  EXPECT_EQ(encoded_size(header), 0u) << "version one has no optional messages";
}

// A test vector with one random byte is refused, or decodes to a header that encodes to the same bytes. The bytes of
// optional messages are not compared.
TEST(HeaderV2, MutatedVectors) {
  std::mt19937 random(2);
  const auto vectors = test::load_vectors("v2.hex");
  Header header;
  for (int round = 0; round < 2000; ++round) {
    for (const auto& [name, original] : vectors) {
      Bytes octets = original;
      octets[random() % octets.size()] = static_cast<std::byte>(random());
      const ExactCopy copy(octets);
      const auto length = decode(copy.octets(), header, kTwo);
      if (!length) continue;
      Bytes again(*length);
      ASSERT_TRUE(encode(header, again));
      if (header.procedure == Procedure::optional) continue;  // an optional message may have nonzero pad bytes
      EXPECT_TRUE(std::equal(again.begin(), again.end(), octets.begin())) << name;
    }
  }
}

}  // namespace
}  // namespace rpcrdma::wire
