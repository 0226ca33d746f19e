// SPDX-License-Identifier: BSD-3-Clause
// The wishes of a fabric for the setup of a connection, and the options of its sockets.
#include "fabric_state.hpp"

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "socket.hpp"

namespace rpcrdma::fabric::iwarp {
namespace {

Endpoint at(const char* address) { return {boost::asio::ip::make_address(address), 20049}; }

bool crc_wanted(std::optional<bool> crc, const char* local, const char* peer) {
  boost::asio::io_context context;
  IwarpOptions options;
  options.crc = crc;
  return FabricState(context, options, Log{}).wishes({}, at(local), at(peer)).crc;
}

// [5044-4.4-b] [5044-4.4-k] [5041-3-d] without the option, CRCs are on unless both addresses are loopback
TEST(Wishes, CrcByDefault) {
  EXPECT_TRUE(crc_wanted({}, "192.0.2.1", "192.0.2.2"));
  EXPECT_TRUE(crc_wanted({}, "2001:db8::1", "2001:db8::2"));
  EXPECT_TRUE(crc_wanted({}, "127.0.0.1", "192.0.2.2"));
  EXPECT_TRUE(crc_wanted({}, "192.0.2.1", "127.0.0.1"));
  EXPECT_FALSE(crc_wanted({}, "127.0.0.1", "127.0.0.2"));
  EXPECT_FALSE(crc_wanted({}, "::1", "::ffff:127.0.0.1"));
  EXPECT_FALSE(crc_wanted(false, "192.0.2.1", "192.0.2.2"));
  EXPECT_TRUE(crc_wanted(true, "127.0.0.1", "127.0.0.1"));
}

// [5040-8.1.1-e] the configured maximum limits the depths that a queue pair requests
TEST(Wishes, ReadDepthsAreCapped) {
  boost::asio::io_context context;
  QueuePairOptions greedy;
  greedy.inbound_reads = greedy.outbound_reads = 100000;
  for (const std::uint32_t cap : {0u, 1u, 128u}) {
    IwarpOptions options;
    options.max_read_depth = cap;
    const SetupWishes wishes = FabricState(context, options, Log{}).wishes(greedy, at("192.0.2.1"), at("192.0.2.2"));
    EXPECT_EQ(wishes.inbound_reads, cap);
    EXPECT_EQ(wishes.outbound_reads, cap);
  }
}

int option_of(Acceptor& socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(socket.native_handle(), level, name, &value, &size), 0);
  return value;
}

// [5044-5.1-a] TCP_NODELAY is set; [5044-7.1.2-m] keepalives detect a peer that is down
TEST(Sockets, ArePrepared) {
  boost::asio::io_context context;
  Acceptor socket(context, boost::asio::ip::tcp::v4());
  ASSERT_FALSE(prepare(socket, std::chrono::minutes(1)));
  EXPECT_NE(option_of(socket, IPPROTO_TCP, TCP_NODELAY), 0);
  EXPECT_NE(option_of(socket, SOL_SOCKET, SO_KEEPALIVE), 0);
  const int noticed = option_of(socket, IPPROTO_TCP, TCP_KEEPIDLE) +
                      option_of(socket, IPPROTO_TCP, TCP_KEEPINTVL) * option_of(socket, IPPROTO_TCP, TCP_KEEPCNT);
  EXPECT_LE(noticed, 120);
  EXPECT_EQ(option_of(socket, IPPROTO_TCP, TCP_USER_TIMEOUT), 1000 * noticed);
}

TEST(Sockets, TimesOfProbesAreInRange) {
  boost::asio::io_context context;
  for (const std::chrono::seconds unreasonable : {std::chrono::seconds::min(), std::chrono::seconds::max()}) {
    Acceptor socket(context, boost::asio::ip::tcp::v4());
    ASSERT_FALSE(prepare(socket, unreasonable));
    EXPECT_GE(option_of(socket, IPPROTO_TCP, TCP_KEEPIDLE), 1);
    EXPECT_LE(option_of(socket, IPPROTO_TCP, TCP_KEEPIDLE), 10'000);
    EXPECT_GT(option_of(socket, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
  }
}

}  // namespace
}  // namespace rpcrdma::fabric::iwarp
