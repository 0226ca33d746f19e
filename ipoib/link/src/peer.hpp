// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "connection.hpp"
#include "patience.hpp"
#include "rpcrdma/base/backoff.hpp"
#include "rpcrdma/base/weak_guard.hpp"
#include "rpcrdma/ipoib/wire/link_address.hpp"

namespace rpcrdma::ipoib {

class LinkState;

/// Another interface of the link, identified by its link-layer address, and the connections with it. There is at most
/// one connection that this side has requested (`outgoing`), and at most one that the peer has requested (`incoming`)
/// [4755-3.2-b]. Packets are sent over `outgoing` if it is established, otherwise over `incoming`.
class Peer final : public ConnectionEvents {
 public:
  using Clock = std::chrono::steady_clock;

  Peer(LinkState& of, const LinkAddress& its_address, const fabric::Endpoint& its_endpoint);

  /// The established connection over which packets are sent, or null.
  Connection* usable() const noexcept;
  /// True while a connection is being set up, and while the connection that this side requested is being closed. After
  /// the close, this side requests a new connection if packets wait for one.
  bool in_progress() const noexcept;
  bool connecting() const noexcept;
  /// Whether there is a connection, in any state.
  bool connected() const noexcept { return outgoing || incoming; }
  std::string text() const;

  LinkState& link;
  const LinkAddress address;
  const fabric::Endpoint endpoint;
  std::unique_ptr<Connection> outgoing;
  std::unique_ptr<Connection> incoming;

  /// The first `waiting_count` elements are packets that wait for a connection. The other elements are unused buffers
  /// for later packets. LinkState::sweep() frees the buffers when the peer has no connection and no packet waits.
  std::vector<Packet> waiting;
  std::size_t waiting_count = 0;

  Backoff backoff;
  Clock::time_point retry_at{};           ///< the earliest time of the next attempt to connect
  boost::asio::steady_timer retry_timer;  ///< expires at `retry_at`; set if packets wait for the next attempt
  unsigned rejections = 0;                ///< consecutive rejections
  Patience patience;                      ///< limits how long a peer without room may stop the reading of the device
  bool stalled = false;                   ///< the peer has had no room for too long: packets for it are dropped
  /// True if this side knows the peer only because the peer requested a connection. LinkState::forget_peers() may
  /// remove such a peer.
  bool learnt = false;
  WeakGuard<Peer> guard{*this};

 private:
  void on_established(Connection& connection) noexcept override;
  bool on_frame(Connection& connection, Octets frame) noexcept override;
  void on_batch_end(Connection& connection) noexcept override;
  void on_room(Connection& connection) noexcept override;
  void on_over(Connection& connection, error_code why, std::uint32_t lost) noexcept override;
};

}  // namespace rpcrdma::ipoib
