// SPDX-License-Identifier: BSD-3-Clause
#include <rpcrdma/server.hpp>

#include "hello.rpcrdma.hpp"

int main(int, char** arguments) {
  rpcrdma::Server server({.listen = {arguments[1]}});
  server.on<hello::Greet>([](const greet_args& args, rpcrdma::Scratch& scratch) {
    return greet_result{scratch.format("Hello, {}", args.name.view().substr(0, 200))};
  });
  return server.run();
}
