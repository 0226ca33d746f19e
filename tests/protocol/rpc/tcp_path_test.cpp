// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <set>
#include <string>

#include "bed.hpp"
#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/rpc/tcp_requester.hpp"
#include "rpcrdma/rpc/tcp_server.hpp"
#include "service.hpp"

namespace rpcrdma::test {
namespace {

std::string congestion_control(int socket) {
  char name[16] = {};
  socklen_t length = sizeof name;
  return ::getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, &length) == 0 ? name : "";
}

/// The congestion controls of the TCP connections of this process. `count` is set to their number.
std::set<std::string> of_connections(int& count) {
  std::set<std::string> out;
  count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
    if (const std::string name = congestion_control(fd); !name.empty()) {
      out.insert(name);
      ++count;
    }
  }
  return out;
}

// Both ends of a connection within the host use Reno, also if a listener for both families reports a mapped address.
TEST(TcpWithinHost, UsesReno) {
  const Fd one(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (congestion_control(one.get()) == "reno") GTEST_SKIP() << "Reno is the default of this system";
  for (const char* address : {"127.0.0.1", "::"}) {
    SCOPED_TRACE(address);
    Bed bed;
    rpc::Dispatcher dispatcher;
    dispatcher.on<Nothing>([](rpc::ServerCall<Nothing> call) { call.reply({}); });
    const auto server = rpc::TcpServer::make(bed.context, bed.server_pool, dispatcher, {}, {});
    const auto at = server->listen({boost::asio::ip::make_address(address), 0});
    if (!at && at.error() == boost::system::errc::address_family_not_supported) continue;
    ASSERT_TRUE(at) << at.error();
    const auto requester =
        rpc::TcpRequester::make(bed.context, {boost::asio::ip::make_address("127.0.0.1"), at->port()}, {});
    rpc::Client client(*requester, bed.context.get_executor());
    bool done = false;
    client.async_call<Nothing>({}, [&](error_code status, const rpc::Decoded<rpc::Void>&) {
      EXPECT_FALSE(status) << status.message();
      done = true;
    });
    ASSERT_TRUE(bed.wait([&] { return done; }));
    int count = 0;
    EXPECT_EQ(of_connections(count), std::set<std::string>{"reno"});
    EXPECT_EQ(count, 2);
  }
}

}  // namespace
}  // namespace rpcrdma::test
