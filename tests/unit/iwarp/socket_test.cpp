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

// The time that a peer has to answer the probes equals the idle time before the first one.
TEST(PreparedSocket, AsksASilentPeer) {
  boost::asio::io_context context;
  for (const auto& [keepalive, interval] : {std::pair{60, 10}, std::pair{6, 1}, std::pair{1, 1}}) {
    Socket socket(context, boost::asio::ip::tcp::v4());
    ASSERT_FALSE(prepare(socket, std::chrono::seconds(keepalive)));
    boost::asio::socket_base::keep_alive on;
    socket.get_option(on);
    EXPECT_TRUE(on.value());
    EXPECT_EQ(tcp_option(socket, TCP_KEEPIDLE), keepalive);
    EXPECT_EQ(tcp_option(socket, TCP_KEEPINTVL), interval);
    EXPECT_EQ(tcp_option(socket, TCP_KEEPCNT), 6);
    EXPECT_TRUE(socket.non_blocking());
  }
}

TEST(PreparedSocket, BuffersNoMoreThanACacheHolds) {
  boost::asio::io_context context;
  Socket sender(context, boost::asio::ip::tcp::v4());
  keep_in_cache(sender);
  boost::asio::socket_base::send_buffer_size size;
  sender.get_option(size);
  EXPECT_GE(size.value(), 256 * 1024);
  EXPECT_LE(size.value(), 1024 * 1024);
}

}  // namespace
}  // namespace rpcrdma::fabric::iwarp
