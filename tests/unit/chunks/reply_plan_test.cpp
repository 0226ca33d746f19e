// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/chunks/reply_plan.hpp"

#include <gtest/gtest.h>

#include "memory.hpp"
#include "rpcrdma/connection/error.hpp"

namespace rpcrdma::transport {
namespace {

class ReplyPlanTest : public testing::Test {
 protected:
  error_code plan(const Payload& payload) { return plan_reply(payload, call, 1024, memory.zeros(), out); }
  std::vector<std::uint32_t> lengths(std::size_t chunk) const {
    std::vector<std::uint32_t> result;
    for (const Segment& segment : out.header.chunks.write_chunk(chunk)) result.push_back(segment.length);
    return result;
  }
  void offer(std::initializer_list<std::uint32_t> sizes) {
    offered.begin_write_chunk();
    for (const std::uint32_t size : sizes) offered.add_write_segment({++handle, size, 1000});
  }

  TestMemory memory;
  wire::Header call;
  wire::ChunkLists& offered = call.chunks;
  std::uint32_t handle = 0;
  ReplyPlan out;
};

// [8166-4.3.3-b] a reply of exactly the threshold fits inline
TEST_F(ReplyPlanTest, Inline) {
  ASSERT_FALSE(plan(memory.message(996, {})));
  EXPECT_EQ(out.header.procedure, wire::Procedure::msg);
  EXPECT_EQ(plan(memory.message(1000, {})), TransportError::reply_too_long);
}

// [8166-3.4.6-b] [8166-3.4.6-c] [8166-4.3.2-a] [8166-3.4.6.2-c] The reply repeats the segments of a Write chunk. The
// item fills the segments in order. Each returned length is the number of the item's bytes in the segment.
TEST_F(ReplyPlanTest, SegmentsAreFilledInOrder) {
  offer({100, 0, 50, 70});
  ASSERT_FALSE(plan(memory.message(40, {123}, 8)));
  EXPECT_EQ(lengths(0), (std::vector<std::uint32_t>{100, 0, 23, 0}));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(out.header.chunks.write_chunk(0)[i].handle, i + 1);
    EXPECT_EQ(out.header.chunks.write_chunk(0)[i].offset, 1000u);
  }
  EXPECT_EQ(total_size(out.stream), 48u);  // [8166-3.4.4.4-b] the stream contains no pad of the item
}

// [8166-4.3.2.1-a] [8166-4.3.2.2-a] [8166-4.3.2.2-c]
TEST_F(ReplyPlanTest, ChunksAndItemsInPairs) {
  offer({100});
  offer({100});
  ASSERT_FALSE(plan(memory.message(40, {10})));
  EXPECT_EQ(lengths(0), (std::vector<std::uint32_t>{10}));
  EXPECT_EQ(lengths(1), (std::vector<std::uint32_t>{0}));
  ASSERT_FALSE(plan(memory.message(40, {10, 20, 30})));
  EXPECT_EQ(lengths(1), (std::vector<std::uint32_t>{20}));
  EXPECT_EQ(out.reduced, (ItemFlags{true, true, false}));
  EXPECT_EQ(total_size(out.stream), 40u + 4 + 4 + 32);
}

// [8166-4.3.2.3-a] [8166-4.3.2.3-b]
TEST_F(ReplyPlanTest, AnEmptyChunkForcesItsItemInline) {
  offer({});
  offer({100});
  ASSERT_FALSE(plan(memory.message(40, {10, 20})));
  EXPECT_EQ(out.reduced, (ItemFlags{false, true}));
  EXPECT_TRUE(out.header.chunks.write_chunk(0).empty());
  EXPECT_EQ(lengths(1), (std::vector<std::uint32_t>{20}));
}

// [8166-4.5.3-b]
TEST_F(ReplyPlanTest, ItemLargerThanItsChunk) {
  offer({100, 100});
  EXPECT_FALSE(plan(memory.message(40, {200})));
  EXPECT_EQ(plan(memory.message(40, {201})), TransportError::reply_too_long);
}

// [8166-3.5.3-d] [8166-3.5.3-f] [8166-4.3.3-c] [8166-3.5.3-e]
TEST_F(ReplyPlanTest, ReplyChunk) {
  offered.begin_reply_chunk();
  offered.add_reply_segment({1, 1000, 0});
  offered.add_reply_segment({2, 1000, 0});
  ASSERT_FALSE(plan(memory.message(40, {})));
  EXPECT_EQ(out.header.procedure, wire::Procedure::msg);
  EXPECT_EQ(total_length(out.header.chunks.reply_chunk()), 0u);
  ASSERT_FALSE(plan(memory.message(40, {1401})));
  EXPECT_EQ(out.header.procedure, wire::Procedure::nomsg);
  EXPECT_EQ(out.header.chunks.reply_chunk()[0].length, 1000u);
  EXPECT_EQ(out.header.chunks.reply_chunk()[1].length, 444u);
  EXPECT_EQ(total_size(out.stream), 1444u);
  EXPECT_FALSE(plan(memory.message(2000, {})));
  EXPECT_EQ(plan(memory.message(2004, {})), TransportError::reply_too_long);
}

TEST(FillLengths, SumsBeyondThirtyTwoBits) {
  std::vector<Segment> segments(3, Segment{1, 0xffffffff, 0});
  EXPECT_EQ(total_length(segments), 3 * std::uint64_t{0xffffffff});  // [8166-3.4.4-b]
  EXPECT_TRUE(fill_lengths(segments, std::uint64_t{0xffffffff} + 5));
  EXPECT_EQ(segments[0].length, 0xffffffffu);
  EXPECT_EQ(segments[1].length, 5u);
  EXPECT_EQ(segments[2].length, 0u);
  EXPECT_FALSE(fill_lengths(segments, std::uint64_t{0xffffffff} + 6));
  EXPECT_EQ(segments[1].length, 5u);
}

}  // namespace
}  // namespace rpcrdma::transport
