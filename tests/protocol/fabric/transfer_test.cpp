// SPDX-License-Identifier: BSD-3-Clause
// Sends, RDMA Writes and RDMA Reads: data, order and limits.
#include <array>

#include "support/fabric_conformance.hpp"

namespace rpcrdma::test {
namespace {

using fabric::Access;
using fabric::FabricError;
using fabric::QueuePairOptions;

constexpr std::uint32_t kMebi = 1u << 20;

// [5040-5.3-a] [5040-5.5-a] [5041-5.3-d] Sends are delivered once and in order, with their lengths
TEST_P(FabricTest, SendsArriveInOrder) {
  connect();
  constexpr int kCount = 60;
  Memory from(bed_->client(), kCount * 100);
  Memory to(bed_->server(), kCount * 100);
  fill_pattern(from.octets, 1);
  std::vector<int> expected;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    ASSERT_FALSE(server().qp->post_receive(to.part(i * 100, 100), server().op(static_cast<int>(i))));
    ASSERT_FALSE(client_.send(from.part(i * 100, i + 1), static_cast<int>(i)));
    expected.push_back(static_cast<int>(i));
  }
  EXPECT_TRUE(client_.log.empty());  // no callback runs within the posting function
  client_.inside_call = true;
  client_.qp->submit();
  client_.inside_call = false;
  ASSERT_TRUE(until([&] { return server().log.size() == kCount && client_.log.size() == kCount; }));
  EXPECT_EQ(server().tags(), expected);
  EXPECT_EQ(client_.tags(), expected);
  EXPECT_EQ(client_.nested, 0u);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(server().log[i].completion.length, i + 1);
    EXPECT_FALSE(server().log[i].completion.invalidated);
    EXPECT_TRUE(has_pattern(to.part(i * 100, i + 1).octets(), 1, i * 100)) << i;
    EXPECT_TRUE(all_are(to.part(i * 100 + i + 1, 100 - i - 1).octets(), std::byte{0})) << i;
  }
  EXPECT_GE(server().batches, 1u);
}

TEST_P(FabricTest, BothDirectionsAtOnce) {
  connect();
  Memory at_client(bed_->client(), 40000);
  Memory at_server(bed_->server(), 40000);
  for (std::uint32_t i = 0; i < 20; ++i) {
    ASSERT_FALSE(server().qp->post_receive(at_server.part(i * 1000, 1000), server().op(1)));
    ASSERT_FALSE(client_.qp->post_receive(at_client.part(i * 1000, 1000), client_.op(1)));
    ASSERT_FALSE(server().send(at_server.part(20000 + i * 1000, 1000), 2));
    ASSERT_FALSE(client_.send(at_client.part(20000 + i * 1000, 1000), 2));
  }
  client_.qp->submit();
  server().qp->submit();
  EXPECT_TRUE(until([&] { return client_.log.size() == 40 && server().log.size() == 40; }));
}

TEST_P(FabricTest, SendsGather) {
  connect();
  const std::uint32_t limit = std::min<std::uint32_t>(bed_->client().capabilities().max_gather, 16);
  ASSERT_GE(limit, 2u);
  Memory from(bed_->client(), 4096);
  Memory to(bed_->server(), 4096);
  fill_pattern(from.octets, 2);
  std::vector<BufferRef> gather;
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < limit; ++i) {
    gather.push_back(from.part(sum, i * 7));  // the first part is empty
    sum += i * 7;
  }
  ASSERT_FALSE(server().qp->post_receive(to.all(), server().op(1)));
  ASSERT_FALSE(client_.qp->post_send(gather, {}, client_.op(2)));
  client_.qp->submit();
  ASSERT_TRUE(until([&] { return server().count(1) == 1; }));
  EXPECT_EQ(server().result(1).length, sum);
  EXPECT_TRUE(has_pattern(to.part(0, sum).octets(), 2));
}

TEST_P(FabricTest, TooManyPartsAreRefused) {
  connect();
  Memory from(bed_->client(), 16);
  const std::vector<BufferRef> gather(bed_->client().capabilities().max_gather + 1, from.part(0, 1));
  EXPECT_TRUE(client_.qp->post_send(gather, {}, client_.op(1)).failed());
  EXPECT_TRUE(client_.qp->post_write(gather, 0, 0, client_.op(1)).failed());
}

