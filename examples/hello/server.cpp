// SPDX-License-Identifier: BSD-3-Clause
#include <rpcrdma/server.hpp>

#include <iostream>
#include <stdexcept>

#include "hello.rpcrdma.hpp"

int main(int count, char** arguments) try {
  if (count != 2) throw std::invalid_argument("usage: hello-server ADDRESS");
  rpcrdma::Server server({.listen = {arguments[1]}});
  server.on<hello::Greet>([](const greet_args& args, rpcrdma::Scratch& scratch) {
    return greet_result{scratch.format("Hello, {}", args.name.view().substr(0, 200))};
  });
  return server.run();
} catch (const std::exception& failed) {
  std::cerr << failed.what() << '\n';
  return 1;
}
