// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The parts of a running server.
#include <atomic>
#include <mutex>
#include <span>

#include "rpcrdma/embed/loop.hpp"
#include "rpcrdma/rpc/rpcbind.hpp"
#include "rpcrdma/server.hpp"

namespace rpcrdma {

/// The parts of a running server. The order of the members is the reverse order of destruction. Members are
/// changed on the owner's thread or on the loops; after start(), statistics() and report() read them on any thread.
struct Server::State {
  explicit State(ServerOptions wanted);

  /// The dispatcher is the first member, and so is destroyed last: handlers that still wait are destroyed with the
  /// io_context, and their memory belongs to the dispatcher.
  struct Loop {
    Loop(rpc::DispatcherOptions dispatching, Polling polling) : dispatcher(std::move(dispatching)), thread(polling) {}
    rpc::Dispatcher dispatcher;
    embed::Loop thread;
  };
  struct Worker {
    std::unique_ptr<fabric::Fabric> fabric;
    std::unique_ptr<memory::Pool> pool;
  };
  /// The workers for one provider, one on each loop. Verbs has a group for each address, because the address selects
  /// the device.
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
  mutable std::mutex mutex;  // while report() holds it, stop() cannot change `phase`
};

}  // namespace rpcrdma
