// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <stdexcept>

#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/rpc/client.hpp"
#include "rpcrdma_server.hpp"
#include "setting.hpp"
#include "tapped.hpp"

namespace rpcrdma::bench {

/// An event loop, and a fabric and a memory pool on it. Any number of Links may use them together.
struct Loop {
  explicit Loop(const Setting& used)
      : setting(used),
        open(with_capture(used.open, used.client_capture)),
        fabric(opened(context, open)),
        pool(*fabric, {used.pool_octets}) {}

  static std::unique_ptr<fabric::Fabric> opened(boost::asio::io_context& context, const fabric::OpenOptions& options) {
    auto fabric = fabric::open(context, boost::asio::ip::make_address("127.0.0.1"), options, Log());
    if (!fabric) throw std::runtime_error(fabric.error().message());
    return std::move(*fabric);
  }

  Setting setting;
  fabric::OpenOptions open;  // its member `tap` keeps the capture alive, if there is one
  boost::asio::io_context context{1};
  Runner runner{context, setting.poll};
  std::unique_ptr<fabric::Fabric> fabric;
  memory::Pool pool;
};

/// One connection to a server of this library, made at the first call.
struct Link {
  Link(Loop& loop, std::uint16_t port)
      : transport(transport::Client::make(*loop.fabric, loop.pool, {boost::asio::ip::make_address("127.0.0.1"), port},
                                          options(loop.setting), Log())),
        rpc(transport->requester(), loop.context.get_executor()) {}

  static transport::ClientOptions options(const Setting& setting) {
    transport::ClientOptions options;
    options.connection.credits = kCredits;
    options.connection.version = setting.client;
    setting.apply_thresholds(options.connection);
    options.connection.characteristics.idle_shrink = setting.idle_shrink;
    return options;
  }

  std::unique_ptr<transport::Client> transport;
  rpc::Client rpc;
};

/// Makes one call of P, without arguments, and waits for its reply.
template <class P>
void call(Loop& loop, Link& link) {
  std::optional<error_code> ended;
  const typename P::Args args{};
  link.rpc.async_call<P>(args, [&](error_code status, const auto&) { ended = status; });
  loop.context.restart();
  while (!ended) loop.runner.run_one();
  if (*ended) throw std::runtime_error(ended->message());
}

}  // namespace rpcrdma::bench
