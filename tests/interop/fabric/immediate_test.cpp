// SPDX-License-Identifier: BSD-3-Clause
// Immediate data, which RPC-over-RDMA does not use: it consumes a receive, but is no message.
#include <future>

#include "interop/fabric/device_peer.hpp"
#include "interop/fabric/verbs_bed.hpp"

namespace rpcrdma::test {
namespace {

using fabric::FabricError;

constexpr std::uint32_t kReceive = 64;
constexpr std::uint32_t kTarget = 100000;

class ImmediateTest : public FabricTest {
 protected:
  ImmediateTest() {
    listen();
    peer_.emplace(listener_->local());
    auto connecting = std::async(std::launch::async, [this] { peer_->connect(); });
    EXPECT_TRUE(until([this] { return !accepted_.empty() && server().established(); }));
    connecting.get();
  }
  ~ImmediateTest() override { peer_.reset(); }

  /// Lets the peer post `opcode`. Expects that the first receive completes with a protocol violation, and that the
  /// connection ends.
  void expect_end(ibv_wr_opcode opcode, std::uint32_t count, const Segment& to = {}) {
    Memory message(bed_->server(), kReceive);
    ASSERT_FALSE(server().qp->post_receive(message.all(), server().op(1)));
    ASSERT_FALSE(server().qp->post_receive(message.all(), server().op(2)));
    server().qp->submit();
    peer_->post(opcode, count, std::byte{0x33}, to);
    EXPECT_EQ(end_of(server()), FabricError::protocol_violation);
    EXPECT_EQ(server().count(1), 1u);
    EXPECT_EQ(server().result(1).status, FabricError::protocol_violation);
    EXPECT_EQ(server().result(1).length, 0u);
    EXPECT_EQ(server().count(2), 1u);
    EXPECT_EQ(server().result(2).status, FabricError::flushed);
  }

  std::optional<DevicePeer> peer_;
};

TEST_P(ImmediateTest, MessagesWithoutArrive) {
  Memory message(bed_->server(), kReceive);
  ASSERT_FALSE(server().qp->post_receive(message.all(), server().op(1)));
  server().qp->submit();
  peer_->post(IBV_WR_SEND, 16, std::byte{0x33});
  ASSERT_TRUE(until([this] { return server().count(1) == 1; }));
  EXPECT_FALSE(server().result(1).status) << server().result(1).status.message();
  EXPECT_EQ(server().result(1).length, 16u);
}

TEST_P(ImmediateTest, InASend) { expect_end(IBV_WR_SEND_WITH_IMM, 16); }

TEST_P(ImmediateTest, InAWriteOfNothing) { expect_end(IBV_WR_RDMA_WRITE_WITH_IMM, 0); }

// The device reports the Write's length, which exceeds the receive by far.
TEST_P(ImmediateTest, InAWriteLongerThanTheReceive) {
  Memory target(bed_->server(), kTarget);
  const Exposed exposed(server(), target.all(), fabric::Access::remote_write);
  // Work requests complete in the order of posting. The completion of this empty Write shows that the window is bound.
  ASSERT_FALSE(server().qp->post_write({}, 0, 0, server().op(3)));
  server().qp->submit();
  ASSERT_TRUE(until([this] { return server().count(3) == 1; }));
  expect_end(IBV_WR_RDMA_WRITE_WITH_IMM, kTarget, exposed.segment);
  EXPECT_TRUE(all_are(target.octets, std::byte{0x33}));
}

// RFC 5040 (iWARP) has no immediate data.
std::vector<BedFactory> infiniband_beds() { return on_iwarp() ? std::vector<BedFactory>() : verbs_beds(); }

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ImmediateTest);
INSTANTIATE_TEST_SUITE_P(Verbs, ImmediateTest, testing::ValuesIn(infiniband_beds()));

}  // namespace rpcrdma::test
