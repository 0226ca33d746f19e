// SPDX-License-Identifier: BSD-3-Clause
// Operation. Listeners and the count of connections belong to the first worker's thread. That thread admits connection
// requests, and passes them to the workers round-robin.
// Ownership. Functions that are posted between threads may keep the state after ~Server, which empties it.
// Errors. A connection beyond a limit replaces a connection that has been idle for long, or is rejected.
#include <boost/asio/post.hpp>
#include <mutex>

#include "rpcrdma/base/admission.hpp"
#include "server_worker.hpp"

namespace rpcrdma::transport {
namespace {

struct Listening {
  std::shared_ptr<ListenerCounts> counts;
  fabric::Endpoint endpoint;
  std::unique_ptr<fabric::Listener> listener;  // null when closed
  std::uint64_t failed_handshakes = 0;         // the count of `listener`, saved when the listener is closed
};

struct ServerState : std::enable_shared_from_this<ServerState> {
  ServerState(ServerOptions options_in, Log log_in)
      : options(options_in),
        log(std::move(log_in)),
        admission(options.max_connections, options.max_connections_per_peer) {}

  boost::asio::io_context& home() noexcept { return workers.front()->context(); }
  void make_workers(const std::vector<Worker>& of);
  void listen(const fabric::Endpoint& local, UniqueFunction<void(Result<fabric::Endpoint>)> handler);
  void on_request(Arrival arrival);
  void make_room(Arrival arrival, std::size_t first, std::size_t asked);
  void hand_over(Arrival arrival);
  void refuse(Arrival arrival);
  void close(std::chrono::steady_clock::time_point deadline, UniqueFunction<void()> handler);
  void close_listeners() noexcept;
  std::vector<ListenerCounters> listener_counters() const;
  void destroy() noexcept;

  const ServerOptions options;
  const Log log;
  FaultyCalls faulty_calls;
  std::vector<std::shared_ptr<ServerWorker>> workers;
  // Used on the first worker's thread:
  LogLimit refusals;
  Admission admission;
  std::size_t next_worker = 0;
  std::size_t draining = 0;
  UniqueFunction<void()> close_handler;
  bool closed = false;
  // Protects `listeners`, which the first worker's thread changes and any thread may read.
  mutable std::mutex listeners_mutex;
  std::vector<Listening> listeners;
};

void ServerState::make_workers(const std::vector<Worker>& of) {
  for (const Worker& worker : of) {
    auto left = [state = weak_from_this()](const boost::asio::ip::address& peer) {
      const auto alive = state.lock();
      if (!alive) return;
      boost::asio::post(alive->home(), [state, peer] {
        if (const auto still = state.lock()) still->admission.leave(peer);
      });
    };
    workers.push_back(std::make_shared<ServerWorker>(worker, options, faulty_calls, log, std::move(left)));
  }
}

void ServerState::listen(const fabric::Endpoint& local, UniqueFunction<void(Result<fabric::Endpoint>)> handler) {
  if (closed) return handler(make_error_code(BaseError::cancelled));
  auto counts = std::make_shared<ListenerCounts>();
  {
    const std::lock_guard lock(listeners_mutex);
    counts->index = listeners.size();
  }
  auto listener = workers.front()->fabric().listen(
      local, [state = weak_from_this(), counts](std::unique_ptr<fabric::ConnectionRequest> request) {
        if (const auto alive = state.lock()) alive->on_request({std::move(request), counts});
      });
  if (!listener) return handler(listener.error());
  const fabric::Endpoint bound = (*listener)->local();
  {
    const std::lock_guard lock(listeners_mutex);
    listeners.push_back({std::move(counts), bound, std::move(*listener)});
  }
  handler(bound);
}

void ServerState::on_request(Arrival arrival) {
  if (!closed && admission.enter(arrival.request->info().peer.address())) return hand_over(std::move(arrival));
  make_room(std::move(arrival), next_worker, 0);
}

void ServerState::refuse(Arrival arrival) {
  arrival.listener->refused.fetch_add(1, std::memory_order_relaxed);
  log.about(arrival.request->info().subject(), &refusals)
      .info("connection rejected: {}",
            closed ? "the server is shutting down" : "a limit of connections is reached and none is idle");
  workers.front()->fabric().reject(std::move(arrival.request), {});
}

/// Makes room for a new connection when a limit on connections is reached. Asks the worker with the index `first` to
/// end an idle connection. If that worker ends none, the function runs again and asks the worker after it. `asked` is
/// the number of workers that were asked and ended none. Refuses the new connection if every worker has been asked, or
/// if the server is closed.
void ServerState::make_room(Arrival arrival, std::size_t first, std::size_t asked) {
  if (closed || asked == workers.size()) return refuse(std::move(arrival));
  const std::shared_ptr<ServerWorker> worker = workers[(first + asked) % workers.size()];
  std::optional<boost::asio::ip::address> peer = arrival.request->info().peer.address();
  if (!admission.full_for(*peer)) peer.reset();
  boost::asio::post(worker->context(), [state = weak_from_this(), worker, peer, arrival = std::move(arrival), first,
                                        asked]() mutable {
    const bool gave_way = worker->give_way(peer);
    const auto alive = state.lock();
    if (!alive || alive->workers.empty()) return;
    boost::asio::post(alive->home(), [state, gave_way, arrival = std::move(arrival), first, asked]() mutable {
      const auto still = state.lock();
      if (!still || still->workers.empty()) return;
      if (still->closed) return still->refuse(std::move(arrival));
      if (!gave_way) return still->make_room(std::move(arrival), first, asked + 1);
      still->admission.enter_instead(arrival.request->info().peer.address());
      still->hand_over(std::move(arrival));
    });
  });
}

void ServerState::hand_over(Arrival arrival) {
  const std::shared_ptr<ServerWorker> worker = workers[next_worker++ % workers.size()];
  if (worker == workers.front()) return worker->take(std::move(arrival));
  boost::asio::post(worker->context(),
                    [worker, arrival = std::move(arrival)]() mutable { worker->take(std::move(arrival)); });
}

void ServerState::close(std::chrono::steady_clock::time_point deadline, UniqueFunction<void()> handler) {
  closed = true;
  close_listeners();
  close_handler = std::move(handler);
  draining = workers.size();
  for (const auto& worker : workers) {
    boost::asio::post(worker->context(), [state = shared_from_this(), worker, deadline] {
      worker->drain(deadline, [state = std::weak_ptr<ServerState>(state)] {
        const auto alive = state.lock();
        if (!alive) return;
        boost::asio::post(alive->home(), [alive] {
          if (--alive->draining != 0 || !alive->close_handler) return;
          auto done = std::move(alive->close_handler);
          alive->close_handler.reset();
          done();
        });
      });
    });
  }
}

void ServerState::close_listeners() noexcept {
  const std::lock_guard lock(listeners_mutex);
  for (Listening& one : listeners) {
    if (one.listener == nullptr) continue;
    one.failed_handshakes = one.listener->failed_handshakes();
    one.listener.reset();
  }
}

std::vector<ListenerCounters> ServerState::listener_counters() const {
  std::vector<ListenerCounters> out;
  const std::lock_guard lock(listeners_mutex);
  for (const Listening& one : listeners) {
    const std::uint64_t half_open = one.listener != nullptr ? one.listener->failed_handshakes() : one.failed_handshakes;
    out.push_back({.endpoint = one.endpoint,
                   .connections = one.counts->connections.load(std::memory_order_relaxed),
                   .accepted = one.counts->accepted.load(std::memory_order_relaxed),
                   .refused = one.counts->refused.load(std::memory_order_relaxed),
                   .failed = one.counts->failed.load(std::memory_order_relaxed) + half_open});
  }
  return out;
}

void ServerState::destroy() noexcept {
  closed = true;
  close_listeners();
  close_handler.reset();
  for (const auto& worker : workers) worker->destroy();
  workers.clear();
}

class ServerImpl final : public Server {
 public:
  explicit ServerImpl(std::shared_ptr<ServerState> state) : state_(std::move(state)) {}
  ~ServerImpl() override { state_->destroy(); }

