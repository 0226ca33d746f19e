// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/host_path.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string_view>

namespace rpcrdma {

boost::asio::ip::address unmapped(const boost::asio::ip::address& from) noexcept {
  if (!from.is_v6() || !from.to_v6().is_v4_mapped()) return from;
  return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, from.to_v6());
}

bool within_host(const boost::asio::ip::address& local, const boost::asio::ip::address& peer) noexcept {
  return unmapped(peer).is_loopback() || unmapped(peer) == unmapped(local);
}

void do_not_pace(int socket) noexcept {
  static constexpr std::string_view kReno = "reno";
  ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, kReno.data(), kReno.size());
}

}  // namespace rpcrdma
