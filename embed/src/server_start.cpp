// SPDX-License-Identifier: BSD-3-Clause
// Operation: makes the groups of workers; each worker has a fabric of its own. Then runs the loops and opens the
// listeners.
// Ownership: the state owns everything. Once the loops run, the fabrics of a group are used on their loops only.
// Error handling: a failure throws an exception with one line of text; start() then stops the parts that run.
#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <future>
#include <stdexcept>

#include "server_state.hpp"

namespace rpcrdma {
namespace {

namespace asio = boost::asio;

asio::ip::address address_of(const Address& address) {
  error_code failed;
  const auto at = asio::ip::make_address(address.host, failed);
  if (failed) throw std::invalid_argument(fmt::format("cannot listen at '{}': not an IP address", address.host));
  return at;
}

}  // namespace

std::string Server::Listener::text() const { return fmt::format("{}@{}", fabric, text_of(endpoint)); }

Server::State::State(ServerOptions wanted) : options(std::move(wanted)), duplicates(options.duplicates) {
  for (const std::string& text : options.listen) {
    addresses.push_back(parse_address(text));
    address_of(addresses.back());
  }
  if (options.threads == 0) options.threads = std::max(1u, std::thread::hardware_concurrency());
  options.rdma.connection.credits = options.credits;
  options.rdma.connection.send_size = options.rdma.connection.receive_size = options.inline_threshold;
  options.rdma.connection.version = options.version;
  options.rdma.max_connections = options.tcp.max_connections = options.max_connections;
  options.rdma.max_connections_per_peer = std::min(options.rdma.max_connections_per_peer, options.max_connections);
  options.tcp.max_connections_per_peer = std::min(options.tcp.max_connections_per_peer, options.max_connections);
}

std::unique_ptr<fabric::Fabric> Server::State::open(Loop& loop, const Address& address, const asio::ip::address& at) {
  const fabric::OpenOptions open{.provider = address.carrier.provider, .crc = options.crc, .tap = options.tap};
  auto opened = fabric::open(loop.thread.context(), at, open, options.log);
  if (!opened)
    throw std::runtime_error(fmt::format("cannot open a fabric at {}: {}", address.host, opened.error().message()));
  return std::move(*opened);
}

Server::State::Group& Server::State::group_for(const Address& address, const asio::ip::address& at) {
  auto first = open(*loops.front(), address, at);
  std::string key(first->capabilities().name);
  if (key == "verbs") key += " at " + at.to_string();
  for (const auto& group : groups)
    if (group->key == key) return *group;
  return make_group(std::move(key), std::move(first), address, at);
}

/// The group whose pools provide registered memory to handlers of calls over TCP.
Server::State::Group& Server::State::memory_for_tcp() {
  if (!groups.empty()) return *groups.front();
  const Address loopback{{.tcp = false, .provider = fabric::Provider::iwarp}, "127.0.0.1", {}};
  return make_group("memory", open(*loops.front(), loopback, asio::ip::address_v4::loopback()), loopback,
                    asio::ip::address_v4::loopback());
}

Server::State::Group& Server::State::make_group(std::string key, std::unique_ptr<fabric::Fabric> first,
                                                const Address& address, const asio::ip::address& at) {
  auto group = std::make_unique<Group>();
  group->key = std::move(key);
  const auto memory = memory::within_limit(options.memory, first->capabilities(),
                                           loops.size() * std::max<std::size_t>(1, addresses.size()));
  for (const auto& loop : loops) {
    auto fabric = first ? std::move(first) : open(*loop, address, at);
    auto pool = std::make_unique<memory::Pool>(*fabric, memory);
    group->workers.push_back({std::move(fabric), std::move(pool)});
  }
  groups.push_back(std::move(group));
  return *groups.back();
}

void Server::State::serve_rdma(Group& group) {
  if (group.server) return;
  std::vector<transport::Worker> workers;
  for (std::size_t i = 0; i < loops.size(); ++i)
    workers.push_back({group.workers[i].fabric.get(), group.workers[i].pool.get(), &loops[i]->dispatcher});
  transport::ServerOptions rdma = options.rdma;
  rdma.bulk_budget = std::min(rdma.bulk_budget, group.workers.front().pool->max_octets() / 2);
  group.server = transport::Server::make(workers, rdma, options.log);
}

void Server::State::listen() {
  while (loops.size() < options.threads) {
    loops.push_back(
        std::make_unique<Loop>(rpc::DispatcherOptions{.cache = &duplicates, .log = options.log}, options.poll));
    for (const Service& service : services) service.add_to(loops.back()->dispatcher, options.log);
  }
  std::vector<Group*> chosen;
  for (const Address& address : addresses) {
    chosen.push_back(address.carrier.tcp ? nullptr : &group_for(address, address_of(address)));
    if (chosen.back() != nullptr) serve_rdma(*chosen.back());
  }
  memory_for_tcp();
  for (const auto& loop : loops) loop->thread.start();
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const fabric::Endpoint wanted(address_of(addresses[i]), addresses[i].port.value_or(0));
    listeners.push_back(chosen[i] != nullptr ? listen_rdma(*chosen[i], wanted) : listen_tcp(wanted));
  }
}

Server::Listener Server::State::listen_rdma(Group& group, const fabric::Endpoint& wanted) {
  std::promise<Result<fabric::Endpoint>> promise;
  group.server->listen(wanted, [&](Result<fabric::Endpoint> bound) { promise.set_value(std::move(bound)); });
  const Result<fabric::Endpoint> bound = promise.get_future().get();
  if (!bound)
    throw std::runtime_error(fmt::format("cannot listen at {}: {}", text_of(wanted), bound.error().message()));
  return {group.workers.front().fabric->capabilities().name, *bound};
}

Server::Listener Server::State::listen_tcp(const fabric::Endpoint& wanted) {
  std::vector<rpc::TcpWorker> workers;
  for (std::size_t i = 0; i < loops.size(); ++i)
    workers.push_back({&loops[i]->thread.context(), groups.front()->workers[i].pool.get(), &loops[i]->dispatcher});
  rpc::TcpServerOptions tcp = options.tcp;
  for (const Address& other : addresses)
    if (other.carrier.tcp && wanted.port() != 0 && other.port == wanted.port() && address_of(other).is_v4())
      tcp.v6_only = true;
  std::promise<Result<fabric::Endpoint>> promise;
  asio::post(loops.front()->thread.context(), [&] {
    tcp_servers.push_back(rpc::TcpServer::make(workers, tcp, options.log));
    promise.set_value(tcp_servers.back()->listen(wanted));
  });
  const auto bound = promise.get_future().get();
  if (!bound)
    throw std::runtime_error(fmt::format("cannot listen on TCP at {}: {}", text_of(wanted), bound.error().message()));
  return {"tcp", *bound};
}

}  // namespace rpcrdma
