// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/host_path.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string_view>

#include "rpcrdma/base/fd.hpp"

namespace rpcrdma {
namespace {

TEST(Unmapped, ChangesMappedAddressesOnly) {
  const auto plain = [](const char* from) { return unmapped(boost::asio::ip::make_address(from)).to_string(); };
  EXPECT_EQ(plain("::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(plain("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(plain("2001:db8::1"), "2001:db8::1");
  EXPECT_EQ(plain("::1"), "::1");
}

// The default of the system may be a congestion control that paces.
TEST(DoNotPace, UsesReno) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (const std::string_view other : {"bbr", "cubic"})  // a process may not be allowed to use them
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, other.data(), static_cast<socklen_t>(other.size()));
  do_not_pace(socket.get());
  char name[16] = {};
  socklen_t length = sizeof name;
  ASSERT_EQ(::getsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name, &length), 0);
  EXPECT_STREQ(name, "reno");
}

TEST(WithinHost, LoopbackOrTheSameAddress) {
  const auto within = [](const char* local, const char* peer) {
    return within_host(boost::asio::ip::make_address(local), boost::asio::ip::make_address(peer));
  };
  EXPECT_TRUE(within("127.0.0.1", "127.0.0.2"));
  EXPECT_TRUE(within("::1", "::1"));
  EXPECT_TRUE(within("192.0.2.1", "192.0.2.1"));
  EXPECT_TRUE(within("::ffff:127.0.0.1", "::ffff:127.0.0.1"));
  EXPECT_TRUE(within("::ffff:127.0.0.1", "::ffff:127.0.0.2"));
  EXPECT_TRUE(within("::ffff:192.0.2.1", "192.0.2.1"));
  EXPECT_FALSE(within("192.0.2.1", "192.0.2.2"));
  EXPECT_FALSE(within("::ffff:192.0.2.1", "::ffff:192.0.2.2"));
}

}  // namespace
}  // namespace rpcrdma
