// SPDX-License-Identifier: BSD-3-Clause
#include "error.hpp"

#include <gtest/gtest.h>

namespace rpcrdma::fabric::verbs {
namespace {

TEST(VerbsError, CompletionsThatCallForAReconnect) {
  EXPECT_FALSE(completion_error(IBV_WC_SUCCESS));
  EXPECT_EQ(completion_error(IBV_WC_WR_FLUSH_ERR), FabricError::flushed);
  EXPECT_EQ(completion_error(IBV_WC_REM_ACCESS_ERR), FabricError::remote_access);
  EXPECT_EQ(completion_error(IBV_WC_REM_INV_REQ_ERR), FabricError::remote_terminated);
  EXPECT_EQ(completion_error(IBV_WC_RNR_RETRY_EXC_ERR), FabricError::remote_terminated);
  EXPECT_EQ(completion_error(IBV_WC_RETRY_EXC_ERR), system_error(ETIMEDOUT));
}

TEST(VerbsError, CompletionsThatAreOurOwnFault) {
  for (const auto status : {IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_ACCESS_ERR, IBV_WC_MW_BIND_ERR})
    EXPECT_EQ(completion_error(status), BaseError::invalid_argument);
}

TEST(VerbsError, Receives) {
  EXPECT_EQ(receive_error(IBV_WC_LOC_LEN_ERR), FabricError::message_too_long);
  EXPECT_EQ(receive_error(IBV_WC_LOC_QP_OP_ERR), FabricError::message_too_long);
  EXPECT_EQ(receive_error(IBV_WC_REM_INV_REQ_ERR), FabricError::protocol_violation);
  EXPECT_EQ(receive_error(IBV_WC_WR_FLUSH_ERR), FabricError::flushed);
}

TEST(VerbsError, ConnectionsThatDoNotComeAbout) {
  EXPECT_EQ(connect_error(RDMA_CM_EVENT_REJECTED, 28), FabricError::rejected);
  EXPECT_EQ(connect_error(RDMA_CM_EVENT_REJECTED, 8), system_error(ECONNREFUSED));
  EXPECT_EQ(connect_error(RDMA_CM_EVENT_REJECTED, 10), system_error(EAGAIN)) << "a stale connection";
  EXPECT_EQ(connect_error(RDMA_CM_EVENT_REJECTED, -ECONNRESET), FabricError::rejected);
  EXPECT_EQ(connect_error(RDMA_CM_EVENT_REJECTED, 4), FabricError::handshake_timeout);
  EXPECT_EQ(connect_error(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT), FabricError::handshake_timeout);
  EXPECT_EQ(connect_error(RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH), system_error(ENETUNREACH));
  EXPECT_EQ(connect_error(RDMA_CM_EVENT_CONNECT_ERROR, 0), FabricError::handshake_failed);
}

}  // namespace
}  // namespace rpcrdma::fabric::verbs
