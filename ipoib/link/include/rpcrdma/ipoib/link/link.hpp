// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A link of IP over reliable connections (RFC 4755) between a packet device and the neighbours that a fabric reaches.
//
// Operation. Packets are read from the device into registered memory, encapsulated in place, and sent over one
// connection to the neighbour that has their destination address. The first packet for a neighbour makes the
// connection. Received packets are written to the device from the memory into which the fabric has placed them.
//
// Addresses. The fabrics have no UD queue pairs. The port at which an interface listens replaces its UD queue pair
// number, its IP address on the fabric replaces its GID, and a neighbour table replaces ARP and neighbour discovery
// (docs/ipoib.md).
//
// Threads. Used on the fabric's thread only.
#include <chrono>
#include <memory>
#include <vector>

#include "rpcrdma/base/log.hpp"
#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/ipoib/link/ip_address.hpp"
#include "rpcrdma/ipoib/link/packet_device.hpp"
#include "rpcrdma/ipoib/link/statistics.hpp"

namespace rpcrdma::ipoib {

class LinkState;

/// The default of Linux's ib_ipoib in connected mode.
inline constexpr std::uint32_t kDefaultMtu = 65520;
/// The largest IP packet.
inline constexpr std::uint32_t kMaxMtu = 65535;
/// The smallest MTU that IPv4 permits.
inline constexpr std::uint32_t kMinMtu = 68;

struct LinkOptions {
  /// The largest packet of the device; the Receive MTU announced to peers is larger by the encapsulation header.
  std::uint32_t mtu = kDefaultMtu;
  /// Connections without packets for this time are closed; zero: never.
  std::chrono::milliseconds idle{300'000};
  /// Time limit for setting up a connection.
  std::chrono::milliseconds handshake_timeout{3000};
  /// The longest time for which the link stops reading the device because a peer has no room. After that time, the link
  /// drops the packets for this peer until the peer has room. While packets go to several peers, the limit applies to
  /// the sum of the stops that one peer causes. Each stop increases this sum by the time by which it exceeds 5 ms. The
  /// sum decreases by a tenth of the time between the stops. If less than an eighth of the limit is left, the link does
  /// not stop for the peer.
  std::chrono::milliseconds stall{200};
  /// Bounds of the time between two attempts to connect to a peer.
  std::chrono::milliseconds first_retry{50};
  std::chrono::milliseconds last_retry{2000};
  /// Whether consecutive TCP segments are passed to the device as one packet.
  bool join = true;
  /// If not empty: accept unknown peers, and learn their addresses within these ranges from the packets that they send.
  std::vector<IpPrefix> learn_within{};
};

class Link {
 public:
  /// `fabric` and `device` must outlive the link. Fails if there is no memory for a packet.
  static Result<std::unique_ptr<Link>> make(fabric::Fabric& fabric, PacketDevice& device, LinkOptions options, Log log);
  /// Ends all connections at once. Do not call it within a callback of the fabric or the device.
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Accepts connections at `local`, by which peers identify this interface: it must not be a wildcard address. Returns
  /// `local` with its actual port.
  Result<fabric::Endpoint> listen(const fabric::Endpoint& local);
  /// Adds a neighbour: packets to an address in `addresses` are sent to the link that listens at `peer`. If several
  /// prefixes contain an address, the longest prefix determines the neighbour.
  void add_neighbour(const IpPrefix& addresses, const fabric::Endpoint& peer);
  /// Begins to read the device. `failed` runs if the device fails permanently.
  void start(UniqueFunction<void(error_code why)> failed);
  /// Stops listening and reading, and closes all connections cleanly; then `done` runs, from the io_context.
  void close(UniqueFunction<void()> done);

  const Statistics& statistics() const noexcept;
  /// The number of connections that exist now, in any state.
  std::size_t connections() const noexcept;
  /// The size of the registered memory.
  std::size_t registered_bytes() const noexcept;

 private:
  explicit Link(std::unique_ptr<LinkState> state) noexcept;
  std::unique_ptr<LinkState> state_;
};

}  // namespace rpcrdma::ipoib
