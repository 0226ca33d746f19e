// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/connection/options.hpp"
#include "rpcrdma/fabric/open/open.hpp"

namespace rpcrdma::bench {

/// Settings of both sides of a subject that uses this library.
struct Setting {
  fabric::OpenOptions open;
  transport::VersionChoice client = transport::VersionChoice::one;  ///< versions of RPC-over-RDMA
  transport::VersionChoice server = transport::VersionChoice::one;
  std::uint32_t threshold = 4096;  ///< bytes of the largest message without a chunk

  Setting with(transport::VersionChoice of_client, transport::VersionChoice of_server) const {
    Setting other = *this;
    other.client = of_client;
    other.server = of_server;
    return other;
  }
  void apply_thresholds(transport::ConnectionOptions& options) const {
    options.send_size = options.receive_size = threshold;
  }
};

}  // namespace rpcrdma::bench
