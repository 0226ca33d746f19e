// SPDX-License-Identifier: BSD-3-Clause
// A device that refuses receives: each receive still completes once, and the connection ends.
#include <rdma/rdma_cma.h>

#include <cerrno>

#include "interop/fabric/verbs_bed.hpp"

namespace rpcrdma::test {
namespace {

using fabric::FabricError;

/// While this object exists, the device refuses all receives of the process. librdmacm opens a device once per process,
/// so all queue pairs of the process use the replaced function.
class RefusedReceives {
 public:
  explicit RefusedReceives(fabric::Endpoint address) {
    count = 0;
    EXPECT_EQ(rdma_create_id(nullptr, &id_, nullptr, RDMA_PS_TCP), 0);
    address.port(0);
    EXPECT_EQ(rdma_bind_addr(id_, address.data()), 0);
    usual_ = id_->verbs->ops.post_recv;
    id_->verbs->ops.post_recv = [](ibv_qp*, ibv_recv_wr* chain, ibv_recv_wr** refused) {
      ++count;
      *refused = chain;
      return ENOMEM;
    };
  }
  ~RefusedReceives() {
    id_->verbs->ops.post_recv = usual_;
    rdma_destroy_id(id_);
  }
  RefusedReceives(const RefusedReceives&) = delete;
  RefusedReceives& operator=(const RefusedReceives&) = delete;

  static inline int count = 0;

 private:
  rdma_cm_id* id_ = nullptr;
  int (*usual_)(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**) = nullptr;
};

class RefusalTest : public FabricTest {
 protected:
  void expect_end(int tag) {
    EXPECT_EQ(end_of(client_), error_code(ENOMEM, boost::system::system_category()));
    EXPECT_EQ(RefusedReceives::count, 1);
    EXPECT_EQ(client_.count(tag), 1u);
    EXPECT_EQ(client_.result(tag).status, FabricError::flushed);
    EXPECT_EQ(client_.after_end, 0u);
  }
};

TEST_P(RefusalTest, OfAReceive) {
  connect();
  Memory message(bed_->client(), 64);
  const RefusedReceives refused(bed_->address());
  EXPECT_FALSE(client_.qp->post_receive(message.all(), client_.op(1)));
  expect_end(1);
}

TEST_P(RefusalTest, OfAReceiveInABatch) {
  connect();
  Memory message(bed_->client(), 64);
  Memory source(bed_->server(), 64);
  ASSERT_FALSE(client_.qp->post_receive(message.all(), client_.op(1)));
  client_.qp->submit();
  ASSERT_FALSE(server().send(source.all(), 2));
  const RefusedReceives refused(bed_->address());
  client_.on_done = [&] {
    if (client_.log.size() != 1) return;
    EXPECT_FALSE(client_.qp->post_receive(message.all(), client_.op(3)));
  };
  server().qp->submit();
  expect_end(3);
  EXPECT_FALSE(client_.result(1).status);
}

// The client posts a receive after it has called disconnect(). The receive is not passed to the device, which would
// refuse it, but completes as flushed. The end of the connection stays orderly.
TEST_P(RefusalTest, AfterAnOrderlyEnd) {
  connect();
  Memory message(bed_->client(), 64);
  std::optional<RefusedReceives> refused;
  // The client has disconnected, and on InfiniBand waits for the confirmation of the server.
  server().on_end = [&] {
    if (client_.disconnected) return;
    refused.emplace(bed_->address());
    EXPECT_FALSE(client_.qp->post_receive(message.all(), client_.op(1)));
    client_.qp->submit();
  };
  client_.qp->disconnect();
  EXPECT_EQ(end_of(client_), error_code());
  EXPECT_EQ(end_of(server()), error_code());
  ASSERT_TRUE(refused || on_iwarp());
  if (!refused) return;
  EXPECT_EQ(RefusedReceives::count, 0);
  EXPECT_EQ(client_.count(1), 1u);
  EXPECT_EQ(client_.result(1).status, FabricError::flushed);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Verbs, RefusalTest, testing::ValuesIn(verbs_beds()));

}  // namespace rpcrdma::test
