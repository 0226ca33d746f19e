// SPDX-License-Identifier: BSD-3-Clause
// Connecting, accepting and rejecting.
#include "support/fabric_conformance.hpp"

namespace rpcrdma::test {
namespace {

using fabric::FabricError;
using fabric::QueuePairOptions;

bool starts_with(const Bytes& octets, const Bytes& prefix) {
  return octets.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), octets.begin());
}

// [5044-7.1.2-b] [5044-7.1.2-e] private data in both directions
TEST_P(FabricTest, PrivateDataTravelsBothWays) {
  QueuePairOptions ours;
  ours.private_data = from_hex("f6ab0e1801010303");
  QueuePairOptions theirs;
  theirs.private_data = from_hex("f6ab0e18010000ff00112233");
  connect(ours, theirs);
  ASSERT_TRUE(client_.established());
  EXPECT_TRUE(starts_with(client_.info->private_data, theirs.private_data));
  EXPECT_TRUE(starts_with(server().info->private_data, ours.private_data));
  EXPECT_EQ(client_.info->peer, listener_->local());
  EXPECT_EQ(server().info->peer, client_.info->local);
  EXPECT_EQ(client_.nested, 0u);
}

TEST_P(FabricTest, ConnectsWithoutPrivateData) {
  connect();
  ASSERT_TRUE(client_.established());
  EXPECT_FALSE(client_.disconnected);
}

TEST_P(FabricTest, TheRequestShowsThePeersPrivateData) {
  Bytes seen;
  auto listener = bed_->server().listen(bed_->address(), [&](std::unique_ptr<fabric::ConnectionRequest> request) {
    seen = request->info().private_data;
    bed_->server().reject(std::move(request), from_hex("0102"));
  });
  ASSERT_TRUE(listener);
  listener_ = std::move(*listener);
  QueuePairOptions options;
  options.private_data = from_hex("aabbccdd");
  start(client_, options);
  EXPECT_EQ(end_of(client_), FabricError::rejected);
  EXPECT_TRUE(starts_with(seen, options.private_data));
  if (!client_.rejected) return;  // loopback does not report the private data of a rejection
  EXPECT_TRUE(starts_with(client_.rejected->private_data, from_hex("0102")));
}

// [5044-7.1.2-d] [5044-7.1.2-g] a request that is dropped is rejected; the initiator's posted receives are flushed
TEST_P(FabricTest, DroppedRequestsAreRejected) {
  auto listener = bed_->server().listen(bed_->address(), [](std::unique_ptr<fabric::ConnectionRequest>) {});
  ASSERT_TRUE(listener);
  listener_ = std::move(*listener);
  Memory memory(bed_->client(), 64);
  auto qp = bed_->client().make_connector(listener_->local(), {}, client_);
  ASSERT_TRUE(qp);
  client_.qp = std::move(*qp);
  ASSERT_FALSE(client_.qp->post_receive(memory.part(0, 32), client_.op(1)));
  ASSERT_FALSE(client_.qp->post_receive(memory.part(32, 32), client_.op(2)));
  bed_->client().start(*client_.qp);
  EXPECT_EQ(end_of(client_), FabricError::rejected);
  EXPECT_EQ(client_.tags(), (std::vector<int>{1, 2}));
  EXPECT_EQ(client_.result(1).status, FabricError::flushed);
}

TEST_P(FabricTest, NobodyListens) {
  listen();
  const fabric::Endpoint where = listener_->local();
  listener_.reset();
  auto qp = bed_->client().make_connector(where, {}, client_);
  ASSERT_TRUE(qp);
  client_.qp = std::move(*qp);
  bed_->client().start(*client_.qp);
  EXPECT_TRUE(end_of(client_).failed());
}

TEST_P(FabricTest, WorkNeedsAConnection) {
  listen();
  auto qp = bed_->client().make_connector(listener_->local(), {}, client_);
  ASSERT_TRUE(qp);
  client_.qp = std::move(*qp);
  Memory memory(bed_->client(), 64);
  EXPECT_EQ(client_.send(memory.all(), 1), FabricError::not_connected);
  EXPECT_EQ(client_.write(memory.all(), {}, 1), FabricError::not_connected);
  EXPECT_EQ(client_.read(memory.all(), {}, 1), FabricError::not_connected);
  EXPECT_FALSE(client_.qp->post_receive(memory.all(), client_.op(2)));
}

