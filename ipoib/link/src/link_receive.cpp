// SPDX-License-Identifier: BSD-3-Clause
// From the fabric to the device. A frame that does not belong on a connection is counted and dropped; the connection
// stays.
#include <algorithm>

#include "link_state.hpp"

namespace rpcrdma::ipoib {
namespace {

/// Addresses that are learnt: over all peers, and of all that share an address on the fabric.
constexpr std::ptrdiff_t kMaxLearnt = 1024, kMaxLearntOfOne = 16;

bool is_broadcast(const IpPrefix& network, const boost::asio::ip::address& address) noexcept {
  if (!network.address.is_v4() || !address.is_v4() || network.length > 30) return false;
  const std::uint32_t hosts = 0xffffffffu >> network.length;
  return (address.to_v4().to_uint() & hosts) == hosts;
}

}  // namespace

// [4755-7-a]
void LinkState::frame(Peer& peer, Octets frame) noexcept {
  const auto type = decode_header(frame);
  if (!type) {
    ++statistics_.bad_frames;
    return;
  }
  if (*type != FrameType::ipv4 && *type != FrameType::ipv6) {  // [4755-4-a] [4755-7-b] ARP among them
    ++statistics_.bad_types;
    return;
  }
  const Octets packet = frame.subspan(kHeaderSize);
  const auto ip = parse_ip(packet);
  if (!ip || ip->type != *type) {
    ++statistics_.bad_frames;
    return;
  }
  if (ip->multicast) {  // [4755-2.1-a]
    ++statistics_.bad_types;
    return;
  }
  if (owner_of(ip->source, peer) != &peer) {
    ++statistics_.bad_sources;
    return;
  }
  if (!device_.write(packet)) {
    ++statistics_.not_taken;
    return;
  }
  ++statistics_.received;
  statistics_.received_bytes += packet.size();
}

/// The peer that may send from `source`, which is learnt if nobody has it. A learnt address whose owner has no
/// connection goes to the sender: the owner has gone, or has come back under another link-layer address.
Peer* LinkState::owner_of(const IpBytes& source, Peer& sender) {
  Neighbours::Entry* const known = neighbours_.find(source);
  if (known != nullptr && (!known->learnt || known->peer == &sender || known->peer->connected())) return known->peer;
  const boost::asio::ip::address address = address_of(source);
  if (!may_learn(address, sender)) return nullptr;
  if (known != nullptr)
    known->peer = &sender;
  else
    neighbours_.add({address, static_cast<std::uint8_t>(address.is_v4() ? 32 : 128)}, sender, true);
  log_.info("ipoib: learnt that {} is at {}", address.to_string(), sender.text());
  return &sender;
}

bool LinkState::may_learn(const boost::asio::ip::address& address, const Peer& sender) const noexcept {
  const IpBytes bytes = ip_bytes(address);
  const auto allows = [&](const IpPrefix& network) {
    return network.contains(bytes) && !is_broadcast(network, address);
  };
  if (!std::ranges::any_of(options_.learn_within, allows)) return false;
  std::ptrdiff_t all = 0, of_one = 0;
  for (const Neighbours::Entry& entry : neighbours_.entries()) {
    all += entry.learnt ? 1 : 0;
    of_one += entry.learnt && entry.peer->address.gid == sender.address.gid ? 1 : 0;
  }
  return all < kMaxLearnt && of_one < kMaxLearntOfOne;
}

}  // namespace rpcrdma::ipoib