// [5040-5.3-b] an empty Send consumes a receive
TEST_P(FabricTest, EmptySends) {
  connect();
  Memory to(bed_->server(), 64);
  ASSERT_FALSE(server().qp->post_receive(to.all(), server().op(1)));
  ASSERT_FALSE(client_.qp->post_send({}, {}, client_.op(2)));
  client_.qp->submit();
  ASSERT_TRUE(until([&] { return server().count(1) == 1; }));
  EXPECT_FALSE(server().result(1).status);
  EXPECT_EQ(server().result(1).length, 0u);
}

TEST_P(FabricTest, LargeSends) {
  connect();
  constexpr std::uint32_t kSize = 262144;
  Memory from(bed_->client(), kSize);
  Memory to(bed_->server(), kSize);
  fill_pattern(from.octets, 4);
  ASSERT_FALSE(server().qp->post_receive(to.all(), server().op(1)));
  ASSERT_FALSE(client_.send(from.all(), 2));
  client_.qp->submit();
  ASSERT_TRUE(until([&] { return server().count(1) == 1; }));
  EXPECT_EQ(server().result(1).length, kSize);
  EXPECT_TRUE(has_pattern(to.octets, 4));
}

// [5040-5.1-a] [5040-5.5-e] a Write is placed before a later Send is delivered
TEST_P(FabricTest, WritesArePlacedBeforeALaterSend) {
  connect();
  Memory target(bed_->client(), kMebi + 200, std::byte{0xee});
  Memory source(bed_->server(), kMebi);
  Memory message(bed_->client(), 64);
  fill_pattern(source.octets, 5);
  const Exposed exposed(client_, target.part(100, kMebi), Access::remote_write);
  EXPECT_EQ(exposed.segment.length, kMebi);
  ASSERT_FALSE(client_.qp->post_receive(message.all(), client_.op(1)));
  ASSERT_FALSE(server().write(source.all(), exposed.segment, 2));
  ASSERT_FALSE(server().send(source.part(0, 10), 3));
  server().qp->submit();
  ASSERT_TRUE(until([&] { return client_.count(1) == 1; }));
  EXPECT_TRUE(has_pattern(target.part(100, kMebi).octets(), 5));
  EXPECT_TRUE(all_are(target.part(0, 100).octets(), std::byte{0xee}));
  EXPECT_TRUE(all_are(target.part(kMebi + 100, 100).octets(), std::byte{0xee}));
  ASSERT_TRUE(until([&] { return server().log.size() == 2; }));
  EXPECT_EQ(server().tags(), (std::vector<int>{2, 3}));
}

TEST_P(FabricTest, WorkIsCounted) {
  connect();
  Memory from(bed_->client(), 96);
  Memory to(bed_->server(), 96);
  const fabric::Counters client_before = bed_->client().counters();
  const fabric::Counters server_before = bed_->server().counters();
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_FALSE(server().qp->post_receive(to.part(32 * i, 32), server().op(1)));
    ASSERT_FALSE(client_.send(from.part(32 * i, 32), 2));
  }
  client_.qp->submit();
  ASSERT_TRUE(until([&] { return server().count(1) == 3 && client_.count(2) == 3; }));
  const fabric::Counters& client = bed_->client().counters();
  const fabric::Counters& server_side = bed_->server().counters();
  EXPECT_EQ(client.work_requests - client_before.work_requests, 3u);
  EXPECT_EQ(client.completions - client_before.completions, 3u);
  EXPECT_EQ(server_side.work_requests - server_before.work_requests, 3u);
  EXPECT_EQ(server_side.completions - server_before.completions, 3u);
  EXPECT_GT(server_side.batches, server_before.batches);
  EXPECT_EQ(server_side.copied, server_before.copied);
}

// [5041-4.2-d] Writes of any length and alignment, all to one window
TEST_P(FabricTest, ManyWritesIntoOneWindow) {
  QueuePairOptions deep;
  deep.send_depth = 300;
  connect({}, deep);
  Memory target(bed_->client(), 100000);
  Memory source(bed_->server(), 100000);
  Memory message(bed_->client(), 64);
  fill_pattern(source.octets, 6);
  const Exposed exposed(client_, target.all(), Access::remote_write);
  ASSERT_FALSE(client_.qp->post_receive(message.all(), client_.op(1)));
  std::uint32_t at = 0;
  for (std::uint32_t size = 1; at < 100000; size = size * 3 % 1999 + 1) {
    const std::uint32_t step = std::min(size, 100000 - at);
    const std::array<BufferRef, 2> gather{source.part(at, step / 2), source.part(at + step / 2, step - step / 2)};
    ASSERT_FALSE(server().qp->post_write(gather, exposed.segment.handle, exposed.segment.offset + at, server().op(2)));
    at += step;
  }
  ASSERT_FALSE(server().send(source.part(0, 1), 3));
  server().qp->submit();
  ASSERT_TRUE(until([&] { return client_.count(1) == 1; }));
  EXPECT_TRUE(has_pattern(target.octets, 6));
}

