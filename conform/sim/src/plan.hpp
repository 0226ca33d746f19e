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
  half_place,    ///< tagged data stops half placed for `b` ms
  fail_server,   ///< the `b`-th operation of kind `a` on the server's fabric fails
  fail_client,   ///< as fail_server, on the fabric of the client that `c` chooses
  crash_server,  ///< the server ends at once, and comes back after `b` ms with `a` credits
  stop_server,   ///< the server is closed with `b` ms for its calls, and comes back with `a` credits
  lose_server,   ///< the server's device is lost; the server ends `b` ms later and comes back with `a` credits
  crash_client,  ///< a client of calls ends at once, and a new one may start
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
  std::uint32_t number = 0;  ///< number in the script of the seed, from 1

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
  std::uint32_t workers = 1;     ///< concurrent sequences of operations of a file client
  std::uint32_t operations = 0;  ///< of each sequence; also the calls of each client of calls that exists at the start
  std::uint32_t call_timeout_ms = 0;
  std::uint32_t silence_ms = 0;
  std::uint32_t grace_ms = 0;
};

struct Plan {
  std::uint64_t seed = 1;
  bool liveness = false;  ///< faults of network and processes only, so that every operation must succeed
  Setup setup;
  std::vector<Fault> faults;  ///< sorted by their steps

  /// Whether the script makes operations of a fabric fail. They may fail after its last step.
  bool fails_operations() const noexcept;
};

Plan make_plan(std::uint64_t seed, bool liveness);

/// The parameters in one line.
std::string text_of(const Setup& setup);

}  // namespace rpcrdma::sim
