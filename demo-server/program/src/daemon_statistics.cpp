// SPDX-License-Identifier: BSD-3-Clause
// Statistics by HTTP (--metrics), on a thread of their own.
// Operation: for a report, each event loop fills its own part and posts it to that thread, which adds the parts.
// Ownership: the io_context of that thread outlives the event loops, as tasks that wait in an event loop refer to it.
// Error handling: an event loop that does not answer leaves requests without a report; the HTTP server answers 503.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/host_name.hpp>
#include <boost/asio/post.hpp>
#include <filesystem>

#include "rpcrdma/nfsd/program/daemon.hpp"
#include "rpcrdma/nfsd/service/signals.hpp"

#ifndef RPCRDMA_VERSION
#error "RPCRDMA_VERSION is not defined: CMakeLists.txt sets it"
#endif

namespace rpcrdma::nfsd {

std::size_t open_descriptors() {
  std::error_code ignored;
  const std::filesystem::directory_iterator all("/proc/self/fd", ignored);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Returns the part of a report that describes one event loop. Called on the thread of that loop.
observe::Report Daemon::report_of(std::size_t loop) const {
  observe::Report out;
  for (const auto& group : groups_) {
    FabricWorker& worker = *group->workers[loop];
    out.add(worker.dispatcher());
    transport::WorkerReport transport = group->server->report(loop, observe::kMostConnections);
    const std::vector<transport::ListenerCounters> listeners = group->server->listeners();
    for (std::size_t i = 0; i < std::min(listeners.size(), transport.by_listener.size()); ++i) {
      observe::Listener one{std::string(worker.worker().fabric->capabilities().name), {}, transport.by_listener[i]};
      one.counters.endpoint = listeners[i].endpoint;
      out.listeners.push_back(std::move(one));
    }
    observe::FabricUse use;
    use.name = group->key;
    use.traffic = transport.traffic;
    use.counters = worker.worker().fabric->counters();
    use.connections = transport.connections;
    use.regions = worker.regions();
    use.pool = worker.pool().counters();
    out.add(std::move(use), std::move(transport.busiest));
  }
  for (const auto& server : tcp_servers_) out.add(server->report(loop, observe::kMostConnections));
  return out;
}

/// The listeners for RDMA in the order of the options, then those for TCP.
std::vector<observe::Listener> Daemon::listeners() const {
  std::vector<observe::Listener> out;
  for (const auto& group : groups_)
    for (const transport::ListenerCounters& one : group->server->listeners())
      out.push_back({std::string(group->workers.front()->worker().fabric->capabilities().name), one, {}});
  const auto place = [this](const observe::Listener& one) {
    return std::ranges::find(rdma_bound_, one.counters.endpoint) - rdma_bound_.begin();
  };
  std::ranges::stable_sort(out, {}, place);
  for (std::size_t i = 0; i < tcp_servers_.size(); ++i) {
    const rpc::TcpServer::Counters one = tcp_servers_[i]->counters();
    out.push_back({"tcp", {tcp_bound_[i], one.connections, one.accepted, one.refused, one.failed}, {}});
  }
  return out;
}

struct Daemon::Gathering {
  observe::Report sum;
  std::size_t missing = 0;
  UniqueFunction<void(observe::Report)> handler;
};

/// Makes a report, and passes it to `handler` when all event loops have answered. This function and `handler` run on
/// the thread of metrics_context_. May be called while the server drains.
void Daemon::gather(UniqueFunction<void(observe::Report)> handler) {
  auto gathering = std::make_shared<Gathering>();
  gathering->handler = std::move(handler);
  gathering->missing = loops_.size();
  observe::Report& sum = gathering->sum;
  for (const auto& group : groups_) sum.add(group->server->counters());
  for (const auto& server : tcp_servers_) sum.add(server->counters());
  sum.listeners = listeners();
  for (const auto& loop : loops_) sum.add(loop->runner.counters());
  sum.duplicates = duplicates_.counters();
  if (capture_ != nullptr) {
    const capture::CaptureCounts counts = capture_->counts();
    sum.capture = {capture_->running(), counts.frames, counts.dropped, counts.bytes};
  }
  sum.descriptors = open_descriptors();
  sum.age = std::chrono::steady_clock::now() - started_at_;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    boost::asio::post(loops_[i]->context, [this, gathering, i] {
      boost::asio::post(metrics_context_, [gathering, part = report_of(i)]() mutable {
        gathering->sum.add(std::move(part));
        if (--gathering->missing == 0) gathering->handler(std::move(gathering->sum));
      });
    });
  }
}

Checked<void> Daemon::listen_metrics() {
  if (!options_.metrics) return {};
  observe::StatisticsServerOptions options;
  options.version = RPCRDMA_VERSION;
  error_code unnamed;
  if (std::string name = boost::asio::ip::host_name(unnamed); !unnamed) options.names.push_back(std::move(name));
  auto made = observe::StatisticsServer::make(
      metrics_context_, *options_.metrics,
      [this](UniqueFunction<void(observe::Report)> handler) { gather(std::move(handler)); }, options, log_);
  if (!made)
    return Refusal{fmt::format("cannot serve metrics at {}: {}", text_of(*options_.metrics), made.error().message())};
  metrics_ = std::move(*made);
  if (!options_.metrics->address().is_loopback())
    log_.warn("statistics are served at {} to every host that can connect, without authentication",
              text_of(metrics_->local()));
  const ExternalSignalsBlocked inherited;
  metrics_thread_ = std::thread([this] { metrics_context_.run(); });
  return {};
}

/// Ends the thread that gathers the statistics, and destroys the server that publishes them.
void Daemon::end_metrics() {
  metrics_context_.stop();
  if (metrics_thread_.joinable()) metrics_thread_.join();
  metrics_.reset();
}

}  // namespace rpcrdma::nfsd
