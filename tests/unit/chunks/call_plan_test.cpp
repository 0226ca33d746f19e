// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/chunks/call_plan.hpp"

#include <gtest/gtest.h>

#include "memory.hpp"
#include "rpcrdma/connection/error.hpp"

namespace rpcrdma::transport {
namespace {

using Results = std::vector<boost::container::small_vector<BufferRef, 1>>;

class CallPlanTest : public testing::Test {
 protected:
  error_code plan(const Payload& payload, const Results& results = {}, std::uint32_t max_reply = 100,
                  bool may_reduce = true) {
    const CallShape shape{&payload, results, max_reply, may_reduce, memory.zeros()};
    const error_code status = plan_call(shape, limits, out);
    if (!status) {
      // [8166-3.3.2-a] [8166-4.2.4-e] the header and the inline part of every plan fit the threshold
      EXPECT_EQ(out.header_size, wire::encoded_size(out.header));
      EXPECT_LE(out.header_size + total_size(out.inline_stream), limits.send);
      for (const auto& read : out.header.chunks.reads) {
        EXPECT_EQ(read.position % 4, 0u);
        EXPECT_NE(read.target.length, 0u);
      }
    }
    return status;
  }
  Results result(std::initializer_list<std::uint32_t> sizes) {
    Results out_results(1);
    for (const std::uint32_t size : sizes) out_results[0].push_back(memory.piece(size));
    return out_results;
  }

