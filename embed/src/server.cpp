// SPDX-License-Identifier: BSD-3-Clause
// Operation: stop() closes all listeners and connections, waits a limited time until they are closed, and then ends the
// loops. stop(0) ends the loops at once.
// Ownership: the loops stop before anything that runs on them is destroyed.
// Error handling: if the start fails, run() prints one line and returns an exit status.
#include "rpcrdma/server.hpp"
#include "rpcrdma/base/print_error.hpp"

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <set>

#include "server_state.hpp"

namespace rpcrdma {

Server::Server(ServerOptions options) : state_(std::make_unique<State>(std::move(options))) {}

/// Destroys the handlers that wait on the loops before the connections are destroyed. Such a handler may keep a call
/// that was answered after stop(), and a call must end before its connection is destroyed.
Server::~Server() {
  stop(std::chrono::milliseconds(0));
  for (const auto& loop : state_->loops) loop->thread.discard_handlers();
}

void Server::add(Service service) {
  if (state_->phase != State::Phase::fresh) throw std::logic_error("Server::on() called after start()");
  state_->services.push_back(std::move(service));
}

void Server::start() {
  if (state_->phase != State::Phase::fresh) throw std::logic_error("Server::start() called again");
  state_->phase = State::Phase::starting;
  try {
    state_->listen();
    if (state_->options.rpcbind) state_->register_with_rpcbind();
    state_->phase = State::Phase::running;
  } catch (...) {
    stop(std::chrono::milliseconds(0));
    throw;
  }
}

void Server::stop(std::chrono::milliseconds drain) {
  if (state_->phase == State::Phase::fresh || state_->phase == State::Phase::stopped) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->phase = State::Phase::stopped;
  }
  state_->rpcbind.remove();
  if (drain > drain.zero()) state_->close_all(drain);
  state_->end_loops();
}

int Server::run() try {
  boost::asio::io_context context(1);
  boost::asio::signal_set signals(context, SIGTERM, SIGINT);
  if (state_->phase == State::Phase::fresh) start();
  // The handler of the first signal restores the default action of both signals, so that a second signal ends the
  // process while stop() waits. After this handler, context.run() has no more work and returns.
  signals.async_wait([&signals](error_code, int) { signals.clear(); });
  context.run();
  stop();
  return EXIT_SUCCESS;
} catch (const std::exception& failed) {
  print_error("{}\n", failed.what());
  return EXIT_FAILURE;
}

const std::vector<Server::Listener>& Server::listeners() const noexcept { return state_->listeners; }

/// How long connections may take to close after the deadline for calls in progress.
constexpr std::chrono::seconds kGrace{2};

/// Closes all listeners and connections, and waits until they are closed, at most `drain` plus kGrace. Does nothing if
/// the loops do not run.
void Server::State::close_all(std::chrono::milliseconds drain) {
  if (loops.empty() || !loops.front()->thread.running()) return;
  const auto deadline = std::chrono::steady_clock::now() + drain;
  std::vector<std::future<void>> closed;
  const auto one_closed = [&closed] {
    auto promise = std::make_shared<std::promise<void>>();
    closed.push_back(promise->get_future());
    return [promise] { promise->set_value(); };
  };
  for (const auto& group : groups)
    if (group->server) group->server->close(deadline, one_closed());
  for (const auto& server : tcp_servers) server->close(deadline, one_closed());
  for (std::future<void>& one : closed) one.wait_until(deadline + kGrace);
}

/// Ends the event loops and their threads. Then destroys the handlers that still wait in the loops. Such a handler may
/// own a call, and a call must be destroyed before its connection.
void Server::State::end_loops() {
  for (const auto& loop : loops) loop->thread.stop();
  for (const auto& loop : loops) loop->thread.join();
  for (const auto& loop : loops) loop->thread.discard_handlers();
}

void Server::State::register_with_rpcbind() {
  std::set<std::pair<std::uint32_t, std::uint32_t>> programs;
  for (const Service& service : services) programs.insert({service.procedure->program, service.procedure->version});
  std::vector<fabric::Endpoint> tcp, rdma;
  for (const Listener& listener : listeners) (listener.fabric == "tcp" ? tcp : rdma).push_back(listener.endpoint);
  const auto registered = rpcbind.add(rpc::rpcbind_entries({programs.begin(), programs.end()}, tcp, rdma));
  if (!registered) throw std::runtime_error(registered.error());
}

}  // namespace rpcrdma
