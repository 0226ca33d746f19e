// SPDX-License-Identifier: BSD-3-Clause
#include <rpcrdma/client.hpp>

#include <boost/asio/use_future.hpp>
#include <iostream>
#include <stdexcept>

#include "hello.rpcrdma.hpp"

int main(int count, char** arguments) try {
  if (count != 3) throw std::invalid_argument("usage: hello-client ADDRESS NAME");
  rpcrdma::Client client(arguments[1]);
  auto reply = client.call<hello::Greet>({arguments[2]}, boost::asio::use_future).get();
  std::cout << reply->text.view() << '\n';
} catch (const std::exception& failed) {
  std::cerr << failed.what() << '\n';
  return 1;
}
