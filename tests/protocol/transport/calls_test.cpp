// SPDX-License-Identifier: BSD-3-Clause
// Calls of every form and their replies, over the loopback fabric.
#include <gtest/gtest.h>

#include "both_sides.hpp"

namespace rpcrdma::test {
namespace {

void expect_good(BothSides& sides, const Shape& shape, std::size_t reply_items = 0) {
  const auto call = sides.make(shape);
  ASSERT_TRUE(sides.run(*call));
  EXPECT_FALSE(call->status) << call->status.message();
  EXPECT_EQ(call->complaint, "");
  EXPECT_EQ(call->reply_items, reply_items);
  EXPECT_EQ(sides.handler.complaint, "");
  EXPECT_TRUE(sides.wait([&] { return sides.handler.sent == sides.handler.calls; }));
  EXPECT_EQ(sides.client_fabric->bound_windows(), 0u);
}

// [8166-3.2-a] [8166-4.2.3-a] an inline call needs one Send in each direction and no window
TEST(Calls, Inline) {
  BothSides sides;
  sides.network.start_trace();
  expect_good(sides, Shape{});
  EXPECT_EQ(sides.network.take_trace_text(), (std::vector<std::string>{"client send 52", "server send 40"}));
  EXPECT_EQ(sides.client_fabric->operations(fabric::LoopbackOperation::bind), 0u);
}

// [8166-3.4.2-b] [8166-4.3.2-b] [8166-3.3.3-c] a message of more than 1024 bytes that fits the inline threshold is sent
// inline
TEST(Calls, SmallItemsStayInline) {
  BothSides sides;
  sides.network.start_trace();
  Shape shape;
  shape.items = {1001};
  shape.results = {999};
  expect_good(sides, shape);
  EXPECT_EQ(sides.handler.items, 0u);
  EXPECT_EQ(sides.network.take_trace_text(), (std::vector<std::string>{"client send 1064", "server send 1044"}));
}

// [8166-3.4.5-a] [8166-3.4.5.2-a] [8166-3.4.5.2-c] [8166-4.3.1.1-a] [8797-4.1-a]
TEST(Calls, ReadChunk) {
  BothSides sides;
  sides.network.start_trace();
  Shape shape;
  shape.items = {100001};
  expect_good(sides, shape);
  EXPECT_EQ(sides.handler.items, 1u);
  EXPECT_EQ(sides.network.take_trace_text(),
            (std::vector<std::string>{"client send 80", "server read 100001", "client response 100001",
                                      "server send 40 invalidate"}));
  EXPECT_EQ(sides.client->requester().counters().remote_invalidations, 1u);
  EXPECT_EQ(sides.client->requester().counters().local_invalidations, 0u);
}

// [8166-4.3.2-a] [8166-3.4.6-d] [8166-3.4.6.2-b] the RDMA Write precedes the Send and has no padding
TEST(Calls, WriteChunk) {
  BothSides sides;
  sides.network.start_trace();
  Shape shape;
  shape.results = {100001};
  expect_good(sides, shape, 1);
  EXPECT_EQ(sides.network.take_trace_text(),
            (std::vector<std::string>{"client send 80", "server write 100001", "server send 68 invalidate"}));
}

// [8166-3.5.3-d] [8166-4.3.3-a] [8166-4.3.3-c] The reply is too long to be sent inline. The server writes it to the
// Reply chunk, and then sends an RDMA_NOMSG.
TEST(Calls, ReplyChunk) {
  BothSides sides;
  sides.network.start_trace();
  Shape shape;
  shape.reply_body = 20000;
  expect_good(sides, shape);
  EXPECT_EQ(sides.network.take_trace_text(),
            (std::vector<std::string>{"client send 72", "server write 20012", "server send 48 invalidate"}));
}

// done() destroys the client, takes memory of the size of the Reply chunk and overwrites it. The reply does not change.
TEST(Calls, LongReplyStaysWhenDoneDestroysTheClient) {
  BothSides sides;
  Shape shape;
  shape.reply_body = 20000;
  const auto call = sides.make(shape);
  std::vector<memory::RegisteredBuffer> taken;
  call->before_check = [&] {
    sides.client.reset();
    for (int i = 0; i < 4; ++i) {
      auto memory = sides.client_pool.allocate(call->max_reply);
      ASSERT_TRUE(memory);
      std::ranges::fill(memory->ref().octets(), std::byte{0xee});
      taken.push_back(std::move(*memory));
    }
  };
  sides.client->requester().submit(*call);
  ASSERT_TRUE(sides.wait([&] { return call->times_done == 1; }));
  EXPECT_FALSE(call->status) << call->status.message();
  EXPECT_EQ(call->complaint, "");
  EXPECT_EQ(taken.size(), 4u);
}

// [8166-4.3.3-b] a reply that fits inline is sent inline, though a Reply chunk was offered
TEST(Calls, ReplyChunkNotNeeded) {
  BothSides sides;
  sides.network.start_trace();
  Shape shape;
  shape.reply_body = 20;
  shape.max_reply = 9000;
  expect_good(sides, shape);
  EXPECT_EQ(sides.network.take_trace_text(), (std::vector<std::string>{"client send 72", "server send 80 invalidate"}));
}

// [8166-3.5.3-a] [8166-3.5.3-b] [8166-3.5.3-c]
TEST(Calls, LongCall) {
  BothSides sides;
  sides.network.start_trace();
  Shape shape;
  shape.call_body = 200000;
  expect_good(sides, shape);
  const auto trace = sides.network.take_trace_text();
  EXPECT_EQ(trace.back(), "server send 40 invalidate");
}

TEST(Calls, EverythingAtOnce) {
  for (const bool may_reduce : {true, false}) {
    BothSides sides;
    Shape shape;
    shape.call_body = 40000;
    shape.reply_body = 50000;
    shape.items = {70001, 3, 90003};
    shape.results = {80001, 5, 60002};
    shape.pieces = 3;
    shape.apart = true;
    shape.may_reduce = may_reduce;  // [8166-8.2.2.3-a]
    expect_good(sides, shape, may_reduce ? 3 : 0);
    EXPECT_EQ(sides.handler.items, may_reduce ? 3u : 0u);
  }
}

// [8166-3.3.2-a] [8166-3.3.2-b] [8797-4.2-b] [8797-4.2-c] message sizes around the thresholds, in both directions
TEST(Calls, SizesAroundTheThresholds) {
  SidesOptions options;
  options.client.connection.send_size = 1024;
  options.server.connection.send_size = 2048;
  BothSides sides(options);
  std::uint32_t seed = 1;
  for (std::uint32_t size = 960; size < 1024; size += 4) {
    Shape shape;
    shape.seed = ++seed;
    shape.call_body = size;
    expect_good(sides, shape);
    shape.reply_body = size + 1024;
    expect_good(sides, shape);
    Shape items;
    items.items = {size + size % 3};
    items.results = {size + 1024 + size % 3};
    const auto call = sides.make(items);
    ASSERT_TRUE(sides.run(*call));
    EXPECT_FALSE(call->status);
    EXPECT_EQ(call->complaint, "");
  }
}

// [8166-3.3.3-a] [8166-3.3.1-a] [8166-3.3.1-e] The client sends the first call alone. After the first reply, it sends
// as many calls at once as the server has granted credits. [8166-3.3.1-f] The client has a receive for each expected
// reply.
TEST(Calls, ManyAtOnceWithinTheCredits) {
  SidesOptions options;
  options.server.connection.credits = 7;
  BothSides sides(options);
  std::vector<std::unique_ptr<ShapedCall>> calls;
  Shape shape;
  std::size_t in_service = 0, most = 0, first = 0;
  std::vector<transport::IncomingCall*> held;
  sides.handler.intercept = [&](transport::IncomingCall& call) {
    held.push_back(&call);
    most = std::max(most, ++in_service);
    return true;
  };
  for (int i = 0; i < 100; ++i) {
    calls.push_back(sides.make(shape));
    sides.client->requester().submit(*calls.back());
  }
  run_ready(sides.context);
  first = in_service;
  EXPECT_EQ(first, 1u);
  sides.handler.intercept = {};
  while (!held.empty() || !calls.back()->times_done) {
    for (auto* call : std::exchange(held, {})) {
      PayloadBuilder& reply = call->reply();
      reply.u32(call->xid());
      reply.u32(1);
      reply.u32(1);
      --in_service;
      call->send({});
    }
    sides.handler.intercept = [&](transport::IncomingCall& call) {
      held.push_back(&call);
      most = std::max(most, ++in_service);
      return true;
    };
    run_ready(sides.context);
  }
  EXPECT_EQ(most, 7u);
  EXPECT_EQ(sides.client->requester().counters().granted, 7u);
  for (const auto& call : calls) {
    EXPECT_EQ(call->times_done, 1);
    EXPECT_EQ(call->complaint, "");
  }
}

class RandomCalls : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomCalls, AreByteIdentical) {
  SidesOptions options;
  options.network.seed = GetParam();
  options.network.max_delay = GetParam() % 2 == 0 ? 0 : 5;
  options.network.reorder = GetParam() % 3 == 0;
  if (GetParam() % 4 == 0) options.capabilities.remote_invalidation = false;
  if (GetParam() % 5 == 0) options.capabilities.max_gather = 3;
  if (GetParam() % 3 == 1) options.server.bulk_budget = 1u << 20;
  BothSides sides(options);
  std::mt19937 random(static_cast<std::uint32_t>(GetParam()));
  std::deque<std::unique_ptr<ShapedCall>> calls;
  for (std::uint32_t i = 0; i < 250; ++i) {
    calls.push_back(sides.make(random_shape(random, i + 1)));
    sides.client->requester().submit(*calls.back());
    if (calls.size() < 40) continue;
    ASSERT_TRUE(sides.wait([&] { return calls.front()->times_done != 0; }));
    EXPECT_FALSE(calls.front()->status) << i << " " << calls.front()->status.message();
    EXPECT_EQ(calls.front()->complaint, "") << i;
    calls.pop_front();
  }
  for (const auto& call : calls) {
    ASSERT_TRUE(sides.wait([&] { return call->times_done != 0; }));
    EXPECT_FALSE(call->status) << call->status.message();
    EXPECT_EQ(call->complaint, "");
  }
  EXPECT_EQ(sides.handler.complaint, "");
  ASSERT_TRUE(sides.wait([&] { return sides.handler.sent == sides.handler.calls; }));
  EXPECT_EQ(sides.client_fabric->bound_windows(), 0u);
  EXPECT_EQ(sides.server->counters().bulk_in_use, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomCalls, testing::Range(std::uint64_t{1}, std::uint64_t{9}));

}  // namespace
}  // namespace rpcrdma::test
