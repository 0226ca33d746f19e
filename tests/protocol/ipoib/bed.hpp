// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Hosts for the tests of IPoIB links. A host is a link with a packet device that the test controls: the test supplies
// the packets that the link reads, and inspects the packets that the link writes.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "rpcrdma/ipoib/link/link.hpp"
#include "support/hex.hpp"
#include "support/run.hpp"

namespace rpcrdma::test {

/// Returns a UDP packet. `mark` identifies the packet; its other contents do not matter.
Bytes ip_packet(const std::string& from, const std::string& to, std::size_t size, std::uint8_t mark = 0);
/// Describes a packet as "SOURCE > DESTINATION SIZE MARK", an ICMP error as "SOURCE > DESTINATION ICMP TYPE/CODE MTU".
std::string describe(Octets packet);

/// A packet device that gives the test's packets to the link, and records the packets that the link writes.
class HandDevice final : public ipoib::PacketDevice {
 public:
  explicit HandDevice(boost::asio::io_context& context) : context_(context) {}
  void give(Bytes packet);
  /// Makes all later reads fail with `why`.
  void fail(error_code why);

  void wait(UniqueFunction<void()> ready) override;
  Result<std::size_t> read(MutableOctets out, MutableOctets rest, ipoib::Offload& offload) noexcept override;
  bool write(std::span<const Octets> packet, const ipoib::Offload& offload) noexcept override;

  std::deque<Bytes> unread;
  std::vector<std::string> written;
  ipoib::Offload next_offload;     ///< offload of the next packet that the link reads
  ipoib::Offload written_offload;  ///< offload of the last packet in `written`
  bool takes = true;               ///< the result of write()
  std::size_t waits = 0;           ///< how often wait() was called

 private:
  void wake();
  boost::asio::io_context& context_;
  UniqueFunction<void()> ready_;
  error_code failure_;
};

/// A link and its device.
struct Host {
  Host(fabric::Fabric& on, const std::string& address, ipoib::LinkOptions options = {},
       const fabric::Endpoint& local = {boost::asio::ip::address_v4::loopback(), 0});

  /// Adds `other` as a neighbour: packets to `other.ip` go to `other.endpoint`.
  void knows(const Host& other);
  void send(const Host& to, std::size_t size, std::uint8_t mark = 0) { device.give(ip_packet(ip, to.ip, size, mark)); }
  const ipoib::Statistics& counts() const { return link->statistics(); }

  fabric::Fabric& fabric;
  const std::string ip;
  HandDevice device;
  std::unique_ptr<ipoib::Link> link;
  fabric::Endpoint endpoint;
  error_code failed;
};

inline void acquaint(Host& one, Host& other) {
  one.knows(other);
  other.knows(one);
}

/// Waits until each host has received a packet from the other one, and until each connection request has been accepted
/// or refused. Returns the number of requests that a host refused because its own request to the other host was in
/// progress at the same time.
std::uint64_t refused_crossing(boost::asio::io_context& context, const Host& one, const Host& other);

}  // namespace rpcrdma::test