// [5040-5.5-g] a Read completes when its data has been placed
TEST_P(FabricTest, LargeReads) {
  connect();
  Memory source(bed_->client(), kMebi + 64);
  Memory sink(bed_->server(), kMebi + 64, std::byte{0xee});
  fill_pattern(source.octets, 7);
  const Exposed exposed(client_, source.part(32, kMebi), Access::remote_read);
  ASSERT_FALSE(server().read(sink.part(32, kMebi), exposed.segment, 1));
  server().qp->submit();
  ASSERT_TRUE(until([&] { return server().count(1) == 1; }));
  EXPECT_FALSE(server().result(1).status);
  EXPECT_TRUE(has_pattern(sink.part(32, kMebi).octets(), 7, 32));
  EXPECT_TRUE(all_are(sink.part(0, 32).octets(), std::byte{0xee}));
  EXPECT_TRUE(all_are(sink.part(kMebi + 32, 32).octets(), std::byte{0xee}));
}

// [5040-6.1-b] [5040-5.2.2-a] more Reads than ORD wait in the provider and complete in order
TEST_P(FabricTest, ReadsBeyondTheDepthWait) {
  QueuePairOptions shallow;
  shallow.inbound_reads = shallow.outbound_reads = 2;
  connect(shallow, shallow);
  constexpr std::uint32_t kCount = 30;
  Memory source(bed_->client(), kCount * 1000);
  Memory sink(bed_->server(), kCount * 1000);
  fill_pattern(source.octets, 8);
  const Exposed exposed(client_, source.all(), Access::remote_read);
  std::vector<int> expected;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    ASSERT_FALSE(server().read(sink.part(i * 1000, 1000), exposed.segment, static_cast<int>(i), i * 1000));
    expected.push_back(static_cast<int>(i));
  }
  server().qp->submit();
  ASSERT_TRUE(until([&] { return server().log.size() == kCount; }));
  EXPECT_EQ(server().tags(), expected);
  EXPECT_TRUE(has_pattern(sink.octets, 8));
  EXPECT_EQ(server().qp->read_waits(), kCount - 2);
  EXPECT_EQ(client_.qp->read_waits(), 0u);
}

TEST_P(FabricTest, ReadsWithinTheDepthDoNotWait) {
  QueuePairOptions deep;
  deep.inbound_reads = deep.outbound_reads = 4;
  connect(deep, deep);
  Memory source(bed_->client(), 1000);
  Memory sink(bed_->server(), 1000);
  const Exposed exposed(client_, source.all(), Access::remote_read);
  for (std::size_t done = 0; done < 12; done += 4) {
    for (int i = 0; i < 4; ++i) ASSERT_FALSE(server().read(sink.all(), exposed.segment, 1));
    server().qp->submit();
    ASSERT_TRUE(until([&] { return server().log.size() == done + 4; }));
  }
  EXPECT_EQ(server().qp->read_waits(), 0u);
}

// [5040-5.5-f] a Send or Write posted after a Read completes after the Read
TEST_P(FabricTest, CompletionsKeepTheOrderOfPosting) {
  connect();
  Memory at_client(bed_->client(), 30000);
  Memory at_server(bed_->server(), 30000);
  const Exposed readable(client_, at_client.part(0, 10000), Access::remote_read);
  const Exposed writable(client_, at_client.part(10000, 10000), Access::remote_write);
  for (int i = 0; i < 4; ++i) ASSERT_FALSE(client_.qp->post_receive(at_client.part(20000, 100), client_.op(1)));
  std::vector<int> expected;
  for (int i = 0; i < 12; i += 3) {
    ASSERT_FALSE(server().read(at_server.part(0, 10000), readable.segment, i));
    ASSERT_FALSE(server().write(at_server.part(10000, 10000), writable.segment, i + 1));
    ASSERT_FALSE(server().send(at_server.part(20000, 100), i + 2));
    for (int j = 0; j < 3; ++j) expected.push_back(i + j);
  }
  server().qp->submit();
  ASSERT_TRUE(until([&] { return server().log.size() == 12; }));
  EXPECT_EQ(server().tags(), expected);
  EXPECT_TRUE(until([&] { return client_.log.size() == 4; }));
}

