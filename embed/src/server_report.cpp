// SPDX-License-Identifier: BSD-3-Clause
// What a running server has done.
// Operation: for a report, each event loop copies its own figures; the caller waits for the copies and adds them.
// Ownership: a task on a loop owns the promise for which the caller waits; stop() destroys tasks that have not run.
// Error handling: a report lacks the figures of a loop that has ended.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <future>
#include <iterator>
#include <stdexcept>
#include <tuple>

#include "server_state.hpp"

namespace rpcrdma {

Server::Statistics Server::statistics() const {
  Statistics sum;
  if (state_->known_loops().empty()) return sum;
  for (const auto& group : state_->groups) {
    if (!group->server) continue;
    const transport::Server::Counters one = group->server->counters();
    sum.connections += one.connections;
    sum.accepted += one.accepted;
    sum.refused += one.refused;
    sum.calls += one.calls;
    sum.errors_sent += one.errors_sent;
    sum.invalidated += one.invalidated;
    sum.bulk_in_use += one.bulk_in_use;
    sum.receive_bytes += one.receive_octets;
    sum.receives_raised += one.receives_raised;
    sum.receives_lowered += one.receives_lowered;
  }
  for (const auto& server : state_->tcp_servers) {
    const rpc::TcpServer::Counters one = server->counters();
    sum.connections += one.connections;
    sum.accepted += one.accepted;
    sum.refused += one.refused;
    sum.calls += one.calls;
  }
  for (const Listener& listener : state_->listeners) sum.listeners.push_back({listener, state_->counters_of(listener)});
  for (const auto& loop : state_->loops) {
    const Runner::Counters one = loop->thread.waits();
    sum.waits.polls += one.polls;
    sum.waits.found += one.found;
    sum.waits.blocks += one.blocks;
  }
  return sum;
}

transport::ListenerCounters Server::State::counters_of(const Listener& listener) const {
  std::size_t place = 0;  // index among the listeners for TCP
  for (const Listener& other : listeners) {
    if (&other == &listener) break;
    place += other.fabric == "tcp" ? 1 : 0;
  }
  if (listener.fabric == "tcp") {
    const rpc::TcpServer::Counters one = tcp_servers[place]->counters();
    return {listener.endpoint, one.connections, one.accepted, one.refused, one.failed};
  }
  for (const auto& group : groups) {
    if (!group->server || group->workers.front().fabric->capabilities().name != listener.fabric) continue;
    for (const transport::ListenerCounters& one : group->server->listeners())
      if (one.endpoint == listener.endpoint) return one;
  }
  return {.endpoint = listener.endpoint};
}

/// Makes the part of Server::report() that concerns the loop `index`. Called on the thread of this loop.
Server::Report Server::State::report_of(std::size_t index, std::size_t most_connections) const {
  Report out;
  for (const rpc::ProcedureReport& one : loops[index]->dispatcher.procedures())
    out.procedures.push_back(*one.statistics);
  out.listeners.resize(listeners.size());
  const auto keep = [&out](std::vector<transport::ConnectionReport> connections) {
    std::ranges::move(connections, std::back_inserter(out.connections));
  };
  for (const auto& group : groups) {
    if (!group->server) continue;
    transport::WorkerReport part = group->server->report(index, most_connections);
    const std::vector<transport::ListenerCounters> theirs = group->server->listeners();
    for (std::size_t i = 0; i < std::min(theirs.size(), part.by_listener.size()); ++i) {
      const auto place = std::ranges::find_if(listeners, [&](const Listener& one) {
        return one.endpoint == theirs[i].endpoint && one.fabric == group->workers.front().fabric->capabilities().name;
      });
      if (place != listeners.end()) out.listeners[place - listeners.begin()] += part.by_listener[i];
    }
    out.traffic += part.traffic;
    out.provider += group->workers[index].fabric->counters();
    keep(std::move(part.busiest));
  }
  for (const auto& server : tcp_servers) keep(server->report(index, most_connections));
  return out;
}

Server::Report Server::report(std::size_t most_connections) const {
  for (const auto& loop : state_->known_loops())
    if (loop->thread.on_thread()) throw std::logic_error("Server::report() called on a thread of the server");
  std::vector<std::future<Report>> parts;
  {
    // While `phase` is `running` and this lock is held, stop() cannot begin to end the loops. A task that is posted
    // after stop() has destroyed the waiting tasks would not run, and report() would wait for its result in vain.
    const std::lock_guard lock(state_->mutex);
    for (std::size_t i = 0; state_->phase == State::Phase::running && i < state_->loops.size(); ++i) {
      std::packaged_task<Report()> task(
          [state = state_.get(), i, most_connections] { return state->report_of(i, most_connections); });
      parts.push_back(task.get_future());
      boost::asio::post(state_->loops[i]->thread.context(), [task = std::move(task)]() mutable { task(); });
    }
  }
  Report sum;
  if (!parts.empty()) sum.listeners.resize(state_->listeners.size());
  for (std::future<Report>& part : parts) {
    try {
      sum.add(part.get());
    } catch (const std::future_error&) {  // stop() has destroyed the task
    }
  }
  std::ranges::sort(sum.procedures, {}, [](const rpc::ProcedureStatistics& one) {
    return std::tuple(one.procedure.program, one.procedure.version, one.procedure.number);
  });
  std::ranges::sort(sum.connections, std::ranges::greater{},
                    [](const transport::ConnectionReport& one) { return one.statistics.calls; });
  sum.connections.resize(std::min(sum.connections.size(), most_connections));
  return sum;
}

void Server::Report::add(Report part) {
  for (const rpc::ProcedureStatistics& one : part.procedures) {
    const auto same = std::ranges::find_if(procedures, [&one](const rpc::ProcedureStatistics& other) {
      return std::tuple(one.procedure.program, one.procedure.version, one.procedure.number) ==
             std::tuple(other.procedure.program, other.procedure.version, other.procedure.number);
    });
    if (same != procedures.end())
      *same += one;
    else
      procedures.push_back(one);
  }
  for (std::size_t i = 0; i < std::min(listeners.size(), part.listeners.size()); ++i) listeners[i] += part.listeners[i];
  traffic += part.traffic;
  provider += part.provider;
  std::ranges::move(part.connections, std::back_inserter(connections));
}

}  // namespace rpcrdma
