// SPDX-License-Identifier: BSD-3-Clause
// A server that calls its client, and that client, each with a capture:
//   e2e_reverse serve ADDRESS CAPTURE         prints "ready ADDRESS"; ends at SIGTERM
//   e2e_reverse call ADDRESS CAPTURE COUNT    is called COUNT times
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <iostream>
#include <rpcrdma/capture/capture.hpp>
#include <rpcrdma/client.hpp>
#include <rpcrdma/server.hpp>
#include <stdexcept>

#include "reverse.rpcrdma.hpp"

namespace asio = boost::asio;

namespace {

std::shared_ptr<rpcrdma::capture::Capture> capture_to(const char* file) {
  return rpcrdma::capture::Capture::open({.file = file}, {}).value();
}

asio::awaitable<void> call_back(rpcrdma::ServerCall<prompter::CallBack> call) {
  const auto client = call.reverse_client();
  u_int succeeded = 0;
  for (u_int i = 0; i < call.args(); ++i)
    if (*co_await client.call<doubler::Double>(i, asio::use_awaitable) == 2 * i) ++succeeded;
  call.reply(succeeded);
}

int serve(const char* address, const char* file) {
  rpcrdma::Server server({.listen = {address}, .tap = capture_to(file)});
  server.on<prompter::CallBack>(call_back);
  server.start();
  std::cout << "ready " << server.listeners().front().text() << std::endl;
  return server.run();
}

int call(const char* address, const char* file, u_int count) {
  rpcrdma::Client client(address, {.tap = capture_to(file)});
  u_int calls = 0;  // only the client's thread uses this until the reply has arrived
  client.on<doubler::Double>([&calls](const u_int& number) {
    ++calls;
    return 2 * number;
  });
  const u_int succeeded = *client.call<prompter::CallBack>(count, asio::use_future).get();
  client.close(asio::use_future).get();
  std::cout << calls << " calls, " << succeeded << " replies" << std::endl;
  return calls == count && succeeded == count ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) try {
  const std::string_view command = count > 3 ? arguments[1] : "";
  if (command == "serve" && count == 4) return serve(arguments[2], arguments[3]);
  if (command == "call" && count == 5)
    return call(arguments[2], arguments[3], static_cast<u_int>(std::stoul(arguments[4])));
  std::cerr << "usage: e2e_reverse serve ADDRESS CAPTURE | call ADDRESS CAPTURE COUNT\n";
  return 2;
} catch (const std::exception& failed) {
  std::cerr << "e2e_reverse: " << failed.what() << '\n';
  return 1;
}
