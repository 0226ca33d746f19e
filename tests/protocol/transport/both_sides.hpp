// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/io_context.hpp>
#include <memory>

#include "exchange.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/responder/server.hpp"
#include "support/run.hpp"

namespace rpcrdma::test {

struct SidesOptions {
  fabric::LoopbackOptions network;
  transport::ClientOptions client;
  transport::ServerOptions server;
  memory::PoolOptions server_memory;
  fabric::Capabilities capabilities = fabric::LoopbackNetwork::default_capabilities();
  Log server_log;
  SidesOptions() {
    client.first_backoff = std::chrono::milliseconds(1);
    client.last_backoff = std::chrono::milliseconds(4);
  }
};

/// A client and a server on one loopback network and one thread.
class BothSides {
 public:
  explicit BothSides(const SidesOptions& options = SidesOptions())
      : network(context, options.network),
        client_fabric(network.make_fabric("client", options.capabilities)),
        server_fabric(network.make_fabric("server", options.capabilities)),
        client_pool(*client_fabric),
        server_pool(*server_fabric, options.server_memory),
        server(transport::Server::make({{server_fabric.get(), &server_pool, &handler}}, options.server,
                                       options.server_log)) {
    listen({});
    client = transport::Client::make(*client_fabric, client_pool, endpoint, options.client, {});
  }
  ~BothSides() {
    client.reset();
    server.reset();
  }

  /// Listens at `local`, or at 127.0.0.1 if the port of `local` is 0; returns false if that failed.
  bool listen(fabric::Endpoint local) {
    bool heard = false;
    error_code failed;
    if (local.port() == 0) local = {boost::asio::ip::make_address("127.0.0.1"), 0};
    server->listen(local, [&](Result<fabric::Endpoint> bound) {
      heard = true;
      if (bound)
        endpoint = *bound;
      else
        failed = bound.error();
    });
    run_until(context, [&] { return heard; });
    return !failed;
  }
  std::unique_ptr<ShapedCall> make(const Shape& shape) {
    return std::make_unique<ShapedCall>(client_pool, client->requester(), shape);
  }
  /// Submits `call` and waits for its end.
  bool run(ShapedCall& call) {
    client->requester().submit(call);
    return run_until(context, [&] { return call.times_done != 0; });
  }
  bool wait(const std::function<bool()>& condition) { return run_until(context, condition); }

  boost::asio::io_context context;
  fabric::LoopbackNetwork network;
  std::unique_ptr<fabric::LoopbackFabric> client_fabric;
  std::unique_ptr<fabric::LoopbackFabric> server_fabric;
  memory::Pool client_pool;
  memory::Pool server_pool;
  ShapedHandler handler;
  fabric::Endpoint endpoint;
  std::unique_ptr<transport::Server> server;
  std::unique_ptr<transport::Client> client;
};

}  // namespace rpcrdma::test
