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

/// Another interface of the link, identified by its link-layer address, and the connections with it: at most one that
/// the peer has requested, and one that this side has requested [4755-3.2-b]. Packets are sent over the latter if it
/// is established, otherwise over the former.
class Peer final : public ConnectionEvents {
 public:
  using Clock = std::chrono::steady_clock;

  Peer(LinkState& of, const LinkAddress& its_address, const fabric::Endpoint& its_endpoint);

  /// The established connection over which packets are sent, or null.
  Connection* usable() const noexcept;
  /// Whether a connection is being set up, or the connection that this side requested is being closed. After it has
  /// been closed, this side requests another if packets wait.
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

  /// The first `waiting_count` packets wait for a connection. The vector keeps all its buffers until LinkState::sweep()
  /// finds neither a connection nor a waiting packet.
  std::vector<Packet> waiting;
  std::size_t waiting_count = 0;

  Backoff backoff;
  Clock::time_point retry_at{};           ///< the earliest time of the next attempt to connect
  boost::asio::steady_timer retry_timer;  ///< until the connection is requested once more, if packets wait
  unsigned rejections = 0;                ///< consecutive rejections
  Patience patience;                      ///< limits the time for which the peer may stop the device
  bool stalled = false;                   ///< the peer has had no room for too long: packets for it are dropped
  bool learnt = false;                    ///< the peer was made from a request: LinkState::forget_peers() may remove it
  WeakGuard<Peer> guard{*this};

 private:
  void on_established(Connection& connection) noexcept override;
  bool on_frame(Connection& connection, Octets frame) noexcept override;
  void on_batch_end(Connection& connection) noexcept override;
  void on_room(Connection& connection) noexcept override;
  void on_over(Connection& connection, error_code why, std::uint32_t lost) noexcept override;
};

}  // namespace rpcrdma::ipoib
