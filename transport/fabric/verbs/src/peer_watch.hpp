// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>

#include "self_pointer.hpp"

namespace rpcrdma::fabric::verbs {

/// Decides when to send an empty RDMA Write to the peer of an established connection. There are two purposes.
///
/// Keepalive. If a connection is idle, InfiniBand does not report that the peer's host is gone. After the keepalive
/// time without a completion, this side sends an empty Write. Then either the peer's device acknowledges the Write, or
/// the connection fails. The peer's program does not notice the Write.
///
/// First message. If the connector's first message closely follows the handshake, siw (Linux's software iWARP) at the
/// peer may not process it until more bytes arrive. Therefore an iWARP connector sends up to ten empty Writes, at
/// growing intervals, until it receives a message.
class PeerWatch {
 public:
  class Owner {
   public:
    /// Sends an empty RDMA Write. Not called while probing_peer() is true.
    virtual void probe_peer() noexcept = 0;
    virtual bool probing_peer() const noexcept = 0;
    virtual bool heard_from_peer() const noexcept = 0;

   protected:
    ~Owner() = default;
  };

  PeerWatch(boost::asio::io_context& context, std::chrono::milliseconds keepalive, Owner& owner)
      : owner_(owner), keepalive_(keepalive), keepalive_timer_(context), nudge_timer_(context) {}

  void start(bool nudge);
  void stop() noexcept;
  void note_completion() noexcept { quiet_quarters_ = 0; }

 private:
  void wait_a_quarter();
  void on_quiet_quarter();
  void nudge_later();
  void on_nothing_heard_yet();

  Owner& owner_;
  const std::chrono::milliseconds keepalive_;
  boost::asio::steady_timer keepalive_timer_;
  boost::asio::steady_timer nudge_timer_;
  unsigned nudges_ = 0;
  unsigned quiet_quarters_ = 0;  // quarters of the keepalive time since the last completion or probe
  bool watching_ = false;
  SelfPointer<PeerWatch> self_{*this};
};

}  // namespace rpcrdma::fabric::verbs
