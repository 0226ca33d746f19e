// SPDX-License-Identifier: BSD-3-Clause
// The connections of an iWARP device are TCP connections of this host, which share its ports with the sockets of all
// programs. rdma_cm does not know these sockets.
#include <sys/resource.h>
#include <sys/socket.h>

#include <fstream>

#include "interop/fabric/verbs_bed.hpp"
#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::test {
namespace {

/// Sockets on half of the ports from which the kernel and rdma_cm choose.
std::vector<Fd> sockets_on_half_of_the_ports(fabric::Endpoint address) {
  int first = 0;
  int last = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first >> last;
  std::vector<Fd> sockets(static_cast<std::size_t>(last - first) / 2);
  address.port(0);
  for (Fd& socket : sockets) {
    socket = Fd(::socket(address.data()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket || ::bind(socket.get(), address.data(), static_cast<socklen_t>(address.size())) != 0) return {};
  }
  return sockets;
}

std::vector<BedFactory> beds_on_tcp() { return on_iwarp() ? verbs_beds() : std::vector<BedFactory>(); }

}  // namespace

class PortsTest : public FabricTest {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PortsTest);

TEST_P(PortsTest, PortsOfOtherSocketsAreNotChosen) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit many{.rlim_cur = 40000, .rlim_max = std::max<rlim_t>(files.rlim_max, 40000)};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &many), 0);
  const auto sockets = sockets_on_half_of_the_ports(bed_->address());
  ASSERT_FALSE(sockets.empty());
  constexpr int kConnections = 10;
  for (int i = 0; i < kConnections; ++i) {
    listen();
    ASSERT_NE(listener_, nullptr);
    Node client(bed_->client());
    start(client);
    ASSERT_TRUE(until([&] { return client.established() || client.disconnected; }));
    ASSERT_TRUE(client.established()) << client.disconnected->message();
    listener_.reset();
  }
}
INSTANTIATE_TEST_SUITE_P(Verbs, PortsTest, testing::ValuesIn(beds_on_tcp()), bed_name);

}  // namespace rpcrdma::test
