// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/observe/stats/report.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace rpcrdma::observe {
namespace {

rpc::Dispatcher::Counters& operator+=(rpc::Dispatcher::Counters& sum, const rpc::Dispatcher::Counters& more) noexcept {
  sum.calls += more.calls;
  sum.rejected += more.rejected;
  sum.discarded += more.discarded;
  sum.rpc_mismatch += more.rpc_mismatch;
  sum.bad_auth += more.bad_auth;
  sum.program_unavailable += more.program_unavailable;
  sum.program_mismatch += more.program_mismatch;
  sum.procedure_unavailable += more.procedure_unavailable;
  sum.garbage_args += more.garbage_args;
  return sum;
}

memory::Pool::Counters& operator+=(memory::Pool::Counters& sum, const memory::Pool::Counters& more) noexcept {
  sum.registered_octets += more.registered_octets;
  sum.regions += more.regions;
  sum.lent += more.lent;
  return sum;
}

}  // namespace

void Report::add(const Procedure& procedure) {
  const auto same = std::ranges::find_if(procedures, [&procedure](const Procedure& one) {
    return one.program == procedure.program && one.version == procedure.version && one.number == procedure.number;
  });
  if (same == procedures.end())
    procedures.push_back(procedure);
  else
    same->statistics += procedure.statistics;
}

void Report::add(const rpc::Dispatcher& dispatcher) {
  dispatched += dispatcher.counters();
  for (const rpc::ProcedureReport& one : dispatcher.procedures())
    add(Procedure{one.program, one.version, one.number, one.name, *one.statistics});
}

void Report::keep_busiest() {
  const auto most = static_cast<std::ptrdiff_t>(std::min(busiest.size(), kMostConnections));
  std::ranges::partial_sort(busiest, busiest.begin() + most, std::ranges::greater{},
                            [](const transport::ConnectionReport& one) { return one.statistics.calls; });
  busiest.resize(static_cast<std::size_t>(most));
}

void Report::add(std::vector<transport::ConnectionReport>&& connections) {
  std::ranges::move(connections, std::back_inserter(busiest));
  keep_busiest();
}

void Report::add(FabricUse&& use, std::vector<transport::ConnectionReport>&& connections) {
  add(std::move(connections));
  const auto same = std::ranges::find(fabrics, use.name, &FabricUse::name);
  if (same == fabrics.end()) {
    fabrics.push_back(std::move(use));
    return;
  }
  same->traffic += use.traffic;
  same->counters += use.counters;
  same->connections += use.connections;
  same->regions += use.regions;
  same->pool += use.pool;
}

/// Adds what one event loop reports about a listener. If the report has the listener already, only the traffic of the
/// loop is added. The counters stay unchanged, because the counters of a listener already cover all event loops.
void Report::add(Listener&& listener) {
  const auto same = std::ranges::find_if(listeners, [&listener](const Listener& one) {
    return one.fabric == listener.fabric && one.counters.endpoint == listener.counters.endpoint;
  });
  if (same == listeners.end())
    listeners.push_back(std::move(listener));
  else
    same->traffic += listener.traffic;
}

void Report::add(Report&& other) {
  dispatched += other.dispatched;
  for (const Procedure& procedure : other.procedures) add(procedure);
  for (FabricUse& use : other.fabrics) add(std::move(use), {});
  for (Listener& listener : other.listeners) add(std::move(listener));
  add(std::move(other.busiest));
}

void Report::add(const transport::Server::Counters& more) noexcept {
  auto& sum = server;
  sum.connections += more.connections;
  sum.accepted += more.accepted;
  sum.refused += more.refused;
  sum.calls += more.calls;
  sum.errors_sent += more.errors_sent;
  sum.discarded += more.discarded;
  sum.invalidated += more.invalidated;
  sum.bulk_in_use += more.bulk_in_use;
  sum.receive_octets += more.receive_octets;
  sum.receives_raised += more.receives_raised;
  sum.receives_lowered += more.receives_lowered;
}

void Report::add(const rpc::TcpServer::Counters& more) noexcept {
  auto& sum = tcp;
  sum.connections += more.connections;
  sum.accepted += more.accepted;
  sum.refused += more.refused;
  sum.failed += more.failed;
  sum.calls += more.calls;
}

void Report::add(const Runner::Counters& more) noexcept {
  auto& sum = waits;
  sum.polls += more.polls;
  sum.found += more.found;
  sum.blocks += more.blocks;
}

std::string program_name(std::uint32_t program) {
  constexpr std::uint32_t kNfs = 100003;
  constexpr std::uint32_t kMount = 100005;
  if (program == kNfs) return "nfs";
  return program == kMount ? "mount" : std::to_string(program);
}

}  // namespace rpcrdma::observe
