// SPDX-License-Identifier: BSD-3-Clause
// The tester's encoder and decoder of MPA, DDP and RDMAP, with the vectors of tests/data/stack.hex; and the list of its
// cases.
#include "encoding.hpp"

#include <gtest/gtest.h>

#include "rpcrdma/conform/iwarp/tester.hpp"
#include "support/hex.hpp"

namespace rpcrdma::conform::iwarp {
namespace {

const Bytes& vector_of(const char* name) {
  static const auto loaded = test::load_vectors("stack.hex");
  return loaded.at(name);
}

Bytes ulpdu_of(const char* name) {
  const Bytes& fpdu = vector_of(name);
  const std::size_t length = std::to_integer<std::size_t>(fpdu[0]) << 8 | std::to_integer<std::size_t>(fpdu[1]);
  return {fpdu.begin() + 2, fpdu.begin() + 2 + static_cast<std::ptrdiff_t>(length)};
}

std::string text(View bytes) { return test::to_hex(bytes); }

const Bytes kPrivateData = test::from_hex("f6ab0e1801010303");

TEST(IwarpEncoding, Requests) {
  Request request;
  request.private_data = kPrivateData;
  EXPECT_EQ(text(encode(request)), text(vector_of("mpa_req")));
  request = enhanced_request({true, true, true, true, 16, 16});
  request.private_data = kPrivateData;
  EXPECT_EQ(text(encode(request)), text(vector_of("enhanced_mpa_req")));
  request.length = 7;
  EXPECT_EQ(encode(request)[19], std::byte{7});
}

TEST(IwarpEncoding, EnhancedWord) {
  const Enhanced word = decode_enhanced(0xC0100010);
  EXPECT_TRUE(word.peer_to_peer && word.send && !word.write && !word.read);
  EXPECT_EQ(word.ird, 16);
  EXPECT_EQ(word.ord, 16);
  for (const std::uint32_t value : {0u, 0xC010C010u, 0xFFFFFFFFu, 0x3FFF0000u, 0x00003FFFu, 0x80004001u})
    EXPECT_EQ(encode(decode_enhanced(value)), value);
}

TEST(IwarpEncoding, FpdusOfAllVectors) {
  for (const char* name : {"getattr_call", "getattr_reply", "read_req", "read_resp", "write_reply_inv", "rdma_write",
                           "nomsg_call", "terminate_rdmap", "terminate_ddp", "terminate_mpa_ird"})
    EXPECT_EQ(text(fpdu(ulpdu_of(name))), text(vector_of(name))) << name;
}

TEST(IwarpEncoding, Damage) {
  const Bytes good = fpdu(ulpdu_of("rdma_write")), bad = fpdu(ulpdu_of("rdma_write"), {0x01000000, 0});
  EXPECT_EQ(bad.back() ^ good.back(), std::byte{1}) << "the most significant byte is the last one";
  const Bytes padded_by_ones = fpdu(ulpdu_of("rdma_write"), {0, 0xFF});
  EXPECT_EQ(padded_by_ones[23], std::byte{0xFF});
  EXPECT_EQ(padded_by_ones.size(), good.size());
}

TEST(IwarpEncoding, Headers) {
  Untagged call;
  const Bytes payload(vector_of("getattr_call").begin() + 20, vector_of("getattr_call").end() - 4);
  EXPECT_EQ(text(encode(call, payload)), text(ulpdu_of("getattr_call")));
  Untagged read;
  read.opcode = kReadRequest;
  read.queue = kReadQueue;
  EXPECT_EQ(text(encode(read, encode(ReadRequest{0x9abc, 0x20, 5, 0x1234, 0x7f0000001000}))),
            text(ulpdu_of("read_req")));
  Tagged write;
  write.stag = 0x2222;
  write.offset = 0x100000;
  EXPECT_EQ(text(encode(write, view_of("abcdefg"))), text(ulpdu_of("rdma_write")));
  Untagged terminate;
  terminate.opcode = kTerminate;
  terminate.queue = kTerminateQueue;
  terminate.msn = 2;
  EXPECT_EQ(text(encode(terminate, encode_terminate({2, 0, 6}))), text(ulpdu_of("terminate_mpa_ird")));
}

TEST(IwarpEncoding, Segments) {
  const Segment reply = decode_segment(ulpdu_of("write_reply_inv"));
  EXPECT_EQ(reply.opcode, kSendInvalidate);
  EXPECT_EQ(reply.stag, 0x1234u);
  EXPECT_EQ(reply.msn, 2u);
  EXPECT_TRUE(!reply.tagged && reply.last);
  const Segment response = decode_segment(ulpdu_of("read_resp"));
  EXPECT_TRUE(response.tagged);
  EXPECT_EQ(response.offset, 0x20u);
  EXPECT_EQ(response.payload().size(), 5u);
  EXPECT_EQ(describe(decode_segment(ulpdu_of("terminate_ddp"))), "Terminate 1/1/01");
}

TEST(IwarpEncoding, EachPrefixOfASegmentIsRefusedOrRead) {
  for (const char* name : {"getattr_reply", "read_resp", "terminate_rdmap"}) {
    const Bytes whole = ulpdu_of(name);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Bytes prefix(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      const bool tagged = (whole[0] & std::byte{0x80}) != std::byte{0};
      if (size < (tagged ? kTaggedSize : kUntaggedSize))
        EXPECT_THROW(decode_segment(prefix), DecodeError) << name << size;
      else
        EXPECT_FALSE(describe(decode_segment(prefix)).empty());
    }
  }
}

TEST(IwarpEncoding, FieldsThatASenderMustNotSet) {
  for (const auto& [at, bits] : {std::pair{0, 0x04}, {0, 0x02}, {1, 0x10}, {1, 0x80}, {2, 0x01}}) {
    Bytes wrong = ulpdu_of("getattr_reply");
    wrong[static_cast<std::size_t>(at)] ^= static_cast<std::byte>(bits);
    EXPECT_THROW(decode_segment(wrong), DecodeError) << at << " " << bits;
  }
}

TEST(IwarpCases, EachIsDescribed) {
  const IwarpTester tester({});
  std::size_t musts = 0;
  for (const Case& one : tester.suite().cases()) {
    EXPECT_FALSE(one.info.sends.empty() || one.info.required.empty()) << one.info.id;
    musts += one.info.level == Level::must ? 1 : 0;
  }
  EXPECT_GE(tester.suite().cases().size(), 200u);
  EXPECT_GE(musts, 150u);
}

}  // namespace
}  // namespace rpcrdma::conform::iwarp
