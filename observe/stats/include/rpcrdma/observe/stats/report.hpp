// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The statistics of a server as one value: each event loop fills a report of its own, and the reports are added.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/responder/server.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"
#include "rpcrdma/rpc/duplicate_cache.hpp"
#include "rpcrdma/rpc/tcp_server.hpp"

namespace rpcrdma::observe {

/// One procedure, over all threads, fabrics and TCP.
struct Procedure {
  std::uint32_t program = 0;  ///< program number
  std::uint32_t version = 0;  ///< program version
  std::uint32_t number = 0;   ///< procedure number
  std::string_view name;      ///< a literal, such as "GETATTR"
  rpc::ProcedureStatistics statistics;
};

/// One fabric, over all threads.
struct FabricUse {
  std::string name;            ///< "iwarp", or "verbs at ADDRESS"
  transport::Traffic traffic;  ///< traffic of all connections since the start
  fabric::Counters counters;
  std::size_t connections = 0;  ///< open now
  std::size_t regions = 0;      ///< memory regions registered now
  memory::Pool::Counters pool;
};

/// One listener, for RDMA or plain TCP.
struct Listener {
  std::string fabric;                    ///< "iwarp", "verbs" or "tcp"
  transport::ListenerCounters counters;  ///< since the listener was made, except `connections`
  transport::Traffic traffic;            ///< sum over its connections, including those that have ended; zero over TCP
};

/// The capture of RDMA traffic, since the start.
struct CaptureUse {
  bool running = false;       ///< records frames at present
  std::uint64_t frames = 0;   ///< frames written
  std::uint64_t dropped = 0;  ///< frames not written: see capture::CaptureCounts
  std::uint64_t bytes = 0;    ///< bytes written to files
};

/// The maximum number of connections that a report lists.
inline constexpr std::size_t kMostConnections = 64;

/// A server's statistics since its start. A plain value: any thread may use a copy.
struct Report {
  std::vector<Procedure> procedures;                 ///< those that have been called
  std::vector<FabricUse> fabrics;                    ///< those in use
  std::vector<transport::ConnectionReport> busiest;  ///< sorted by calls, most first; at most kMostConnections
  rpc::Dispatcher::Counters dispatched;              ///< calls, rejected calls by reason, discarded messages
  std::vector<Listener> listeners;                   ///< all, in the order of their configuration
  // Each event loop makes a report with its share of the members above. The following members describe the whole
  // server, so they are not in the reports of the loops.
  transport::Server::Counters server;         ///< sums over all listeners for RDMA
  rpc::TcpServer::Counters tcp;               ///< sums over all listeners for TCP
  rpc::DuplicateCache::Counters duplicates;   ///< counters of the duplicate request cache
  Runner::Counters waits{};                   ///< waits of the event loops
  std::optional<CaptureUse> capture{};        ///< of --capture
  std::size_t descriptors = 0;                ///< open file descriptors of the process
  std::chrono::steady_clock::duration age{};  ///< the time since the server was started

  /// Adds the calls that `dispatcher` has served. Called on its thread.
  void add(const rpc::Dispatcher& dispatcher);
  /// Adds one thread's share of a fabric, and the connections of this share.
  void add(FabricUse&& use, std::vector<transport::ConnectionReport>&& connections);
  /// Adds connections; only the kMostConnections with the most calls stay listed.
  void add(std::vector<transport::ConnectionReport>&& connections);
  /// Adds the sums of a group of listeners.
  void add(const transport::Server::Counters& more) noexcept;
  /// Adds the counters of one TCP server.
  void add(const rpc::TcpServer::Counters& more) noexcept;
  /// Adds the waits of one event loop.
  void add(const Runner::Counters& more) noexcept;
  /// Adds another thread's report.
  void add(Report&& other);

 private:
  void add(const Procedure& procedure);
  void add(Listener&& listener);
  void keep_busiest();
};

/// The usual name of a program, "nfs" or "mount", else its number.
std::string program_name(std::uint32_t program);

}  // namespace rpcrdma::observe
