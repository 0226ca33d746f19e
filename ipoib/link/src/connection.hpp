// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// One reliable connection to a peer: its queue pair, receives, packets being sent, and credits.
//
// States:
//   state        awaits                        holds
//   setting_up   on_established                the receives, posted
//   established  packets, credits              also the Sends that are outstanding
//   closing      on_disconnected               the same; no further packet is sent
//   over         destruction by its owner      nothing at the provider
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
  /// A frame has arrived. It is valid during the call. If the owner keeps the frame and returns true, it is valid until
  /// return_frames().
  virtual bool on_frame(Connection& connection, Octets frame) noexcept = 0;
  /// All frames of a batch have been reported. The owner returns the frames that it has kept.
  virtual void on_batch_end(Connection& connection) noexcept = 0;
  /// has_room() may have become true.
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
  std::uint16_t depth = 0;  ///< the most packets outstanding in each direction
  std::chrono::milliseconds handshake_timeout{};
};

class Connection final : fabric::QueuePairEvents {
 public:
  enum class State : std::uint8_t { setting_up, established, closing, over };

  Connection(fabric::Fabric& fabric, const ConnectionLimits& limits, ConnectionEvents& events);
  ~Connection();

  /// Sends a request. On failure reports no event; call quiesce() then.
  error_code connect(const fabric::Endpoint& peer, memory::Pool& pool);
  /// Allocates the memory for all packets. Call it before accept().
  error_code allocate(memory::Pool& pool);
  /// Accepts `request`, whose private data is `peer`. On failure reports no event; call quiesce() then.
  error_code accept(std::unique_ptr<fabric::ConnectionRequest> request, const PrivateData& peer);

  State state() const noexcept { return state_; }
  /// The subject of log lines about this connection; empty before connect() or accept().
  LogSubject subject() const noexcept { return info_.subject(); }
  /// The size of the largest packet, once the connection is established.
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
  /// Returns the frames that the owner has kept: posts their Receives again.
  void return_frames() noexcept;
  /// Passes posted work to the wire.
  void submit() noexcept;
  /// Ends the connection, cleanly if it is established; on_over follows, unless the connection is over already.
  void disconnect() noexcept;
  /// Ends the connection at once, without on_over; the state is then `over`. May be called during events of the
  /// connection.
  void quiesce() noexcept;

  /// Whether packets have been sent or received since the last call.
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
  fabric::ConnectionInfo info_;  // as known before the connection is made
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
  std::vector<Receive*> kept_;  // capacity for all Receives
  std::vector<std::unique_ptr<Send>> sends_;
  std::vector<Send*> free_sends_;  // capacity for all Sends
  std::unique_ptr<CreditSend> credit_send_;

  // Credits limit packets only if the peer has announced them too, by an Extension (private_data.hpp). The numbers are
  // totals since the connection was made, modulo 2^32.
  bool credits_in_use_ = false;
  std::uint32_t packets_sent_ = 0;
  std::uint32_t packets_allowed_ = 0;  // the limit that the peer has set
  std::uint32_t packets_granted_ = 0;  // packets that the peer may send, announced or not
  std::uint32_t grant_announced_ = 0;  // the limit for the peer that this side has announced
};

}  // namespace rpcrdma::ipoib
