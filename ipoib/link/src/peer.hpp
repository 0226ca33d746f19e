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

/// An interface of the link other than this one, known by its link-layer address, and the connections with it: at most
/// one that it has requested, and one that this side has [4755-3.2-a]. Packets are sent over the latter if it exists.
class Peer final : public ConnectionEvents {
 public:
  using Clock = std::chrono::steady_clock;

  Peer(LinkState& of, const LinkAddress& its_address, const fabric::Endpoint& its_endpoint);

  /// The established connection over which to send, or null.
  Connection* usable() const noexcept;
  /// Whether a connection is being set up, or closed, after which a new one is made for packets that wait.
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

  /// Packets that wait for a connection: the first `waiting_count`. The buffers are kept until the peer is idle.
  std::vector<Packet> waiting;
  std::size_t waiting_count = 0;

  Backoff backoff;
  Clock::time_point retry_at{};           ///< no attempt to connect before
  boost::asio::steady_timer retry_timer;  ///< runs after a rejection, if packets wait
  unsigned rejections = 0;                ///< in a row
  Patience patience;                      ///< for packets without room
  bool stalled = false;                   ///< it takes no packets: they are lost
  bool learnt = false;                    ///< from its request: it is forgotten when it has no connection
  WeakGuard<Peer> guard{*this};

 private:
  void on_established(Connection& connection) noexcept override;
  bool on_frame(Connection& connection, Octets frame) noexcept override;
  void on_batch_end(Connection& connection) noexcept override;
  void on_room(Connection& connection) noexcept override;
  void on_over(Connection& connection, error_code why, std::uint32_t lost) noexcept override;
};

}  // namespace rpcrdma::ipoib
