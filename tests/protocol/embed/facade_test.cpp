// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "hello.rpcrdma.hpp"
#include "rpcrdma/client.hpp"
#include "rpcrdma/server.hpp"

namespace rpcrdma::test {
namespace {

namespace asio = boost::asio;

TEST(Facade, SaysHello) {
  Server server({.listen = {"iwarp@127.0.0.1"}});
  server.on<hello::Greet>([](const greet_args& args, Scratch& scratch) {
    return greet_result{scratch.format("Hello, {}!", args.name.view()), scratch.copy("names")};
  });
  server.start();
  Client client(server.listeners().front().text());
  const auto reply = client.call<hello::Greet>({"world"}, asio::use_future).get();
  EXPECT_EQ(reply->text.view(), "Hello, world!");
}

}  // namespace
}  // namespace rpcrdma::test
