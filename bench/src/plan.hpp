// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "subject.hpp"

namespace rpcrdma::bench {

enum class Who : std::uint8_t {
  raw_tcp,
  raw_tcp_spin,
  raw_asio,
  tirpc_tcp,
  tirpc_door,
  tirpc_door_stable,
  hello,
  rpcrdma,
  rpcrdma_crc,
  rpcrdma_crowd,
  rpcrdma_two,
  rpcrdma_two_large,
  rpcrdma_fallback,
  server_captured,
  client_captured,
  nfs_memory,
  nfs_scraped,
  nfs_posix,
  nfs_posix_async,
  local,
  local_durable,
  rpcrdma_many,
  libnfs,
  ganesha
};
constexpr std::size_t kSubjects = static_cast<std::size_t>(Who::ganesha) + 1;

/// The name of a subject, to report that it cannot be measured.
std::string_view name_of(Who who) noexcept;

struct Peer {
  std::string name;
  Who who;
  Case which;
};

/// A case that measures this library, and the cases with which it is compared. They may measure other programs, or this
/// library as well.
struct Comparison {
  Case which;
  Who ours;
  std::vector<Peer> peers;
};

/// The cases that `rpcrdma-bench` measures by default.
std::vector<Comparison> standard_plan();
/// The cases of `rpcrdma-bench --sweep`, from which the plots are made. They measure the latency for series of depths,
/// and the throughput for series of sizes and of numbers of connections.
std::vector<Comparison> sweep_plan();

}  // namespace rpcrdma::bench
