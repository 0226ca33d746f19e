// SPDX-License-Identifier: BSD-3-Clause
#include "reply_check.hpp"

#include <gtest/gtest.h>

#include "rpcrdma/connection/error.hpp"

namespace rpcrdma::transport {
namespace {

class ReplyCheck : public testing::Test {
 protected:
  ReplyCheck() {
    put(inline_memory);
    put(long_memory);
    results.resize(2);
    results[0] = {{result_memory.data(), 60, 1}, {result_memory.data() + 60, 40, 1}};
    results[1] = {{result_memory.data() + 100, 100, 1}};
    sent.xid = 7;
    sent.chunks.add_write_chunk(std::vector<Segment>{{1, 60, 10}, {2, 40, 20}});
    sent.chunks.add_write_chunk(std::vector<Segment>{{3, 100, 30}});
    sent.chunks.begin_reply_chunk();
    sent.chunks.add_reply_segment({4, 400, 40});
    reply = sent;
  }
  static void put(std::vector<std::byte>& memory) {
    Writer writer(memory);
    writer.u32(7);
    writer.u32(1);
  }
  error_code check(std::uint32_t inline_size = 100) {
    const ReplyContext context{
        &sent, results, {long_memory.data(), 400, 1}, {inline_memory.data(), inline_size, 1}, 100};
    return accept_reply(context, reply, out);
  }
  void set(std::uint32_t first, std::uint32_t second, std::uint32_t third, std::uint32_t long_reply) {
    reply.chunks.write_chunk(0)[0].length = first;
    reply.chunks.write_chunk(0)[1].length = second;
    reply.chunks.write_chunk(1)[0].length = third;
    reply.chunks.reply_chunk()[0].length = long_reply;
  }

  std::vector<std::byte> inline_memory = std::vector<std::byte>(400);
  std::vector<std::byte> long_memory = std::vector<std::byte>(400);
  std::vector<std::byte> result_memory = std::vector<std::byte>(400);
  std::vector<boost::container::small_vector<BufferRef, 1>> results;
  wire::Header sent;
  wire::Header reply;
  Payload out;
};

// [8166-3.4.6.1-a] results occupy the first bytes of their memory
TEST_F(ReplyCheck, TakesResultsByTheirLengths) {
  set(60, 5, 0, 0);
  ASSERT_FALSE(check());
  ASSERT_EQ(out.items.size(), 2u);
  EXPECT_EQ(out.items[0].length, 65u);
  ASSERT_EQ(out.items[0].parts.size(), 2u);
  EXPECT_EQ(out.items[0].parts[1].size, 5u);
  EXPECT_EQ(out.items[0].position, PayloadItem::kNoPosition);
  EXPECT_EQ(out.items[1].length, 0u);
  EXPECT_EQ(out.length, 100u);
}

TEST_F(ReplyCheck, LongReply) {
  set(0, 0, 100, 300);
  reply.procedure = wire::Procedure::nomsg;
  ASSERT_FALSE(check(0));
  EXPECT_EQ(out.pieces[0].octets.data, long_memory.data());
  EXPECT_EQ(out.length, 300u);
  set(0, 0, 100, 7);
  EXPECT_EQ(check(0), TransportError::bad_reply);
  long_memory[3] = std::byte{8};  // [8166-4.2.1-a] another XID
  set(0, 0, 100, 300);
  EXPECT_EQ(check(0), TransportError::bad_reply);
}

// A call offers a Reply chunk, but its reply arrives inline. The reply is accepted whether its own Reply chunk reports
// a length of 0, reports a greater length, has no segments, or is absent.
TEST_F(ReplyCheck, ReplyChunkOfAShortReply) {
  set(1, 0, 0, 0);
  EXPECT_FALSE(check());
  set(1, 0, 0, 300);
  EXPECT_FALSE(check());
  EXPECT_EQ(out.pieces[0].octets.data, inline_memory.data());
  reply.chunks.begin_reply_chunk();
  EXPECT_FALSE(check());
  reply.chunks.clear();
  reply.chunks.add_write_chunk(std::vector<Segment>{{1, 1, 10}, {2, 0, 20}});
  reply.chunks.begin_write_chunk();
  EXPECT_FALSE(check());
}

// [8166-3.4.6-b] [8166-3.4.6-c] no segment reports more bytes than the call offered, and segments are filled in order
TEST_F(ReplyCheck, Echo) {
  set(61, 0, 0, 0);
  EXPECT_EQ(check(), TransportError::bad_reply);
  set(59, 1, 0, 0);
  EXPECT_EQ(check(), TransportError::bad_reply);
  set(60, 40, 101, 0);
  EXPECT_EQ(check(), TransportError::bad_reply);
  set(60, 40, 100, 401);
  EXPECT_EQ(check(), TransportError::bad_reply);
  set(60, 40, 100, 400);
  EXPECT_FALSE(check());
}

// [8166-6.1-d] The call offers Write chunks for its results. A reply that uses none of them is refused if it has more
// than 100 bytes, the value of ReplyContext::max_reply here, because such a reply contains a result.
TEST_F(ReplyCheck, ResultInlineThoughAChunkWasOffered) {
  set(0, 0, 0, 0);
  EXPECT_FALSE(check(100));
  EXPECT_EQ(check(104), TransportError::bad_reply);
  set(1, 0, 0, 0);
  EXPECT_FALSE(check(104));
}

// [8166-4.3.1-b] [8166-4.2.4-a]
TEST_F(ReplyCheck, BrokenHeaders) {
  EXPECT_FALSE(is_broken_header(reply));
  reply.chunks.reads.push_back({0, {1, 1, 1}});
  EXPECT_TRUE(is_broken_header(reply));
  reply.chunks.clear();
  EXPECT_FALSE(is_broken_header(reply));
  reply.procedure = wire::Procedure::nomsg;
  EXPECT_TRUE(is_broken_header(reply));
}

}  // namespace
}  // namespace rpcrdma::transport