// [5044-7.1-b] The connector posts a receive before it starts the connection. The acceptor can therefore send the first
// message as soon as the connection is established on its side.
TEST_P(FabricTest, TheAcceptorMaySendFirst) {
  listen();
  Memory from(bed_->server(), 100);
  Memory to(bed_->client(), 100);
  fill_pattern(from.octets, 3);
  auto qp = bed_->client().make_connector(listener_->local(), {}, client_);
  ASSERT_TRUE(qp);
  client_.qp = std::move(*qp);
  ASSERT_FALSE(client_.qp->post_receive(to.all(), client_.op(1)));
  bed_->client().start(*client_.qp);
  ASSERT_TRUE(until([&] { return !accepted_.empty() && server().established(); }));
  ASSERT_FALSE(server().send(from.all(), 2));
  server().qp->submit();
  ASSERT_TRUE(until([&] { return client_.count(1) == 1; }));
  EXPECT_FALSE(client_.result(1).status) << client_.result(1).status.message();
  EXPECT_EQ(client_.result(1).length, from.octets.size());
  EXPECT_TRUE(has_pattern(to.octets, 3));
}

// [5040-6.1-b] [5040-6.1-c] a read depth is the smaller of one side's request and the other side's offer
TEST_P(FabricTest, ReadDepthsAreNegotiated) {
  if (!bed_->negotiates_depths()) GTEST_SKIP() << "this way of connecting does not negotiate read depths";
  QueuePairOptions ours;
  ours.inbound_reads = 4;
  ours.outbound_reads = 7;
  QueuePairOptions theirs;
  theirs.inbound_reads = 5;
  theirs.outbound_reads = 9;
  connect(ours, theirs);
  ASSERT_TRUE(client_.established());
  EXPECT_EQ(client_.info->outbound_reads, 5u);
  EXPECT_EQ(server().info->outbound_reads, 4u);
  EXPECT_LE(client_.info->outbound_reads, server().info->inbound_reads);
  EXPECT_LE(server().info->outbound_reads, client_.info->inbound_reads);
}

TEST_P(FabricTest, ConnectionsOutliveTheirListener) {
  connect();
  listener_.reset();
  Memory from(bed_->client(), 10);
  Memory to(bed_->server(), 10);
  ASSERT_FALSE(server().qp->post_receive(to.all(), server().op(1)));
  ASSERT_FALSE(client_.send(from.all(), 2));
  client_.qp->submit();
  EXPECT_TRUE(until([&] { return server().count(1) == 1 && client_.count(2) == 1; }));
}

TEST_P(FabricTest, AConnectorMayGoWhileItConnects) {
  listen();
  {
    Node gone(bed_->client());
    start(gone);
    gone.qp.reset();
  }
  connect();
  EXPECT_TRUE(client_.established());
}

TEST_P(FabricTest, TwoHundredConnections) {
  listen();
  constexpr int kCount = 200;
  std::vector<std::unique_ptr<Node>> clients;
  Memory from(bed_->client(), kCount * 4);
  fill_pattern(from.octets, 9);
  Memory to(bed_->server(), kCount * 4);
  for (int i = 0; i < kCount; ++i) start(*clients.emplace_back(std::make_unique<Node>(bed_->client())));
  ASSERT_TRUE(until([&] {
    return accepted_.size() == kCount &&
           std::all_of(clients.begin(), clients.end(), [](const auto& node) { return node->established(); }) &&
           std::all_of(accepted_.begin(), accepted_.end(), [](const auto& node) { return node->established(); });
  }));
  for (std::uint32_t i = 0; i < kCount; ++i) {
    ASSERT_FALSE(accepted_[i]->qp->post_receive(to.part(i * 4, 4), accepted_[i]->op(1)));
    ASSERT_FALSE(clients[i]->send(from.part(i * 4, 4), 2));
    clients[i]->qp->submit();
  }
  EXPECT_TRUE(until([&] {
    return std::all_of(accepted_.begin(), accepted_.end(), [](const auto& node) { return node->count(1) == 1; });
  }));
}

}  // namespace

}  // namespace rpcrdma::test
