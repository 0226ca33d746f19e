// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// TCP connections whose ends are on the same host. Their path loses no packets, and its segments are long.
#include <boost/asio/ip/address.hpp>

namespace rpcrdma {

/// Whether both ends of a connection are on this host.
bool within_host(const boost::asio::ip::address& local, const boost::asio::ip::address& peer) noexcept;

/// Makes TCP send without pauses, by the congestion control Reno. The default of the system may be BBR, which limits
/// the rate with timers. To be called for a connection within the host, where nothing is lost. Does nothing on failure.
void do_not_pace(int socket) noexcept;

}  // namespace rpcrdma
