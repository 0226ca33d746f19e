// SPDX-License-Identifier: BSD-3-Clause
// The end of a connection: outstanding work is flushed once, in order; no callback runs afterwards.
#include "rpcrdma/fabric/deferred_delete.hpp"
#include "support/fabric_conformance.hpp"

namespace rpcrdma::test {
namespace {

using fabric::Access;
using fabric::FabricError;

/// Expects that the work requests of each queue have completed in the order of posting, and that no callback has run
/// after the end of the connection. The test must tag the work requests of the send queue 0, 1, 2 and so on, and those
/// of the receive queue 100, 101, 102 and so on.
void expect_flushed_in_order(const Node& node) {
  int last_send = -1;
  int last_receive = 99;
  for (const Node::Done& done : node.log) {
    int& last = done.tag < 100 ? last_send : last_receive;
    EXPECT_EQ(done.tag, last + 1);
    last = done.tag;
  }
  EXPECT_EQ(node.after_end, 0u);
}

// [5041-6.2-c]
TEST_P(FabricTest, DisconnectSendsWhatWasPosted) {
  connect();
  Memory from(bed_->client(), 300000);
  Memory to(bed_->server(), 300000);
  fill_pattern(from.octets, 1);
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_FALSE(server().qp->post_receive(to.part(i * 100000, 100000), server().op(100 + static_cast<int>(i))));
    ASSERT_FALSE(client_.send(from.part(i * 100000, 100000), static_cast<int>(i)));
  }
  client_.inside_call = true;
  client_.qp->disconnect();
  client_.inside_call = false;
  EXPECT_FALSE(end_of(client_)) << client_.disconnected->message();
  EXPECT_FALSE(end_of(server())) << server().disconnected->message();
  EXPECT_EQ(client_.nested, 0u);
  EXPECT_EQ(client_.tags(), (std::vector<int>{0, 1, 2}));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(client_.result(i).status);
  EXPECT_EQ(server().tags(), (std::vector<int>{100, 101, 102}));
  for (int i = 100; i < 103; ++i) EXPECT_FALSE(server().result(i).status);
  EXPECT_TRUE(has_pattern(to.octets, 1));
}

TEST_P(FabricTest, BothSidesDisconnect) {
  connect();
  client_.qp->disconnect();
  server().qp->disconnect();
  EXPECT_FALSE(end_of(client_)) << client_.disconnected->message();
  EXPECT_FALSE(end_of(server())) << server().disconnected->message();
}

TEST_P(FabricTest, NothingIsPostedAfterTheEnd) {
  connect();
  client_.qp->disconnect();
  end_of(client_);
  Memory memory(bed_->client(), 64);
  EXPECT_EQ(client_.send(memory.all(), 1), FabricError::not_connected);
  EXPECT_EQ(client_.qp->post_receive(memory.all(), client_.op(2)), FabricError::not_connected);
  client_.qp->submit();
  client_.qp->disconnect();
  client_.qp->abort();
  EXPECT_TRUE(client_.log.empty());
}

// [5040-6.2.1-b] work is flushed exactly once, each queue in order; on_disconnected is the last callback
TEST_P(FabricTest, AbortFlushesInOrder) {
  connect();
  Memory memory(bed_->client(), 64);
  for (int i = 0; i < 10; ++i) {
    ASSERT_FALSE(client_.qp->post_receive(memory.all(), client_.op(100 + i)));
    ASSERT_FALSE(client_.send(memory.all(), i));
  }
  client_.inside_call = true;
  client_.qp->abort();
  client_.inside_call = false;
  end_of(client_);
  EXPECT_EQ(client_.nested, 0u);
  EXPECT_EQ(client_.log.size(), 20u);
  expect_flushed_in_order(client_);
  for (const Node::Done& done : client_.log) EXPECT_EQ(done.completion.status, FabricError::flushed);
  EXPECT_TRUE(end_of(server()).failed());
}

TEST_P(FabricTest, ThePeersAbortFlushesToo) {
  connect();
  Memory memory(bed_->client(), 64);
  for (int i = 0; i < 10; ++i) ASSERT_FALSE(client_.qp->post_receive(memory.all(), client_.op(100 + i)));
  server().qp->abort();
  EXPECT_TRUE(end_of(client_).failed());
  EXPECT_EQ(client_.log.size(), 10u);
  expect_flushed_in_order(client_);
}

TEST_P(FabricTest, OutstandingReadsAreFlushed) {
  fabric::QueuePairOptions shallow;
  shallow.outbound_reads = 1;
  connect(shallow, shallow);
  Memory source(bed_->client(), 1u << 20);
  Memory sink(bed_->server(), 1u << 20);
  const Exposed exposed(client_, source.all(), Access::remote_read);
  for (int i = 0; i < 5; ++i) ASSERT_FALSE(server().read(sink.all(), exposed.segment, i));
  ASSERT_FALSE(server().send(sink.part(0, 8), 5));
  server().qp->submit();
  client_.qp->abort();
  // Some devices report the peer's abort as an orderly end, so this test does not check the reason.
  end_of(server());
  EXPECT_EQ(server().log.size(), 6u);
  expect_flushed_in_order(server());
}

TEST_P(FabricTest, NoCallbackAfterDestruction) {
  connect();
  Memory memory(bed_->client(), 64);
  Memory other(bed_->server(), 64);
  for (int i = 0; i < 5; ++i) {
    ASSERT_FALSE(client_.qp->post_receive(memory.all(), client_.op(100 + i)));
    ASSERT_FALSE(server().qp->post_receive(other.all(), server().op(100 + i)));
    ASSERT_FALSE(client_.send(memory.all(), i));
  }
  client_.qp->submit();
  client_.qp.reset();
  end_of(server());
  EXPECT_TRUE(client_.log.empty());
  EXPECT_FALSE(client_.disconnected);
  expect_flushed_in_order(server());
}

// A callback quiesces its queue pair: no later callback of that queue pair runs, not even on_batch_end().
TEST_P(FabricTest, QuiesceInACompletionIsTheLastCallback) {
  connect();
  Memory from(bed_->client(), 64);
  Memory to(bed_->server(), 640);
  for (std::uint32_t i = 0; i < 10; ++i) {
    ASSERT_FALSE(server().qp->post_receive(to.part(i * 64, 64), server().op(static_cast<int>(i))));
    ASSERT_FALSE(client_.send(from.all(), static_cast<int>(i)));
  }
  Node& node = server();
  std::size_t batches = 0;
  node.on_done = [&node, &batches] {
    if (node.log.size() != 3) return;
    batches = node.batches;
    fabric::delete_later(node.fabric().context(), std::move(node.qp));
  };
  client_.qp->submit();
  end_of(client_);
  EXPECT_EQ(node.log.size(), 3u);
  EXPECT_EQ(node.batches, batches);
  EXPECT_FALSE(node.disconnected);
}

TEST_P(FabricTest, QuiesceInOnEstablishedIsTheLastCallback) {
  listen();
  client_.on_start = [this] { fabric::delete_later(client_.fabric().context(), std::move(client_.qp)); };
  start(client_);
  ASSERT_TRUE(until([&] { return client_.established() && !accepted_.empty(); }));
  end_of(server());
  EXPECT_EQ(client_.qp, nullptr);
  EXPECT_FALSE(client_.disconnected);
}

TEST_P(FabricTest, AQuiescedQueuePairRefusesWork) {
  connect();
  Memory memory(bed_->client(), 64);
  auto window = client_.qp->make_window();
  ASSERT_TRUE(window);
  ASSERT_TRUE(client_.qp->bind(**window, memory.all(), Access::remote_write));
  ASSERT_FALSE(client_.send(memory.all(), 0));
  client_.qp->quiesce();
  EXPECT_FALSE((*window)->bound());
  EXPECT_EQ(client_.send(memory.all(), 1), FabricError::not_connected);
  EXPECT_EQ(client_.qp->post_receive(memory.all(), client_.op(2)), FabricError::not_connected);
  client_.qp->submit();
  client_.qp->disconnect();
  client_.qp->abort();
  client_.qp->quiesce();
  const error_code why = end_of(server());
  EXPECT_EQ(why.failed(), bed_->aborts_are_seen());
  EXPECT_TRUE(client_.log.empty());
  EXPECT_FALSE(client_.disconnected);
}

TEST_P(FabricTest, DeleteLaterInOnDisconnected) {
  connect();
  Node& node = server();
  node.on_end = [&node] { fabric::delete_later(node.fabric().context(), std::move(node.qp)); };
  client_.qp->disconnect();
  end_of(node);
  EXPECT_EQ(node.qp, nullptr);
  EXPECT_FALSE(end_of(client_)) << client_.disconnected->message();
}

TEST_P(FabricTest, ABorderlineEndInTheMiddleOfALargeWrite) {
  connect();
  constexpr std::uint32_t kSize = 4u << 20;
  Memory target(bed_->client(), kSize);
  Memory source(bed_->server(), kSize, std::byte{0x11});
  const Exposed exposed(client_, target.all(), Access::remote_write);
  ASSERT_FALSE(server().write(source.all(), exposed.segment, 0));
  server().qp->submit();
  ASSERT_TRUE(until([&] { return target.octets[0] == std::byte{0x11}; }));
  client_.qp->abort();
  end_of(client_);
  fill_pattern(target.octets, 5);
  end_of(server());
  EXPECT_TRUE(has_pattern(target.octets, 5));
}

TEST_P(FabricTest, ReconnectsAfterwards) {
  connect();
  client_.qp->abort();
  end_of(client_);
  end_of(server());
  Node again(bed_->client());
  start(again);
  EXPECT_TRUE(until([&] { return again.established() && server().established(); }));
}

}  // namespace
}  // namespace rpcrdma::test
