// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string>
#include <vector>

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

/// The port of one end of a connection: `end` is getsockname or getpeername. 0 if `fd` is not connected by TCP.
int port(int fd, int (*end)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage at{};
  socklen_t length = sizeof at;
  if (end(fd, reinterpret_cast<sockaddr*>(&at), &length) != 0) return 0;
  if (at.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(at).sin6_port);
  return at.ss_family == AF_INET ? ntohs(reinterpret_cast<const sockaddr_in&>(at).sin_port) : 0;
}

/// The congestion controls of the open connections of this process to or from `server`, a port.
std::vector<std::string> of_connections(int server) {
  std::vector<std::string> out;
  for (int fd = 0; fd < 1024; ++fd) {
    const int peer = port(fd, &::getpeername);
    if (peer != 0 && (peer == server || port(fd, &::getsockname) == server)) out.push_back(congestion_control(fd));
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
    EXPECT_EQ(of_connections(at->port()), std::vector<std::string>(2, "reno"));
  }
}

}  // namespace
}  // namespace rpcrdma::test
