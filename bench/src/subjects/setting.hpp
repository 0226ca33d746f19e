// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <filesystem>
#include <string>

#include "rpcrdma/base/wait_policy.hpp"
#include "rpcrdma/connection/options.hpp"
#include "rpcrdma/fabric/open/open.hpp"
#include "rpcrdma/memory/pool.hpp"

namespace rpcrdma::bench {

/// Settings of both sides of a subject that uses this library.
struct Setting {
  fabric::OpenOptions open;
  transport::VersionChoice client = transport::VersionChoice::one;  ///< versions of RPC-over-RDMA
  transport::VersionChoice server = transport::VersionChoice::one;
  Polling poll;                    ///< polling of both sides
  std::uint32_t threshold = 4096;  ///< inline threshold of both directions, in bytes
  std::size_t pool_octets = memory::PoolOptions().max_octets;
  bool statistics = false;                 ///< the NFS server serves statistics by HTTP; a run reads them once a second
  std::filesystem::path server_capture{};  ///< file for the capture of the server; empty: none
  std::filesystem::path client_capture{};
  /// CharacteristicOptions::idle_shrink of the clients' connections. Servers do not use this setting.
  std::chrono::milliseconds idle_shrink = transport::CharacteristicOptions().idle_shrink;

  Setting with(transport::VersionChoice of_client, transport::VersionChoice of_server) const {
    Setting other = *this;
    other.client = of_client;
    other.server = of_server;
    return other;
  }
  /// The polling as text, for the options of rpcrdma/tirpc.h.
  std::string poll_text() const {
    if (poll.mode == Polling::Mode::automatic) return "auto";
    if (poll.mode == Polling::Mode::off) return "off";
    return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(poll.time).count());
  }
  void apply_thresholds(transport::ConnectionOptions& options) const {
    options.send_size = options.receive_size = threshold;
  }
};

}  // namespace rpcrdma::bench
