// SPDX-License-Identifier: BSD-3-Clause
#include <rpcrdma/client.hpp>

#include <boost/asio/use_future.hpp>
#include <iostream>

#include "hello.rpcrdma.hpp"

int main(int, char** arguments) try {
  rpcrdma::Client client(arguments[1]);
  auto reply = client.call<hello::Greet>({arguments[2]}, boost::asio::use_future).get();
  std::cout << reply->text.view() << '\n';
} catch (const std::exception& failed) {
  std::cerr << failed.what() << '\n';
  return 1;
}
