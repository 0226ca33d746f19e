// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Addresses of TCP connections, and connections whose ends are on the same host. Their path loses no packets, and its
// segments are long. The functions may be called on any thread.
#include <boost/asio/ip/address.hpp>

namespace rpcrdma {

/// Returns the IPv4 address that the IPv4-mapped IPv6 address `from` contains. Returns any other address unchanged.
/// A socket for both families reports IPv4 peers by mapped addresses.
boost::asio::ip::address unmapped(const boost::asio::ip::address& from) noexcept;

/// Returns whether a connection is known to stay on this host: the peer has a loopback address or the same address as
/// this side. A connection between two other addresses of this host is not recognized.
bool within_host(const boost::asio::ip::address& local, const boost::asio::ip::address& peer) noexcept;

/// Makes a connection use the congestion control Reno. The default of the system may be BBR, which limits the rate to
/// its estimate of the bandwidth. To be called for a connection within the host, where nothing is lost. Does nothing on
/// failure.
void do_not_pace(int socket) noexcept;

}  // namespace rpcrdma
