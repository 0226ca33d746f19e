// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::capture {

/// `endpoint`, with an IPv4-mapped IPv6 address replaced by the IPv4 address: a listener for both families reports IPv4
/// peers in the mapped form.
inline fabric::Endpoint unmapped(const fabric::Endpoint& endpoint) {
  namespace ip = boost::asio::ip;
  if (!endpoint.address().is_v6() || !endpoint.address().to_v6().is_v4_mapped()) return endpoint;
  return {ip::make_address_v4(ip::v4_mapped, endpoint.address().to_v6()), endpoint.port()};
}

}  // namespace rpcrdma::capture
