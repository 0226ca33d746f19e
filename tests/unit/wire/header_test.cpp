// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/wire/header.hpp"

#include <gtest/gtest.h>

#include <array>

#include "support/hex.hpp"

namespace rpcrdma::wire {
namespace {

using test::Bytes;
using test::ExactCopy;
using test::from_hex;

WireError error_of(std::string_view hex, const DecodeLimits& limits = {}) {
  Header header;
  const Bytes octets = from_hex(hex);
  const DecodeResult result = decode(ExactCopy(octets).octets(), header, limits);
  return result ? WireError{} : result.error();
}

// [8166-4.2.4-b] each chunk list of an RDMA_MSG may be empty
TEST(Header, MinimalMessage) {
  const Bytes octets = from_hex("0000000a 00000001 00000020 00000000 00000000 00000000 00000000 0000000a");
  Header header;
  const auto length = decode(octets, header);
  ASSERT_TRUE(length);
  EXPECT_EQ(*length, kMinHeader);
  EXPECT_EQ(header.xid, 10u);
  EXPECT_EQ(header.credits, 32u);
  EXPECT_EQ(header.procedure, Procedure::msg);
  EXPECT_TRUE(header.chunks.empty());
}

// [8166-4.5-a] a message of fewer than 28 bytes that is no RDMA_ERROR is discarded
TEST(Header, ShortMessagesAreDiscarded) {
  const Bytes octets = from_hex("0000000a 00000007 00000020 00000009 00000000 00000000 00000000");
  for (std::size_t size = 0; size < octets.size(); ++size) {
    Header header;
    const ExactCopy copy(Octets(octets).first(size));
    const auto result = decode(copy.octets(), header);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error(), WireError::too_short) << size;
  }
  EXPECT_EQ(answered_with(WireError::too_short), Answer::discard);
}

// [8166-4.2.2-a] [8166-4.5.1-a] a message of a version other than one is answered with ERR_VERS
TEST(Header, OtherVersionsAreRefused) {
  for (const char* version : {"00000000", "00000002", "ffffffff"}) {
    EXPECT_EQ(error_of(std::string("0000000a") + version + "00000020 00000000 00000000 00000000 00000000 0000000a"),
              WireError::bad_version);
  }
  EXPECT_EQ(answered_with(WireError::bad_version), Answer::err_vers);
}

// [8166-4.5.2-a] an unknown procedure: ERR_CHUNK
TEST(Header, UnknownProcedures) {
  EXPECT_EQ(error_of("0000000a 00000001 00000020 00000005 00000000 00000000 00000000"), WireError::bad_procedure);
  EXPECT_EQ(error_of("0000000a 00000001 00000020 ffffffff 00000000 00000000 00000000"), WireError::bad_procedure);
  EXPECT_EQ(answered_with(WireError::bad_procedure), Answer::err_chunk);
}

// [8166-4.6.1-b] [8166-4.6.2-b] the obsolete procedures are refused
TEST(Header, ObsoleteProcedures) {
  EXPECT_EQ(error_of("0000000a 00000001 00000020 00000002 00000000 00000000 00000000 00000000 00000000"),
            WireError::obsolete_msgp);
  EXPECT_EQ(answered_with(WireError::obsolete_msgp), Answer::err_chunk);
  EXPECT_EQ(error_of("0000000a 00000001 00000020 00000003"), WireError::too_short);
  EXPECT_EQ(error_of("0000000a 00000001 00000020 00000003 00000000 00000000 00000000"), WireError::obsolete_done);
  EXPECT_EQ(answered_with(WireError::obsolete_done), Answer::discard);
}

// [8166-4.6.1-a] [8166-4.6.2-a] [8166-4.2.4-a] messages that this library does not encode
TEST(Header, RefusesToEncodeWhatIsNeverSent) {
  std::array<std::byte, 256> room{};
  Header header;
  for (const Procedure procedure : {Procedure::msgp, Procedure::done, Procedure::nomsg, static_cast<Procedure>(5)}) {
    header.procedure = procedure;
    EXPECT_EQ(encode(header, room).error(), BaseError::invalid_argument);
    EXPECT_EQ(encoded_size(header), 0u);
  }
}

// [8166-4.2.4-a] an RDMA_NOMSG without any chunk is refused
TEST(Header, NomsgWithoutChunks) {
  EXPECT_EQ(error_of("0000000a 00000001 00000020 00000001 00000000 00000000 00000000"), WireError::bad_chunks);
}

// [8166-4.2.1-a] the XIDs of header and payload must be equal
TEST(Header, XidMismatch) {
  EXPECT_EQ(error_of("0000000a 00000001 00000020 00000000 00000000 00000000 00000000 0000000b"),
            WireError::xid_mismatch);
  EXPECT_EQ(error_of("0000000a 00000001 00000020 00000000 00000000 00000000 00000000 000000"), WireError::xid_mismatch);
  EXPECT_EQ(error_of("00000000 00000001 00000020 00000000 00000000 00000000 00000000"), WireError::xid_mismatch);
}

// [8166-3.4.5-b] the position of a Read chunk must be a multiple of four
TEST(Header, OddPositions) {
  EXPECT_EQ(error_of("0000000a 00000001 00000020 00000000"
                     "00000001 00000006 00001234 00000005 00000000 00001000 00000000 00000000 00000000 0000000a"),
            WireError::bad_chunks);
}

// [8166-4.5.2-a] the word before an optional item must be 0 or 1
TEST(Header, OptionalWordsAreStrict) {
  const std::string fixed = "0000000a 00000001 00000020 00000000";
  const std::string read = "00000006 00000080 00001234 00000005 00000000 00001000";
  EXPECT_EQ(error_of(fixed + "00000002" + read + "00000000 00000000 00000000 0000000a"), WireError::bad_chunks);
  EXPECT_EQ(error_of(fixed + "00000000 80000000 00000000 00000000 0000000a"), WireError::bad_chunks);
  EXPECT_EQ(error_of(fixed + "00000000 00000000 00000100 00000000 0000000a"), WireError::bad_chunks);
}

// [8166-4.5.2-a] a count that exceeds the rest of the message is refused before memory is allocated
TEST(Header, HostileCounts) {
  const std::string fixed = "0000000a 00000001 00000020 00000000 00000000";
  for (const char* count : {"00000001", "00000100", "10000000", "10000001", "ffffffff"}) {
    Header header;
    const Bytes write = from_hex(fixed + "00000001" + count + "00000000 00000000");
    EXPECT_EQ(decode(ExactCopy(write).octets(), header).error(), WireError::bad_chunks) << count;
    EXPECT_EQ(header.chunks.segment_count(), 0u);
    const Bytes reply = from_hex(fixed + "00000000 00000001" + count + "00000000");
    EXPECT_EQ(decode(ExactCopy(reply).octets(), header).error(), WireError::bad_chunks) << count;
    EXPECT_EQ(header.chunks.segment_count(), 0u);
  }
}

TEST(Header, SegmentLimit) {
  Header header;
  for (std::uint32_t i = 0; i < 3; ++i) header.chunks.reads.push_back({0, {i, 4, 0}});
  header.chunks.add_write_chunk(std::array<Segment, 2>{});
  header.chunks.begin_reply_chunk();
  header.chunks.add_reply_segment({1, 2, 3});
  header.procedure = Procedure::nomsg;
  Bytes octets(encoded_size(header));
  ASSERT_TRUE(encode(header, octets));
  Header out;
  EXPECT_TRUE(decode(octets, out, {.max_segments = 6}));
  for (const std::size_t limit : {0u, 2u, 3u, 4u, 5u}) {
    const auto result = decode(octets, out, {.max_segments = limit});
    ASSERT_FALSE(result) << limit;
    EXPECT_EQ(result.error(), WireError::too_many_segments);
    EXPECT_LE(out.chunks.segment_count(), limit);
  }
  EXPECT_EQ(answered_with(WireError::too_many_segments), Answer::err_chunk);
}

TEST(Header, EmptyChunksAreBoundedToo) {
  std::string hex = "0000000a 00000001 00000020 00000000 00000000";
  for (int i = 0; i < 20; ++i) hex += "00000001 00000000";
  hex += "00000000 00000000 0000000a";
  EXPECT_EQ(error_of(hex, {.max_segments = 19}), WireError::too_many_segments);
  EXPECT_EQ(error_of(hex, {.max_segments = 20}), WireError{});
}

// [8166-4.5-g] a malformed RDMA_ERROR is discarded
TEST(Header, BrokenErrors) {
  EXPECT_EQ(error_of("0000000a 00000001 00000020 00000004 00000063 00000001 00000001"), WireError::bad_error);
  EXPECT_EQ(error_of("0000000a 00000001 00000020 00000004 00000001 00000001"), WireError::bad_error);
  EXPECT_EQ(error_of("0000000a 00000001 00000020 00000004"), WireError::bad_error);
  EXPECT_EQ(error_of("0000000a 00000001 00000020 00000004 00000000"), WireError::bad_error);
  EXPECT_EQ(answered_with(WireError::bad_error), Answer::discard);
}

// [8166-4.5-d] [8166-4.5-e] [8166-4.5.1-a] [8166-4.5.2-a] an RDMA_ERROR has the XID and the version of the message that
// it answers
TEST(Header, ErrorsAnswerTheMessageThatFailed) {
  Header bad;
  ASSERT_FALSE(decode(from_hex("a0000005 00000007 00000020 00000000 00000000 00000000 00000000"), bad));
  Header answer;
  make_err_vers(bad, 16, answer);
  Bytes room(64);
  const auto size = encode(answer, room);
  ASSERT_TRUE(size);
  room.resize(*size);
  EXPECT_EQ(room, from_hex("a0000005 00000007 00000010 00000004 00000001 00000001 00000001"));
  make_err_chunk(bad, 9, bad);  // the error header replaces the refused header in the same object
  EXPECT_EQ(encoded_size(bad), 20u);
  EXPECT_EQ(bad.xid, 0xa0000005u);
  EXPECT_EQ(bad.version, 7u);
  EXPECT_EQ(bad.credits, 9u);
}

TEST(Header, EncodeNeverWritesPastItsRoom) {
  Header header;
  header.chunks.reads.push_back({128, {1, 2, 3}});
  header.chunks.add_write_chunk(std::array<Segment, 3>{});
  const std::size_t need = encoded_size(header);
  for (std::size_t size = 0; size < need; ++size) {
    const auto room = std::make_unique<std::byte[]>(size);
    EXPECT_EQ(encode(header, {room.get(), size}).error(), BaseError::buffer_overflow);
  }
}

TEST(Header, ClearKeepsTheRoom) {
  Header header;
  for (int i = 0; i < 100; ++i) header.chunks.reads.push_back({});
  const auto* at = header.chunks.reads.data();
  header.clear();
  EXPECT_TRUE(header.chunks.empty());
  header.chunks.reads.resize(100);
  EXPECT_EQ(header.chunks.reads.data(), at);
}

TEST(WireErrors, HaveMessagesAndConditions) {
  for (int i = 1; i <= 9; ++i) {
    const error_code error = make_error_code(static_cast<WireError>(i));
    EXPECT_NE(error.message(), "unknown header error") << i;
    EXPECT_EQ(error, Condition::give_up);
  }
}

}  // namespace
}  // namespace rpcrdma::wire
