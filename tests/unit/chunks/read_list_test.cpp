// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/chunks/read_list.hpp"

#include <gtest/gtest.h>

#include "memory.hpp"

namespace rpcrdma::transport {
namespace {

class ReadListTest : public testing::Test {
 protected:
  bool parse(std::vector<wire::ReadSegment> reads, wire::Procedure procedure = wire::Procedure::msg) {
    wire::Header header;
    header.procedure = procedure;
    header.chunks.reads = std::move(reads);
    return list.parse(header, 10000);
  }
  bool assemble(std::uint32_t stream) { return list.assemble(memory.piece(stream), payload); }

  TestMemory memory;
  ReadList list;
  Payload payload;
};

TEST_F(ReadListTest, Empty) {
  ASSERT_TRUE(parse({}));
  ASSERT_TRUE(assemble(40));
  ASSERT_EQ(payload.pieces.size(), 1u);
  EXPECT_EQ(payload.length, 40u);
  EXPECT_FALSE(assemble(7));
  EXPECT_FALSE(assemble(0));
}

// [8166-3.4.5-a] [8166-3.4.5-d] positions are those of the unreduced stream, so they count earlier items and their pads
TEST_F(ReadListTest, TwoChunksInTheStream) {
  ASSERT_TRUE(parse({{20, {1, 3, 0}}, {20, {2, 2, 7}}, {32, {3, 8, 0}}}));
  ASSERT_EQ(list.chunks().size(), 2u);
  EXPECT_EQ(list.chunks()[0].length, 5u);
  EXPECT_EQ(list.chunks()[0].segments[1], (Segment{2, 2, 7}));
  ASSERT_TRUE(assemble(36));
  ASSERT_EQ(payload.pieces.size(), 3u);
  EXPECT_EQ(payload.pieces[0].octets.size, 20u);
  EXPECT_EQ(payload.pieces[1].position, 28u);
  EXPECT_EQ(payload.pieces[1].octets.size, 4u);
  EXPECT_EQ(payload.pieces[2].position, 40u);
  EXPECT_EQ(payload.pieces[2].octets.size, 12u);
  EXPECT_EQ(payload.items[1].position, 32u);
  EXPECT_EQ(payload.length, 52u);
}

// The chunks may come in any order; the segments of one chunk keep their order.
TEST_F(ReadListTest, AnyOrder) {
  ASSERT_TRUE(parse({{32, {3, 8, 0}}, {20, {1, 3, 0}}, {20, {2, 2, 7}}}));
  ASSERT_EQ(list.chunks().size(), 2u);
  EXPECT_EQ(list.chunks()[0].position, 20u);
  EXPECT_EQ(list.chunks()[0].segments[0].handle, 1u);
  EXPECT_EQ(list.chunks()[0].segments[1].handle, 2u);
}

// [8166-3.4.5.2-d] a pad sent in the chunk does not change the positions of later items
TEST_F(ReadListTest, PaddedChunk) {
  ASSERT_TRUE(parse({{20, {1, 5, 0}}, {20, {1, 3, 5}}, {32, {3, 8, 0}}}));
  ASSERT_TRUE(assemble(36));
  EXPECT_EQ(payload.items[0].length, 8u);
  EXPECT_EQ(payload.pieces[1].position, 28u);
  EXPECT_EQ(payload.length, 52u);
}

TEST_F(ReadListTest, ItemsSideBySideAndAtTheEnd) {
  ASSERT_TRUE(parse({{20, {1, 8, 0}}, {28, {2, 8, 0}}}));
  ASSERT_TRUE(assemble(20));
  EXPECT_EQ(payload.pieces.size(), 1u);
  EXPECT_EQ(payload.length, 36u);
}

// Chunks without bytes are ignored.
TEST_F(ReadListTest, EmptyChunks) {
  ASSERT_TRUE(parse({{20, {1, 0, 0}}, {24, {1, 4, 0}}, {24, {1, 0, 0}}, {24, {1, 0, 0}}}));
  EXPECT_EQ(list.chunks().size(), 1u);
}

// Chunks that overlap are refused.
TEST_F(ReadListTest, Overlaps) {
  EXPECT_FALSE(parse({{20, {1, 5, 0}}, {24, {1, 4, 0}}}));
  EXPECT_FALSE(parse({{24, {1, 4, 0}}, {20, {1, 5, 0}}}));
  EXPECT_TRUE(parse({{20, {1, 4, 0}}, {24, {1, 4, 0}}}));
}

TEST_F(ReadListTest, OutsideTheStream) {
  ASSERT_TRUE(parse({{24, {1, 4, 0}}}));
  EXPECT_FALSE(assemble(20));
  EXPECT_TRUE(assemble(24));
  ASSERT_TRUE(parse({{4, {1, 4, 0}}}));
  EXPECT_FALSE(assemble(24));  // the position lies between the XID and the message type
}

// [8166-8.1.4-a] [8166-3.4.4-c]
TEST_F(ReadListTest, TooLong) {
  EXPECT_TRUE(parse({{20, {1, 10000, 0}}}));
  EXPECT_FALSE(parse({{20, {1, 10001, 0}}}));
  EXPECT_FALSE(parse({{20, {1, 0xffffffff, 0}}, {20, {1, 2, 0}}}));
  EXPECT_FALSE(parse({{0xfffffff8, {1, 8, 0}}}));
}

// [8166-4.2.4-a] [8166-3.5.3-b]
TEST_F(ReadListTest, PositionZero) {
  EXPECT_FALSE(parse({{0, {1, 100, 0}}}));
  EXPECT_FALSE(parse({}, wire::Procedure::nomsg));
  EXPECT_FALSE(parse({{20, {1, 100, 0}}}, wire::Procedure::nomsg));
  EXPECT_FALSE(parse({{0, {1, 0, 0}}}, wire::Procedure::nomsg));
  ASSERT_TRUE(parse({{20, {2, 100, 0}}, {0, {1, 50, 0}}, {0, {1, 50, 50}}}, wire::Procedure::nomsg));
  EXPECT_EQ(list.long_call().length, 100u);
  EXPECT_EQ(list.long_call().segments.size(), 2u);
  ASSERT_EQ(list.chunks().size(), 1u);
  ASSERT_TRUE(assemble(100));
  EXPECT_EQ(payload.length, 200u);
}

}  // namespace
}  // namespace rpcrdma::transport
