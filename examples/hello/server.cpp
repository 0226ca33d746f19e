// SPDX-License-Identifier: BSD-3-Clause
#include <rpcrdma/server.hpp>

#include <iostream>

#include "hello.rpcrdma.hpp"

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: hello-server ADDRESS\n";
    return 2;
  }
  rpcrdma::Server server({.listen = {arguments[1]}});
  server.on<hello::Greet>([](const greet_args& args, rpcrdma::Scratch& scratch) {
    return greet_result{scratch.format("Hello, {}", args.name.view().substr(0, 200))};
  });
  return server.run();
}
