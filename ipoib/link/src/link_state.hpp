// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <vector>

#include "ip_packet.hpp"
#include "joiner.hpp"
#include "neighbours.hpp"
#include "peer.hpp"
#include "rpcrdma/base/weak_guard.hpp"
#include "rpcrdma/ipoib/link/link.hpp"
#include "segmenter.hpp"

namespace rpcrdma::ipoib {

/// The implementation of Link, in three files: link_device.cpp (packets from the device to the fabric),
/// link_receive.cpp (packets from the fabric to the device) and link_connections.cpp (connections and their end).
class LinkState {
 public:
  LinkState(fabric::Fabric& fabric, PacketDevice& device, LinkOptions options, Log log);
  ~LinkState();

  error_code allocate();
  Result<fabric::Endpoint> listen(const fabric::Endpoint& local);
  void add_neighbour(const IpPrefix& addresses, const fabric::Endpoint& endpoint);
  void start(UniqueFunction<void(error_code)> failed);
  void close(UniqueFunction<void()> done);
  const Statistics& statistics() const noexcept { return statistics_; }
  std::size_t connections() const noexcept;
  std::size_t registered_bytes() const noexcept { return pool_.counters().registered_octets; }

  // A Peer calls these functions when one of its connections reports an event of ConnectionEvents.
  void established(Peer& peer, Connection& connection) noexcept;
  /// Called when a frame has arrived. Returns true if the link refers to the frame until pass_joined(). The connection
  /// must then keep the frame valid until that call.
  bool frame(Peer& peer, Connection& connection, Octets frame) noexcept;
  void pass_joined() noexcept;
  void room(Peer& peer) noexcept;
  void over(Peer& peer, Connection& connection, error_code why, std::uint32_t lost) noexcept;
  /// Called when the pause after a rejected connection request to `peer` is over. If another connection to `peer`
  /// exists, or is being set up or closed, only resets the number of rejections. Otherwise requests a connection again
  /// if packets for `peer` wait, and drops these packets if the request fails at once.
  void retry(Peer& peer);

  boost::asio::io_context& context() noexcept { return fabric_.context(); }
  const LinkOptions& options() const noexcept { return options_; }

 private:
  // Defined in link_device.cpp:
  void await_device();
  void read_batch();
  void submit_touched() noexcept;
  bool take(std::size_t size, const Offload& offload);
  bool route();
  bool send_to(Peer& peer);
  void wait_for_connection(Peer& peer);
  bool transmit(Connection& connection, Packet& packet);
  void send_waiting(Peer& peer, Connection& connection);
  void drop_waiting(Peer& peer) noexcept;
  void report(IcmpError error, std::uint32_t mtu, Octets packet) noexcept;
  std::chrono::steady_clock::duration tick() const noexcept;
  bool hold(Peer& peer);
  void resume();
  void await_stall();

  // Defined in link_receive.cpp:
  void pass(std::span<const Octets> packet, const Offload& offload, std::size_t count, std::size_t bytes) noexcept;
  Peer* owner_of(const IpBytes& source, Peer& sender);
  bool may_learn(const boost::asio::ip::address& address, const Peer& sender) const noexcept;

  // Defined in link_connections.cpp:
  ConnectionLimits limits() const noexcept;
  void requested(std::unique_ptr<fabric::ConnectionRequest> request) noexcept;
  void accept(Peer& peer, std::unique_ptr<fabric::ConnectionRequest> request, const PrivateData& data);
  void refuse(std::unique_ptr<fabric::ConnectionRequest> request, Refusal why, std::uint64_t& counter);
  Peer* find_peer(const LinkAddress& address) noexcept;
  Peer& peer_at(const LinkAddress& address, const fabric::Endpoint& endpoint);
  bool has_room_to_learn(const LinkAddress& address) const noexcept;
  Peer* learn_peer(const LinkAddress& address, const fabric::Endpoint& endpoint);
  void forget_peers() noexcept;
  bool connect(Peer& peer);
  void bury(std::unique_ptr<Connection>& connection) noexcept;
  void connect_failed(Peer& peer, const Connection& connection, error_code why);
  void await_retry(Peer& peer);
  void await_sweep();
  void sweep() noexcept;
  void close_if_idle(Connection* connection) noexcept;
  void finish_close();

  fabric::Fabric& fabric_;
  PacketDevice& device_;
  const LinkOptions options_;
  const Log log_;
  memory::Pool pool_;
  Statistics statistics_;

  std::vector<std::unique_ptr<Peer>> peers_;
  Neighbours neighbours_;
  std::unique_ptr<fabric::Listener> listener_;
  std::uint16_t port_ = 0;
  // The connections that bury() has taken over. They are destroyed later, because bury() may run within a callback of
  // the connection.
  std::vector<std::unique_ptr<Connection>> ended_;

  Packet packet_;  // the packet that is being read, or is held
  // A read from the device places the first bytes of a packet, up to the MTU, in packet_. It places the bytes beyond
  // the MTU in uncut_. If the packet must be cut, take() copies its first bytes to uncut_ too, so that the packet is
  // contiguous.
  std::vector<std::byte> uncut_;
  Segmenter segmenter_;                        // cuts the packet that is in uncut_
  Peer* held_for_ = nullptr;                   // the peer for which packet_ is held; while set, the device is not read
  Peer::Clock::duration::rep held_ticks_ = 0;  // remaining runs of stall_timer_; then *held_for_ counts as stalled
  // The peer to which the last packet of the device was routed. Only compared with other pointers, not dereferenced,
  // because that peer may have been destroyed.
  const Peer* last_ = nullptr;
  // Until this time, the link assumes that packets for several peers arrive from the device. Peer::patience then limits
  // how long hold() holds a packet. After this time, each hold may last LinkOptions::stall.
  Peer::Clock::time_point several_until_{};
  bool stall_timer_runs_ = false;
  std::vector<Connection*> touched_;  // connections to submit at the end of the batch; empty outside of a batch
  std::array<std::byte, kMaxIcmpError> icmp_{};
  Joiner joiner_;                      // joins received packets
  Connection* joined_from_ = nullptr;  // the connection that received the packets in joiner_; null if it is empty

  boost::asio::steady_timer stall_timer_;
  boost::asio::steady_timer sweep_timer_;
  UniqueFunction<void(error_code)> failed_;
  UniqueFunction<void()> closed_;
  bool running_ = false;
  bool closing_ = false;
  WeakGuard<LinkState> guard_{*this};
  // Guards the handler of stall_timer_. That handler waits in the memory of this guard, so it does not compete with the
  // handlers that wait in the memory of guard_.
  WeakGuard<LinkState> stall_guard_{*this};
};

}  // namespace rpcrdma::ipoib
