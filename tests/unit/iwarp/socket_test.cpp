// SPDX-License-Identifier: BSD-3-Clause
#include "socket.hpp"

#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include <boost/asio/io_context.hpp>

namespace rpcrdma::fabric::iwarp {
namespace {

int tcp_option(Socket& socket, int option) {
  int value = -1;
  socklen_t length = sizeof value;
  ::getsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, &length);
  return value;
}

// TCP sends the first of six keepalive probes after the idle time. The interval between two probes is a sixth of the
// idle time, but at least one second.
TEST(KeepAlive, AsksASilentPeer) {
  boost::asio::io_context context;
  for (const auto& [keepalive, interval] : {std::pair{60, 10}, std::pair{6, 1}, std::pair{1, 1}}) {
    Socket socket(context, boost::asio::ip::tcp::v4());
    keep_alive(socket.native_handle(), std::chrono::seconds(keepalive));
    boost::asio::socket_base::keep_alive on;
    socket.get_option(on);
    EXPECT_TRUE(on.value());
    EXPECT_EQ(tcp_option(socket, TCP_KEEPIDLE), keepalive);
    EXPECT_EQ(tcp_option(socket, TCP_KEEPINTVL), interval);
    EXPECT_EQ(tcp_option(socket, TCP_KEEPCNT), 6);
  }
}

// A connection inherits the options of its acceptor, which saves system calls in accept.
TEST(PreparedAcceptor, PassesItsOptionsToConnections) {
  boost::asio::io_context context;
  Acceptor acceptor(context, boost::asio::ip::tcp::v4());
  ASSERT_FALSE(prepare(acceptor, std::chrono::seconds(30)));
  EXPECT_TRUE(acceptor.non_blocking());
  acceptor.bind({boost::asio::ip::address_v4::loopback(), 0});
  acceptor.listen();
  Socket client(context);
  client.connect(acceptor.local_endpoint());
  acceptor.non_blocking(false);  // accept() then waits for the connection
  Socket accepted = acceptor.accept();
  const int on = 1;
  for (const auto& [option, value] :
       {std::pair{TCP_NODELAY, on}, std::pair{TCP_KEEPIDLE, 30}, std::pair{TCP_KEEPINTVL, 5}, std::pair{TCP_KEEPCNT, 6},
        std::pair{TCP_USER_TIMEOUT, 60'000}})
    EXPECT_EQ(tcp_option(accepted, option), value);
  boost::asio::socket_base::keep_alive keeps_alive;
  accepted.get_option(keeps_alive);
  EXPECT_TRUE(keeps_alive.value());
}

TEST(LimitSendBuffer, SetsTheSize) {
  boost::asio::io_context context;
  Socket sender(context, boost::asio::ip::tcp::v4());
  limit_send_buffer(sender, 64 * 1024);
  boost::asio::socket_base::send_buffer_size size;
  sender.get_option(size);
  EXPECT_EQ(size.value(), 64 * 1024);  // Asio halves what Linux reports
}

}  // namespace
}  // namespace rpcrdma::fabric::iwarp
