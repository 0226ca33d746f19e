// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <mutex>
#include <span>

#include "rpcrdma/embed/loop.hpp"
#include "rpcrdma/rpc/rpcbind.hpp"
#include "rpcrdma/server.hpp"

namespace rpcrdma {

/// The parts of a running server. Each member is declared after the members that it uses, so that it is destroyed
/// before them. add() and start() fill the members, on the owner's thread or on a loop. After start(), statistics() and
/// report() may read them on any thread, because stop() changes only `phase` and `rpcbind`.
struct Server::State {
  explicit State(ServerOptions wanted);

  /// A dispatcher, and the thread with its io_context on which the dispatcher is used. The dispatcher is declared first
  /// and is therefore destroyed after the io_context. The io_context destroys the handlers that still wait in it, and
  /// these handlers use memory of the dispatcher.
  struct Loop {
    Loop(rpc::DispatcherOptions dispatching, Polling polling) : dispatcher(std::move(dispatching)), thread(polling) {}
    rpc::Dispatcher dispatcher;
    embed::Loop thread;
  };
  struct Worker {
    std::unique_ptr<fabric::Fabric> fabric;
    std::unique_ptr<memory::Pool> pool;
  };
  /// The workers that use one provider: one worker for each loop, in the order of `loops`. Verbs has a separate group
  /// for each local address, because the address selects the RDMA device.
  struct Group {
    std::string key;
    std::vector<Worker> workers;
    std::unique_ptr<transport::Server> server;  // null if the group only provides memory for TCP
  };

  Group& group_for(const Address& address, const boost::asio::ip::address& at);
  Group& memory_for_tcp();
  Group& make_group(std::string key, std::unique_ptr<fabric::Fabric> first, const Address& address,
                    const boost::asio::ip::address& at);
  std::unique_ptr<fabric::Fabric> open(Loop& loop, const Address& address, const boost::asio::ip::address& at);
  void serve_rdma(Group& group);
  void listen();
  Listener listen_rdma(Group& group, const fabric::Endpoint& wanted);
  Listener listen_tcp(const fabric::Endpoint& wanted);
  transport::ListenerCounters counters_of(const Listener& listener) const;
  Report report_of(std::size_t loop, std::size_t most_connections) const;
  void register_with_rpcbind();
  void close_all(std::chrono::milliseconds drain);
  void end_loops();

  ServerOptions options;
  std::vector<Address> addresses;
  std::vector<Service> services;
  rpc::DuplicateCache duplicates;
  std::vector<std::unique_ptr<Loop>> loops;
  std::vector<std::unique_ptr<Group>> groups;
  std::vector<std::unique_ptr<rpc::TcpServer>> tcp_servers;
  std::vector<Listener> listeners;
  rpc::RpcbindRegistration rpcbind;
  /// The loops; none before start() has ended. May be called on any thread.
  std::span<const std::unique_ptr<Loop>> known_loops() const noexcept {
    const Phase now = phase;
    return now == Phase::running || now == Phase::stopped ? std::span(loops) : std::span<const std::unique_ptr<Loop>>();
  }

  enum class Phase { fresh, starting, running, stopped };
  std::atomic<Phase> phase = Phase::fresh;
  // report() holds this mutex while it reads `phase` and passes work to the loops. stop() holds it while it changes
  // `phase`, and ends the loops only afterwards.
  mutable std::mutex mutex;
};

}  // namespace rpcrdma
