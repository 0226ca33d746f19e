// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/host_path.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string_view>

namespace rpcrdma {

bool within_host(const boost::asio::ip::address& local, const boost::asio::ip::address& peer) noexcept {
  return peer.is_loopback() || peer == local;
}

void do_not_pace(int socket) noexcept {
  static constexpr std::string_view kReno = "reno";
  ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, kReno.data(), kReno.size());
}

}  // namespace rpcrdma
