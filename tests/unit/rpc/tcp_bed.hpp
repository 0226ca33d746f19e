// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A server and a client over TCP on one io_context.
#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "rpcrdma/rpc/client.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"
#include "rpcrdma/rpc/mount3.hpp"
#include "rpcrdma/rpc/nfs3.hpp"
#include "rpcrdma/rpc/tcp_requester.hpp"
#include "rpcrdma/rpc/tcp_server.hpp"
#include "support/run.hpp"
#include "unit/xdr/samples.hpp"

namespace rpcrdma::test {

/// Completes with the error code and the result as a tuple, without an exception.
inline constexpr auto kTuple = boost::asio::as_tuple(boost::asio::use_awaitable);

class TcpBed {
 public:
  using tcp = boost::asio::ip::tcp;

  explicit TcpBed(rpc::TcpServerOptions options = {}) {
    server = rpc::TcpServer::make(context, pool, dispatcher, options, {});
    const auto bound = server->listen({boost::asio::ip::make_address("127.0.0.1"), 0});
    EXPECT_TRUE(bound);
    endpoint = *bound;
    requester = rpc::TcpRequester::make(context, endpoint);
    client.emplace(*requester, context.get_executor(),
                   rpc::ClientOptions{.credential = rpc::Credential::sys(1000, 100, {}, "tcp")});
  }

  /// Runs a coroutine to completion.
  template <class Coroutine>
  void run(Coroutine coroutine) {
    bool done = false;
    boost::asio::co_spawn(context, std::move(coroutine), [&done](std::exception_ptr failed) {
      done = true;
      if (failed) std::rethrow_exception(failed);
    });
    EXPECT_TRUE(run_until(context, [&done] { return done; }));
  }

  boost::asio::io_context context;
  fabric::LoopbackNetwork network{context};
  std::unique_ptr<fabric::LoopbackFabric> fabric = network.make_fabric();
  memory::Pool pool{*fabric};
  rpc::Dispatcher dispatcher;
  std::unique_ptr<rpc::TcpServer> server;
  tcp::endpoint endpoint;
  std::unique_ptr<rpc::TcpRequester> requester;
  std::optional<rpc::Client> client;
};

}  // namespace rpcrdma::test
