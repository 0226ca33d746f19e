// SPDX-License-Identifier: BSD-3-Clause
// The RPC-over-RDMA headers in the vectors of whole frames. The header follows the 18 bytes of the untagged DDP header.
#include <gtest/gtest.h>

#include "rpcrdma/wire/header.hpp"
#include "support/hex.hpp"

namespace rpcrdma::wire {
namespace {

using test::Bytes;
using test::ExactCopy;

Bytes send_payload(const std::string& name) {
  const Bytes fpdu = test::load_vectors("stack.hex").at(name);
  const std::size_t ulpdu = Reader(fpdu).u16();
  return {fpdu.begin() + 2 + 18, fpdu.begin() + 2 + static_cast<std::ptrdiff_t>(ulpdu)};
}

class HeaderVector : public testing::TestWithParam<const char*> {};

// [8166-4-a] [8166-4.5-b] each header decodes, encodes to the same bytes, and is refused when it is truncated
TEST_P(HeaderVector, DecodesAndEncodesIdentically) {
  const Bytes octets = send_payload(GetParam());
  Header header;
  const auto length = decode(ExactCopy(octets).octets(), header);
  ASSERT_TRUE(length) << make_error_code(length.error()).message();
  EXPECT_EQ(encoded_size(header), *length);
  Bytes again(*length);
  ASSERT_TRUE(encode(header, again));
  EXPECT_TRUE(std::equal(again.begin(), again.end(), octets.begin()));
  for (std::size_t size = 0; size < *length; ++size) {
    const ExactCopy prefix(Octets(octets).first(size));
    EXPECT_FALSE(decode(prefix.octets(), header)) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Stack, HeaderVector,
                         testing::Values("getattr_call", "getattr_reply", "write_call_readchunk", "write_reply_inv",
                                         "read_call_writechunk", "read_reply_writechunk", "nomsg_call", "nomsg_reply",
                                         "err_vers", "err_chunk"),
                         [](const auto& param) { return std::string(param.param); });

Header decoded(const std::string& name) {
  Header header;
  EXPECT_TRUE(decode(send_payload(name), header)) << name;
  return header;
}

// [8166-4.3.1.1-a] the Read chunk of a WRITE
TEST(HeaderVectors, ReadChunk) {
  const Header header = decoded("write_call_readchunk");
  ASSERT_EQ(header.chunks.reads.size(), 1u);
  EXPECT_EQ(header.chunks.reads[0], (ReadSegment{0x80, {0x1234, 5, 0x7f0000001000}}));
  EXPECT_EQ(header.credits, 32u);
  EXPECT_EQ(header.xid, 0xa0000002u);
}

TEST(HeaderVectors, WriteChunks) {
  const Header call = decoded("read_call_writechunk");
  ASSERT_EQ(call.chunks.write_chunk_count(), 1u);
  ASSERT_EQ(call.chunks.write_chunk(0).size(), 2u);
  EXPECT_EQ(call.chunks.write_chunk(0)[0], (Segment{0x2222, 2048, 0x100000}));
  EXPECT_EQ(call.chunks.write_chunk(0)[1], (Segment{0x2223, 2048, 0x200000}));
  const Header reply = decoded("read_reply_writechunk");
  EXPECT_EQ(reply.chunks.write_chunk(0)[0].length, 7u);
  EXPECT_EQ(reply.chunks.write_chunk(0)[1].length, 0u);
  EXPECT_FALSE(reply.chunks.has_reply_chunk());
}

TEST(HeaderVectors, LongMessages) {
  const Header call = decoded("nomsg_call");
  EXPECT_EQ(call.procedure, Procedure::nomsg);
  EXPECT_EQ(call.chunks.reads.at(0), (ReadSegment{0, {0x3333, 1400, 0x1000}}));
  ASSERT_EQ(call.chunks.reply_chunk().size(), 1u);
  EXPECT_EQ(call.chunks.reply_chunk()[0], (Segment{0x4444, 8192, 0x9000}));
  EXPECT_EQ(decoded("nomsg_reply").chunks.reply_chunk()[0].length, 3000u);
}

// [8166-4.5-e] an RDMA_ERROR has the version of the message that it refuses
TEST(HeaderVectors, Errors) {
  const Header vers = decoded("err_vers");
  EXPECT_EQ(vers.procedure, Procedure::error);
  EXPECT_EQ(vers.error, ErrorKind::vers);
  EXPECT_EQ(vers.version, 7u);
  EXPECT_EQ(vers.lowest_version, 1u);
  EXPECT_EQ(vers.highest_version, 1u);
  EXPECT_EQ(decoded("err_chunk").error, ErrorKind::chunk);
}

}  // namespace
}  // namespace rpcrdma::wire
