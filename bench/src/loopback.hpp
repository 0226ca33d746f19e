// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdint>

namespace rpcrdma::bench {

/// 127.0.0.1 with a port in host byte order; port 0 lets the system choose.
inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace rpcrdma::bench