  TestMemory memory;
  PlanLimits limits{.send = 1024, .receive = 1024};
  CallPlan out;
};

// [8166-3.5.3-a] a call of exactly the threshold fits inline; 4 bytes more do not
TEST_F(CallPlanTest, InlineUpToTheThreshold) {
  ASSERT_FALSE(plan(memory.message(996, {})));
  EXPECT_EQ(out.header.procedure, wire::Procedure::msg);
  EXPECT_TRUE(out.header.chunks.empty());
  EXPECT_EQ(out.windows(), 0u);
  ASSERT_FALSE(plan(memory.message(1000, {})));
  EXPECT_EQ(out.header.procedure, wire::Procedure::nomsg);
  ASSERT_EQ(out.header.chunks.reads.size(), 1u);
  EXPECT_EQ(out.header.chunks.reads[0].position, 0u);  // [8166-3.5.3-b] the Position-Zero Read chunk
  EXPECT_EQ(out.header.chunks.reads[0].target.length, 1000u);
  EXPECT_TRUE(out.inline_stream.empty());
}

// [8166-3.4.2-b] [8166-3.5.3-e] an item that fits stays inline, with its pad
TEST_F(CallPlanTest, ItemInline) {
  ASSERT_FALSE(plan(memory.message(60, {101}, 8)));
  EXPECT_TRUE(out.header.chunks.empty());
  EXPECT_EQ(total_size(out.inline_stream), 60u + 104 + 8);
}

// [8166-3.4.4.4-b] [8166-3.4.5-a] [8166-3.4.5.2-a] [8166-3.4.5.2-c] [8166-4.3.1.1-a]
TEST_F(CallPlanTest, ReadChunk) {
  ASSERT_FALSE(plan(memory.message(60, {5001}, 8)));
  EXPECT_EQ(out.header.procedure, wire::Procedure::msg);
  ASSERT_EQ(out.header.chunks.reads.size(), 1u);
  EXPECT_EQ(out.header.chunks.reads[0].position, 60u);
  EXPECT_EQ(out.header.chunks.reads[0].target.length, 5001u);
  EXPECT_EQ(total_size(out.inline_stream), 68u);
}

// [8166-3.4.5-c] [8166-3.4.4-a] [8166-3.4.4.4-a]
TEST_F(CallPlanTest, ReadChunksOfSeveralItemsAndSegments) {
  ASSERT_FALSE(plan(memory.message(60, {5001, 3002}, 8, 3)));
  ASSERT_EQ(out.header.chunks.reads.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(out.header.chunks.reads[i].position, i < 3 ? 60u : 60u + 5004 + 4);
}

TEST_F(CallPlanTest, OnlyTheLargestItemMovesIfThatIsEnough) {
  ASSERT_FALSE(plan(memory.message(60, {101, 3002})));
  ASSERT_EQ(out.header.chunks.reads.size(), 1u);
  EXPECT_EQ(out.header.chunks.reads[0].target.length, 3002u);
  EXPECT_EQ(out.reduced, (ItemFlags{false, true}));
}

// A chunk makes the header longer, so a message that exactly fitted no longer fits.
TEST_F(CallPlanTest, ChunksEnlargeTheHeader) {
  ASSERT_FALSE(plan(memory.message(972, {5000})));
  EXPECT_EQ(out.header.procedure, wire::Procedure::msg);
  EXPECT_EQ(out.header_size, 52u);
  ASSERT_FALSE(plan(memory.message(976, {5000})));
  EXPECT_EQ(out.header.procedure, wire::Procedure::nomsg);
  ASSERT_EQ(out.header.chunks.reads.size(), 2u);
  EXPECT_EQ(out.header.chunks.reads[0].position, 0u);
  EXPECT_EQ(out.header.chunks.reads[1].position, 976u);
  // A Write list also makes the header longer.
  ASSERT_FALSE(plan(memory.message(976, {}), result({5000})));
  EXPECT_EQ(out.header.procedure, wire::Procedure::nomsg);
}

// [8166-8.2.2.3-a] [8166-8.2.2-a] a call that must not be reduced: the item travels in the stream, with its pad
TEST_F(CallPlanTest, NoReduction) {
  ASSERT_FALSE(plan(memory.message(60, {5001}, 8), result({5000}), 100, false));
  EXPECT_EQ(out.header.procedure, wire::Procedure::nomsg);
  std::uint32_t sum = 0;
  for (const auto& read : out.header.chunks.reads) {
    EXPECT_EQ(read.position, 0u);
    sum += read.target.length;
  }
  EXPECT_EQ(sum, 60u + 5004 + 8);
  EXPECT_EQ(out.header.chunks.write_chunk_count(), 0u);
  EXPECT_EQ(out.reply_chunk, 5100u);
}

// [8166-4.3.2-b] [8166-3.4.6-a] [8166-3.4.6.2-a]
TEST_F(CallPlanTest, WriteChunkOnlyWhereTheResultDoesNotFit) {
  ASSERT_FALSE(plan(memory.message(60, {}), result({895}), 100));
  EXPECT_FALSE(out.offers_writes);
  EXPECT_TRUE(out.header.chunks.empty());
  ASSERT_FALSE(plan(memory.message(60, {}), result({897}), 100));
  EXPECT_TRUE(out.offers_writes);
  ASSERT_EQ(out.header.chunks.write_chunk_count(), 1u);
  EXPECT_EQ(out.header.chunks.write_chunk(0)[0].length, 897u);
  EXPECT_EQ(out.reply_chunk, 0u);
}

// [8166-4.3.3-a] [8166-6.2-a] the size of a reply includes the transport header and the Write list
TEST_F(CallPlanTest, ReplyChunkWhereTheLongestReplyDoesNotFit) {
  ASSERT_FALSE(plan(memory.message(60, {}), {}, 996));
  EXPECT_FALSE(out.header.chunks.has_reply_chunk());
  ASSERT_FALSE(plan(memory.message(60, {}), {}, 997));
  ASSERT_TRUE(out.header.chunks.has_reply_chunk());
  EXPECT_EQ(out.header.chunks.reply_chunk()[0].length, 1000u);
  ASSERT_FALSE(plan(memory.message(60, {}), result({5000}), 972));
  EXPECT_FALSE(out.header.chunks.has_reply_chunk());
  ASSERT_FALSE(plan(memory.message(60, {}), result({5000}), 976));
  EXPECT_TRUE(out.header.chunks.has_reply_chunk());
  EXPECT_TRUE(out.offers_writes);
}

TEST_F(CallPlanTest, SideBySideMemoryIsOneSegment) {
  const BufferRef all = memory.piece(8000);
  Results results(1);
  results[0] = {all.slice(0, 3000), all.slice(3000, 0), all.slice(3000, 5000)};
  ASSERT_FALSE(plan(memory.message(60, {}), results));
  ASSERT_EQ(out.header.chunks.write_chunk(0).size(), 1u);
  EXPECT_EQ(out.header.chunks.write_chunk(0)[0].length, 8000u);
}

TEST_F(CallPlanTest, Limits) {
  limits.max_long_call = 2000;
  EXPECT_FALSE(plan(memory.message(2000, {})));
  EXPECT_EQ(plan(memory.message(2004, {})), TransportError::call_too_long);
  limits.max_segments = 3;
  EXPECT_FALSE(plan(memory.message(60, {6000}, 0, 3)));
  EXPECT_EQ(plan(memory.message(60, {6000}, 0, 4)), TransportError::call_too_long);
  limits.max_segments = 1000;
  EXPECT_EQ(plan(memory.message(60, {60000}, 0, 60)), TransportError::call_too_long);  // the header alone is too long
  EXPECT_EQ(plan(memory.message(60, {}), {}, 0xffffffff), TransportError::reply_too_long);
}

}  // namespace
}  // namespace rpcrdma::transport
