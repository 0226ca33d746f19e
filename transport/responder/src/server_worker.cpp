// SPDX-License-Identifier: BSD-3-Clause
// Operation. Accepts connections that were admitted, and serves them. Draining closes each connection when its last
// call is over, and the remaining connections at the deadline. Draining is complete when every connection and call has
// ended.
// Ownership. A worker owns its connections and, through the service, its calls. Posted functions keep the worker alive
// while they run, and do nothing after destroy().
// Errors. A connection that cannot be accepted is logged and counted as failed. A connection without progress is
// aborted, because its calls may hold memory for which other connections wait.
#include "server_worker.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "rpcrdma/base/log_reason.hpp"

namespace rpcrdma::transport {
namespace {

constexpr std::chrono::milliseconds kShortestWatch{5};
/// Receives may take 1/kReceivePart of the pool. An equal part is meant for replies, and the rest for bulk data and
/// long calls, which need up to twice their budgets.
constexpr std::size_t kReceivePart = 8;

Traffic& traffic_of(std::vector<Traffic>& by_listener, std::size_t listener) {
  if (by_listener.size() <= listener) by_listener.resize(listener + 1);
  return by_listener[listener];
}

}  // namespace

ServerWorker::ServerWorker(const Worker& worker, const ServerOptions& options, FaultyCalls& faulty_calls, Log log,
                           UniqueFunction<void(const boost::asio::ip::address&)> left)
    : worker_(worker),
      options_(options),
      log_(std::move(log)),
      left_(std::move(left)),
      receive_budget_(worker.pool->max_octets() / kReceivePart),
      service_({worker.handler, options.bulk_budget, options.max_chunk, true, &faulty_calls, log_,
                options.first_of_long_call}),
      deadline_(worker.fabric->context()),
      watch_(worker.fabric->context()) {
  service_.on_wait = [this] { watch_closely(); };
}

ServerWorker::~ServerWorker() { destroy(); }

void ServerWorker::take(Arrival arrival) {
  const LogSubject about = arrival.request->info().subject();
  const boost::asio::ip::address peer = about.peer.address();
  if (destroyed_ || draining_) {
    arrival.listener->refused.fetch_add(1, std::memory_order_relaxed);
    log_.about(about, &log_limits_.ends).info("connection rejected: the server is shutting down");
    worker_.fabric->reject(std::move(arrival.request), {});
    return left_(peer);
  }
  ConnectionSetup setup;
  setup.fabric = worker_.fabric;
  setup.pool = worker_.pool;
  setup.role = Role::server;
  setup.options = options_.connection;
  setup.max_segments = options_.max_segments;
  setup.receive_budget = &receive_budget_;
  setup.log = log_;
  setup.log_limits = &log_limits_;
  auto connection = std::make_unique<ServerConnection>(*this, service_, options_.connection, peer, arrival.listener);
  if (const error_code failed = connection->accept(setup, std::move(arrival.request))) {
    arrival.listener->failed.fetch_add(1, std::memory_order_relaxed);
    log_.about(about, &log_limits_.ends).warn("connection not accepted: {}", Reason{failed});
    return left_(peer);
  }
  arrival.listener->connections.fetch_add(1, std::memory_order_relaxed);
  connections_.push_back(std::move(connection));
  connection_count_.store(static_cast<std::uint32_t>(connections_.size()), std::memory_order_relaxed);
  connections_.back()->note_receives();
  if (!watching_) watch();
}

bool ServerWorker::give_way(const std::optional<boost::asio::ip::address>& peer) {
  if (destroyed_) return false;
  const auto now = std::chrono::steady_clock::now();
  ServerConnection* chosen = nullptr;
  for (const auto& connection : connections_) {
    connection->watch(now, options_);
    if (connection->ending() || (peer && connection->peer() != *peer)) continue;
    if (chosen == nullptr || connection->active_at() < chosen->active_at()) chosen = connection.get();
  }
  if (chosen == nullptr || now - chosen->active_at() < options_.idle_grace) return false;
  chosen->end_log().info("connection evicted: idle, and its place is needed for a new connection");
  chosen->abort(TransportError::too_many_connections);
  return true;
}

/// Ends connections that make no progress, and lets the pool release unused memory. Runs periodically, by a timer,
/// while there are connections. Until the server drains, also runs while the pool holds registered memory. The timer is
/// shorter while calls wait for bytes of a budget.
void ServerWorker::watch() {
  const auto now = std::chrono::steady_clock::now();
  for (const auto& connection : connections_) connection->watch(now, options_);
  trim(now);
  if (receive_budget_.is_short()) lower_receives();
  watching_ = !connections_.empty() || (!draining_ && worker_.pool->counters().registered_octets != 0);
  watching_closely_ = watching_ && service_.has_waiters();
  if (!watching_) return;
  std::chrono::milliseconds limit = std::min(options_.progress_timeout, options_.idle_grace);
  if (watching_closely_) limit = std::min(limit, options_.pressed_timeout);
  watch_.expires_after(std::max(limit / 4, kShortestWatch));
  watch_.async_wait([self = weak_from_this()](error_code cancelled) {
    const auto worker = self.lock();
    if (!cancelled && worker && !worker->destroyed_) worker->watch();
  });
}

void ServerWorker::trim(std::chrono::steady_clock::time_point now) noexcept {
  if (now < next_trim_) return;
  worker_.pool->trim();
  next_trim_ = now + options_.idle_grace;
}

/// Each run offers smaller receives on one connection: among the connections that may offer them, the one that has been
/// idle longest.
void ServerWorker::lower_receives() {
  ServerConnection* chosen = nullptr;
  for (const auto& connection : connections_) {
    if (!connection->may_offer_smaller_receives()) continue;
    if (chosen == nullptr || connection->active_at() < chosen->active_at()) chosen = connection.get();
  }
  if (chosen != nullptr) chosen->offer_smaller_receives();
}

/// Makes watch() run soon instead of waiting for its timer. This function posts watch() to the event loop, because the
/// caller may be within a callback of a connection, and watch() may end connections.
void ServerWorker::watch_closely() {
  if (!watching_ || std::exchange(watching_closely_, true)) return;
  boost::asio::post(context(), [self = weak_from_this()] {
    if (const auto worker = self.lock(); worker && !worker->destroyed_) worker->watch();
  });
}

void ServerWorker::connection_over(ServerConnection& connection) {
  const boost::asio::ip::address peer = connection.peer();
  traffic_of(ended_traffic_, connection.listener()) += connection.traffic();
  const auto at = std::ranges::find(connections_, &connection, &std::unique_ptr<ServerConnection>::get);
  ended_.push_back(std::move(*at));
  connections_.erase(at);
  boost::asio::post(context(), [self = weak_from_this()] {
    const auto worker = self.lock();
    if (!worker || worker->destroyed_) return;
    worker->ended_.clear();
    worker->check_drained();
  });
  connection_count_.store(static_cast<std::uint32_t>(connections_.size()), std::memory_order_relaxed);
  // After the last connection of a server that shuts down, nothing is left to watch. A pending timer would keep
  // io_context::run() from returning.
  if (connections_.empty() && draining_) {
    watching_ = false;
    watch_.cancel();
  }
  left_(peer);
}

WorkerReport ServerWorker::report(std::size_t most_connections) const {
  WorkerReport out;
  out.by_listener = ended_traffic_;
  out.connections = connections_.size();
  std::vector<const ServerConnection*> busiest;
  for (const auto& connection : connections_) {
    traffic_of(out.by_listener, connection->listener()) += connection->traffic();
    busiest.push_back(connection.get());
  }
  for (const Traffic& traffic : out.by_listener) out.traffic += traffic;
  const std::size_t shown = std::min(most_connections, busiest.size());
  std::ranges::partial_sort(busiest, busiest.begin() + static_cast<std::ptrdiff_t>(shown), std::ranges::greater{},
                            &ServerConnection::calls_taken);
  const auto now = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < shown; ++i) out.busiest.push_back(busiest[i]->report(now));
  return out;
}

