// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A test bed with a client and a server of the RPC program of service.hpp. An rpc::Client calls the handlers of an
// rpc::Dispatcher through RPC-over-RDMA, over an emulated RDMA network inside the process.
#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <optional>

#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/responder/server.hpp"
#include "rpcrdma/rpc/client.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"
#include "service.hpp"
#include "support/hex.hpp"
#include "support/pattern.hpp"
#include "support/run.hpp"

namespace rpcrdma::test {

inline constexpr auto kTuple = boost::asio::as_tuple(boost::asio::use_awaitable);

/// Seeds of the data that the service returns.
inline constexpr std::uint64_t kFirstSeed = 11;
inline constexpr std::uint64_t kSecondSeed = 22;

class Bed {
 public:
  explicit Bed(transport::ClientOptions client_options = quick(), transport::ServerOptions server_options = {});
  ~Bed();

  static transport::ClientOptions quick() {
    transport::ClientOptions options;
    options.first_backoff = options.last_backoff = std::chrono::milliseconds(2);
    return options;
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
  bool wait(const std::function<bool()>& condition) { return run_until(context, condition); }
  memory::RegisteredBuffer buffer(std::uint32_t size) {
    auto made = client_pool.allocate(size);
    EXPECT_TRUE(made);
    return std::move(*made);
  }

  boost::asio::io_context context;
  fabric::LoopbackNetwork network{context};
  std::unique_ptr<fabric::LoopbackFabric> client_fabric = network.make_fabric("client");
  std::unique_ptr<fabric::LoopbackFabric> server_fabric = network.make_fabric("server");
  memory::Pool client_pool{*client_fabric};
  memory::Pool server_pool{*server_fabric};
  rpc::DuplicateCache cache;
  rpc::Dispatcher dispatcher{{.cache = &cache, .log = {}}};
  std::unique_ptr<transport::Server> server;
  std::unique_ptr<transport::Client> connection;
  std::optional<rpc::Client> client;

  std::uint32_t total = 0;
  bool hold_counts = false;
  std::vector<std::pair<rpc::ServerCall<Count>, CountResult>> held;

 private:
  void serve();
};

}  // namespace rpcrdma::test