  void listen(const fabric::Endpoint& local, UniqueFunction<void(Result<fabric::Endpoint>)> handler) override {
    boost::asio::post(state_->home(), [state = state_, local, handler = std::move(handler)]() mutable {
      if (!state->workers.empty()) state->listen(local, std::move(handler));
    });
  }
  void close(std::chrono::steady_clock::time_point deadline, UniqueFunction<void()> handler) override {
    boost::asio::post(state_->home(), [state = state_, deadline, handler = std::move(handler)]() mutable {
      if (!state->workers.empty()) state->close(deadline, std::move(handler));
    });
  }
  Counters counters() const noexcept override;
  std::vector<ListenerCounters> listeners() const override { return state_->listener_counters(); }
  WorkerReport report(std::size_t index, std::size_t most_connections) const override {
    return state_->workers.at(index)->report(most_connections);
  }

 private:
  std::shared_ptr<ServerState> state_;
};

Server::Counters ServerImpl::counters() const noexcept {
  Counters out;
  for (const ListenerCounters& one : state_->listener_counters()) {
    out.accepted += one.accepted;
    out.refused += one.refused;
  }
  for (const auto& worker : state_->workers) {
    const Service::Counters& from = worker->counters();
    out.connections += worker->connections();
    out.calls += from.calls.load(std::memory_order_relaxed);
    out.errors_sent += from.errors_sent.load(std::memory_order_relaxed);
    out.discarded += from.discarded.load(std::memory_order_relaxed);
    out.invalidated += from.invalidated.load(std::memory_order_relaxed);
    out.receives_raised += from.receives_raised.load(std::memory_order_relaxed);
    out.receives_lowered += from.receives_lowered.load(std::memory_order_relaxed);
    out.bulk_in_use += from.bulk_in_use.load(std::memory_order_relaxed);
    out.receive_octets += worker->receive_octets();
  }
  return out;
}

}  // namespace

std::unique_ptr<Server> Server::make(const std::vector<Worker>& workers, ServerOptions options, Log log) {
  auto state = std::make_shared<ServerState>(options, std::move(log));
  state->make_workers(workers);
  return std::make_unique<ServerImpl>(std::move(state));
}

}  // namespace rpcrdma::transport