void ServerWorker::drain(std::chrono::steady_clock::time_point deadline, UniqueFunction<void()> done) {
  if (destroyed_) return;
  draining_ = true;
  drained_ = std::move(done);
  // The worker is drained when it has neither connections nor calls. A call may end after its connection, so the end of
  // a call must also run check_drained().
  service_.on_call_over = [this] {
    boost::asio::post(context(), [self = weak_from_this()] {
      if (const auto worker = self.lock(); worker && !worker->destroyed_) {
        worker->close_idle();
        worker->check_drained();
      }
    });
  };
  if (connections_.empty()) watch_.cancel();
  for (const auto& connection : connections_) connection->drain();
  deadline_.expires_at(deadline);
  deadline_.async_wait([self = weak_from_this()](error_code cancelled) {
    const auto worker = self.lock();
    if (cancelled || !worker || worker->destroyed_) return;
    for (const auto& connection : worker->connections_) connection->abort(BaseError::cancelled);
  });
  check_drained();
}

void ServerWorker::close_idle() {
  for (const auto& connection : connections_)
    if (connection->idle()) connection->drain();
}

/// Runs `drained_` if the worker has neither connections, ended ones included, nor calls. The user may then destroy the
/// server on another thread.
void ServerWorker::check_drained() {
  if (!drained_ || !connections_.empty() || !ended_.empty() || service_.calls_in_use() != 0) return;
  deadline_.cancel();
  auto done = std::move(drained_);
  drained_.reset();
  done();
}

void ServerWorker::destroy() noexcept {
  destroyed_ = true;
  drained_.reset();
  service_.on_call_over.reset();
  service_.on_wait.reset();
  deadline_.cancel();
  watch_.cancel();
  connections_.clear();
  ended_.clear();
}

}  // namespace rpcrdma::transport
