// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A peer that uses the device directly, and posts work requests that the fabric never posts.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <vector>

#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::test {

class DevicePeer {
 public:
  /// Makes a queue pair that can connect to `server`, the address of a fabric's listener. rdma_cm chooses the local
  /// device when it resolves this address.
  explicit DevicePeer(const fabric::Endpoint& server);
  ~DevicePeer();
  DevicePeer(const DevicePeer&) = delete;
  DevicePeer& operator=(const DevicePeer&) = delete;

  /// Blocks until the server has accepted. Do not call it on the server's thread.
  void connect();
  /// Sends or writes `count` bytes of value `fill`, with immediate data if the opcode has any.
  void post(ibv_wr_opcode opcode, std::size_t count, std::byte fill, const Segment& to = {});

 private:
  struct Source {
    std::vector<std::byte> bytes;
    ibv_mr* registration = nullptr;
  };
  rdma_cm_id* id_ = nullptr;
  std::vector<Source> sources_;
};

}  // namespace rpcrdma::test