// [5041-5.2-e] [5040-5.2.1-e] [5040-5.1-c] Reads and Writes of no bytes do not check the handle
TEST_P(FabricTest, EmptyWritesAndReads) {
  connect();
  Memory memory(bed_->server(), 8);
  Memory message(bed_->client(), 64);
  ASSERT_FALSE(client_.qp->post_receive(message.all(), client_.op(1)));
  ASSERT_FALSE(server().qp->post_write({}, 0xdead, 0x1234, server().op(2)));
  ASSERT_FALSE(server().read(memory.part(0, 0), {0xbeef, 0, 0x1234}, 3));
  ASSERT_FALSE(server().send(memory.all(), 4));
  server().qp->submit();
  ASSERT_TRUE(until([&] { return server().log.size() == 3 && client_.count(1) == 1; }));
  for (const int tag : {2, 3, 4}) EXPECT_FALSE(server().result(tag).status) << tag;
  EXPECT_FALSE(client_.disconnected);
}

TEST_P(FabricTest, UnsignalledWorkReportsNothing) {
  connect();
  Memory from(bed_->client(), 64);
  Memory to(bed_->server(), 640);
  const BufferRef part = from.all();
  for (std::uint32_t i = 0; i < 10; ++i) {
    ASSERT_FALSE(server().qp->post_receive(to.part(i * 64, 64), server().op(1)));
    ASSERT_FALSE(client_.qp->post_send({&part, 1}, {}, i == 9 ? client_.op(2) : nullptr));
  }
  client_.qp->submit();
  ASSERT_TRUE(until([&] { return server().log.size() == 10 && client_.count(2) == 1; }));
  EXPECT_EQ(client_.log.size(), 1u);
}

TEST_P(FabricTest, QueuesAreBounded) {
  QueuePairOptions options;
  options.send_depth = 8;
  options.receive_depth = 4;
  connect(options);
  Memory memory(bed_->client(), 64);
  for (int i = 0; i < 4; ++i) ASSERT_FALSE(client_.qp->post_receive(memory.all(), client_.op(1)));
  EXPECT_EQ(client_.qp->post_receive(memory.all(), client_.op(1)), FabricError::queue_full);
  Memory to(bed_->server(), 64);
  for (int i = 0; i < 16; ++i) ASSERT_FALSE(server().qp->post_receive(to.all(), server().op(2)));
  for (int i = 0; i < 8; ++i) ASSERT_FALSE(client_.send(memory.all(), 3));
  EXPECT_EQ(client_.send(memory.all(), 4), FabricError::queue_full);
  client_.qp->submit();
  ASSERT_TRUE(until([&] { return client_.count(3) == 8; }));
  EXPECT_FALSE(client_.send(memory.all(), 5));
  client_.qp->submit();
  EXPECT_TRUE(until([&] { return client_.count(5) == 1; }));
  EXPECT_EQ(client_.count(4), 0u);
}

// [5040-5.3-c] a Send longer than the receive ends the connection
TEST_P(FabricTest, SendsLongerThanTheReceive) {
  connect();
  Memory from(bed_->client(), 65);
  Memory to(bed_->server(), 80, std::byte{0xee});
  ASSERT_FALSE(server().qp->post_receive(to.part(0, 64), server().op(1)));
  ASSERT_FALSE(client_.send(from.all(), 2));
  client_.qp->submit();
  EXPECT_EQ(end_of(server()), FabricError::message_too_long);
  EXPECT_EQ(end_of(client_), FabricError::remote_terminated);
  EXPECT_TRUE(server().result(1).status.failed());
  EXPECT_TRUE(all_are(to.part(64, 16).octets(), std::byte{0xee}));
}

// [5041-7.1-a] a Send without a receive ends the connection
TEST_P(FabricTest, SendsWithoutAReceive) {
  connect();
  Memory from(bed_->client(), 64);
  ASSERT_FALSE(client_.send(from.all(), 2));
  client_.qp->submit();
  EXPECT_EQ(end_of(server()), FabricError::no_receive);
  EXPECT_EQ(end_of(client_), FabricError::remote_terminated);
}

}  // namespace
}  // namespace rpcrdma::test
