// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The plan of a run, drawn from a seed: the parameters of clients, server and network, and the script of faults.
#include <cstdint>
#include <string>
#include <vector>

#include "rpcrdma/connection/options.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"

namespace rpcrdma::sim {

enum class FaultKind : std::uint8_t {
  delay,         ///< frames wait up to `a` turns of the event loop
  drop,          ///< `a` more frames arrive, and the next one ends its connection
  stall,         ///< frames stop in transit for `b` ms
  half_place,    ///< RDMA Writes stay half placed, and RDMA Reads unanswered, for `b` ms
  fail_server,   ///< of the later operations of kind `a` (LoopbackOperation) on the server's fabric, the `b`-th fails
  fail_client,   ///< as fail_server, on the fabric of the client that `c` chooses
  crash_server,  ///< the server ends at once, and comes back after `b` ms with `a` credits
  stop_server,   ///< the server closes, gives its calls `b` ms to complete, and comes back with `a` credits
  lose_server,   ///< the server's device is lost; the server ends `b` ms later and comes back with `a` credits
  crash_client,  ///< a call client (Setup::call_clients) ends at once, and a new one may start
  lose_client,   ///< a file client's device is lost; when its operations have failed, a new client may start
  cancel,        ///< a call in progress is cancelled
};

/// One line of the script.
struct Fault {
  std::uint32_t at = 0;  ///< the step after which it happens
  FaultKind kind = FaultKind::delay;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  /// The position, from 1, in the script as drawn from the seed. It stays the same when other faults are removed.
  std::uint32_t number = 0;

  std::string text() const;
};

/// Parameters of a run.
struct Setup {
  fabric::LoopbackOptions network;
  fabric::Capabilities server_device;
  fabric::Capabilities client_device;
  transport::ConnectionOptions server;
  transport::ConnectionOptions client;
  std::size_t server_pool = 0;  ///< bytes
  std::size_t bulk_budget = 0;  ///< bytes
  std::uint32_t max_bulk = 0;   ///< bytes of the largest data item of a call
  std::uint32_t file_clients = 1;
  std::uint32_t call_clients = 1;
  std::uint32_t workers = 1;  ///< concurrent sequences of operations of a file client
  /// The number of operations in each sequence. A call client that exists at the start makes as many calls. A call
  /// client that replaces a crashed one makes half as many.
  std::uint32_t operations = 0;
  std::uint32_t call_timeout_ms = 0;
  std::uint32_t silence_ms = 0;
  std::uint32_t grace_ms = 0;
};

struct Plan {
  std::uint64_t seed = 1;
  /// If true, the script contains only faults of the network, of processes and of devices, from which clients and
  /// servers can recover. The run then checks that the operations of surviving clients succeed.
  bool liveness = false;
  Setup setup;
  std::vector<Fault> faults;  ///< sorted by their steps

  /// Whether the script contains faults that make an operation of a fabric fail (fail_server, fail_client). Such an
  /// operation may come after the last step of the script, so a call may fail even then.
  bool fails_operations() const noexcept;
};

Plan make_plan(std::uint64_t seed, bool liveness);

/// The parameters in one line.
std::string text_of(const Setup& setup);

}  // namespace rpcrdma::sim
