// SPDX-License-Identifier: BSD-3-Clause
// How a client connects to its server.
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "rpcrdma/nfs/client.hpp"
#include "rpcrdma/responder/server.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"
#include "rpcrdma/rpc/nfs3.hpp"
#include "support/run.hpp"

namespace rpcrdma::nfs {
namespace {

// The server permits one connection. It rejects the second client until the first connection has been idle for
// idle_grace, and then accepts the second client in place of the first. idle_grace is longer than first_connect, so the
// second client succeeds only if it goes on trying after first_connect.
TEST(Connect, AServerThatRejectsIsTriedUntilTheTimeout) {
  boost::asio::io_context context;
  fabric::LoopbackNetwork network(context);
  const auto server_fabric = network.make_fabric("server");
  memory::Pool pool(*server_fabric);
  rpc::Dispatcher dispatcher;
  dispatcher.on<rpc::nfs3::Null>([](rpc::ServerCall<rpc::nfs3::Null> call) { call.reply({}); },
                                 rpc::AuthRequirement::none);
  transport::ServerOptions server_options;
  server_options.max_connections = 1;
  server_options.idle_grace = std::chrono::seconds(1);
  auto server = transport::Server::make({{server_fabric.get(), &pool, &dispatcher}}, server_options, {});
  fabric::Endpoint endpoint;
  server->listen({boost::asio::ip::make_address("127.0.0.1"), 0},
                 [&](Result<fabric::Endpoint> bound) { endpoint = bound.value(); });
  ASSERT_TRUE(test::run_until(context, [&] { return endpoint.port() != 0; }));

  ClientOptions options;
  options.first_connect = std::chrono::milliseconds(50);
  std::unique_ptr<Client> clients[2];
  for (auto& client : clients) {
    error_code failed;
    bool over = false;
    start(context.get_executor(), Client::connect_over(network.make_fabric("client"), endpoint, options),
          [&](error_code status, std::unique_ptr<Client> made) {
            failed = status;
            client = std::move(made);
            over = true;
          });
    ASSERT_TRUE(test::run_until(context, [&] { return over; }));
    EXPECT_FALSE(failed) << failed.message();
  }
  EXPECT_NE(server->counters().refused, 0u);
  for (auto& client : clients) client.reset();
  server.reset();
  test::run_ready(context);
}

TEST(Connect, UidAndGidGoTogether) {
  boost::asio::io_context context;
  fabric::LoopbackNetwork network(context);
  for (const bool uid : {false, true}) {
    ClientOptions options;
    (uid ? options.uid : options.gid) = 7;
    error_code over_a_fabric, to_a_host;
    const fabric::Endpoint nobody(boost::asio::ip::make_address("127.0.0.1"), 1);
    start(context.get_executor(), Client::connect_over(network.make_fabric("client"), nobody, options),
          [&](error_code status, const auto&) { over_a_fabric = status; });
    start(context.get_executor(), Client::connect(context, "127.0.0.1", 1, options),
          [&](error_code status, const auto&) { to_a_host = status; });
    ASSERT_TRUE(test::run_until(context, [&] { return over_a_fabric && to_a_host; }));
    EXPECT_EQ(over_a_fabric, boost::system::errc::invalid_argument) << over_a_fabric.message();
    EXPECT_EQ(to_a_host, boost::system::errc::invalid_argument) << to_a_host.message();
  }
}

}  // namespace
}  // namespace rpcrdma::nfs
