// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// One reliable connection to a peer: its queue pair, receives, packets being sent, and credits.
//
// States:
//   state        next event                  work requests at the provider
//   setting_up   on_established              Receives
//   established  packets, credits            Receives, and Sends that have not completed
//   closing      on_disconnected             as in `established`, but no further packet is sent
//   over         destruction by the owner    none
// on_disconnected can also occur in setting_up and established, if the connection fails or the peer ends it.
#include <cstdint>
#include <memory>
#include <vector>

#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/ipoib/wire/encapsulation.hpp"
#include "rpcrdma/ipoib/wire/private_data.hpp"
#include "rpcrdma/memory/pool.hpp"

namespace rpcrdma::ipoib {

class Connection;

/// A packet to send: a buffer with room for the encapsulation header in front of the packet.
struct Packet {
  memory::RegisteredBuffer buffer;
  std::uint32_t length = 0;  ///< bytes of the packet, without the header
  FrameType type = FrameType::ipv4;
};

/// Events that a connection reports to its owner, from the io_context. The owner must not destroy the connection during
/// an event.
class ConnectionEvents {
 public:
  virtual void on_established(Connection& connection) noexcept = 0;
  /// `frame` has arrived. The owner returns true to keep the frame. The memory of the frame then stays valid until the
  /// owner calls Connection::return_frames(). If the owner returns false, the memory is valid only during this call.
  virtual bool on_frame(Connection& connection, Octets frame) noexcept = 0;
  /// on_frame() has reported all frames of a batch of completions. If the owner has kept frames, it must now return
  /// them by return_frames().
  virtual void on_batch_end(Connection& connection) noexcept = 0;
  /// Connection::has_room() is true, and may have been false before: Sends have completed, or the peer has granted
  /// credits.
  virtual void on_room(Connection& connection) noexcept = 0;
  /// The connection is over. `lost`: the number of packets whose Sends failed.
  virtual void on_over(Connection& connection, error_code why, std::uint32_t lost) noexcept = 0;

 protected:
  ~ConnectionEvents() = default;
};

/// The values that this side announces to the peer, and the limits of the connection.
struct ConnectionLimits {
  std::uint32_t qpn = 0;
  std::uint32_t receive_mtu = 0;
  std::uint16_t depth = 0;  ///< the maximum number of outstanding packets in each direction
  std::chrono::milliseconds handshake_timeout{};
};

class Connection final : fabric::QueuePairEvents {
 public:
  enum class State : std::uint8_t { setting_up, established, closing, over };

  Connection(fabric::Fabric& fabric, const ConnectionLimits& limits, ConnectionEvents& events);
  ~Connection();

  /// Sends a connection request to `peer`. If this fails, no event is reported, and the caller must call quiesce().
  error_code connect(const fabric::Endpoint& peer, memory::Pool& pool);
  /// Allocates the memory for all packets. Call it before accept().
  error_code allocate(memory::Pool& pool);
  /// Accepts `request`, whose private data is `peer`. If this fails, no event is reported, and the caller must call
  /// quiesce().
  error_code accept(std::unique_ptr<fabric::ConnectionRequest> request, const PrivateData& peer);

  State state() const noexcept { return state_; }
  /// The subject of log lines about this connection; empty before connect() or accept().
  LogSubject subject() const noexcept { return info_.subject(); }
  /// The maximum size of a packet, in bytes. Valid once the connection is established.
  std::uint32_t mtu() const noexcept { return mtu_; }
  /// The private data of the peer's request, reply or rejection.
  const std::optional<PrivateData>& peer() const noexcept { return peer_; }
  /// Whether the connection has ever been established.
  bool made() const noexcept { return made_; }

  /// Whether send() may be called: the connection is established, no post has failed, a slot is free and, if credits
  /// are in use, the peer permits one more packet.
  bool has_room() const noexcept;
  /// Posts a packet of at most mtu() bytes. Requires has_room(). Takes the packet's buffer and leaves another one of
  /// the same size.
  void send(Packet& packet) noexcept;
  /// Posts again the Receives whose frames the owner has kept. These frames are then no longer valid.
  void return_frames() noexcept;
  /// Passes posted work to the wire.
  void submit() noexcept;
  /// Ends the connection, cleanly if it is established; on_over follows, unless the connection is over already.
  void disconnect() noexcept;
  /// Ends the connection at once. Does not call on_over. The state is `over` afterwards. May be called by the handler
  /// of an event of this connection.
  void quiesce() noexcept;

  /// Returns whether packets have been posted or received since the last call. The first call returns true.
  bool take_activity() noexcept { return std::exchange(active_, false); }
  /// Set and read by the owner: the number of consecutive runs of LinkState::sweep() that found no new packets.
  unsigned quiet_periods = 0;

 private:
  struct Receive;
  struct Send;
  struct CreditSend;

  error_code post_receives() noexcept;
  std::vector<std::byte> private_data() const;
  fabric::QueuePairOptions options() const;
  bool learn_peer(const PrivateData& peer) noexcept;
  void received(Receive& receive, const fabric::Completion& completion) noexcept;
  void return_receive(Receive& receive) noexcept;
  void received_credit(Octets frame) noexcept;
  void sent(Send& send, const fabric::Completion& completion) noexcept;
  void return_credits() noexcept;

  void on_established(const fabric::ConnectionInfo& info) noexcept override;
  void on_rejected(const fabric::ConnectionInfo& peer) noexcept override;
  void on_disconnected(error_code why) noexcept override;
  void on_batch_end() noexcept override;

  fabric::Fabric& fabric_;
  const ConnectionLimits limits_;
  ConnectionEvents& events_;
  // Set by connect() or accept(), and not updated when the connection is established. connect() sets only the number,
  // the fabric and the peer.
  fabric::ConnectionInfo info_;
  State state_ = State::setting_up;
  bool made_ = false;
  bool active_ = true;
  bool room_ = false;    // has_room() may have become true in this batch
  bool failed_ = false;  // posting failed, or the reply is unusable, so the connection ends
  bool posted_ = false;  // work waits for submit()
  std::uint32_t mtu_ = 0;
  std::uint32_t lost_ = 0;
  std::optional<PrivateData> peer_;

  std::unique_ptr<fabric::QueuePair> queue_pair_;
  std::vector<std::unique_ptr<Receive>> receives_;
  // The Receives whose frames the owner keeps. The vector has capacity for all Receives, so that it never grows.
  std::vector<Receive*> kept_;
  std::vector<std::unique_ptr<Send>> sends_;
  // The Sends that are not in use. The vector has capacity for all Sends, so that it never grows.
  std::vector<Send*> free_sends_;
  std::unique_ptr<CreditSend> credit_send_;

  // credits_in_use_ is true if the peer has announced credits by an Extension (private_data.hpp). Only then do credits
  // limit the packets that the two sides send. The following numbers are totals of packets since the connection was
  // made, modulo 2^32.
  bool credits_in_use_ = false;
  std::uint32_t packets_sent_ = 0;
  std::uint32_t packets_allowed_ = 0;  // the limit that the peer has set
  std::uint32_t packets_granted_ = 0;  // the limit for the peer that this side can announce next
  std::uint32_t grant_announced_ = 0;  // the limit for the peer that this side has announced
};

}  // namespace rpcrdma::ipoib
