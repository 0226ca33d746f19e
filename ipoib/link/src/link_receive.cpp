// SPDX-License-Identifier: BSD-3-Clause
// Packets from the fabric to the device. A frame that is not permitted on a connection is counted and dropped; the
// connection stays.
#include <algorithm>

#include "link_state.hpp"

namespace rpcrdma::ipoib {
namespace {

/// The maximum number of IP addresses that the link learns from received packets: kMaxLearnt in total, and
/// kMaxLearntOfOne from the peers that have the same GID.
constexpr std::size_t kMaxLearnt = 1024, kMaxLearntOfOne = 16;

bool is_broadcast(const IpPrefix& network, const boost::asio::ip::address& address) noexcept {
  if (!network.address.is_v4() || !address.is_v4() || network.length > 30) return false;
  const std::uint32_t hosts = 0xffffffffu >> network.length;
  return (address.to_v4().to_uint() & hosts) == hosts;
}

}  // namespace

// [4755-7-a] The link accepts a frame with a unicast IP packet.
bool LinkState::frame(Peer& peer, Connection& connection, Octets frame) noexcept {
  const auto type = decode_header(frame);
  if (!type) {
    ++statistics_.bad_frames;
    return false;
  }
  if (*type != FrameType::ipv4 &&
      *type != FrameType::ipv6) {  // [4755-4-a] [4755-7-b] refuses all other types, also ARP
    ++statistics_.bad_types;
    return false;
  }
  const Octets packet = frame.subspan(kHeaderSize);
  const auto ip = parse_ip(packet);
  if (!ip || ip->type != *type) {
    ++statistics_.bad_frames;
    return false;
  }
  if (ip->multicast) {  // [4755-2.1-a] multicast requires UD
    ++statistics_.bad_types;
    return false;
  }
  if (owner_of(ip->source, peer) != &peer) {
    ++statistics_.bad_sources;
    return false;
  }
  const auto joinable = options_.join ? parse_joinable(packet) : std::nullopt;
  if (joined_from_ != &connection || !joinable || !joiner_.append(*joinable)) {
    pass_joined();
    if (!joinable || joinable->last) {
      pass({&packet, 1}, {}, 1, packet.size());
      return false;
    }
    joiner_.start(*joinable);
    joined_from_ = &connection;
  }
  return true;
}

/// Passes on the joined packets. Called at the end of a batch, before a packet that does not continue them, and before
/// their connection is destroyed.
void LinkState::pass_joined() noexcept {
  if (joiner_.empty()) return;
  if (joiner_.count() > 1) ++statistics_.joined;
  pass(joiner_.parts(), joiner_.offload(), joiner_.count(), joiner_.bytes());
  joiner_.clear();
  std::exchange(joined_from_, nullptr)->return_frames();
}

/// Writes one packet to the device, and counts it. `packet` has the parts of a received packet, or of a packet that was
/// joined from several received ones. `count` is the number of received packets, and `bytes` their total size.
void LinkState::pass(std::span<const Octets> packet, const Offload& offload, std::size_t count,
                     std::size_t bytes) noexcept {
  if (!device_.write(packet, offload)) {
    statistics_.not_taken += count;
    return;
  }
  statistics_.received += count;
  statistics_.received_bytes += bytes;
}

/// Returns the peer that may send packets from `source`, or null. If may_learn() permits, assigns `source` to the
/// sender in two cases: the address is unknown, or it was learnt for a peer that has no connection at present. In the
/// second case the host with this address may have a new link-layer address, and so appears as another peer.
Peer* LinkState::owner_of(const IpBytes& source, Peer& sender) {
  Neighbours::Entry* const known = neighbours_.find(source);
  if (known != nullptr && (!known->learnt || known->peer == &sender || known->peer->connected())) return known->peer;
  const boost::asio::ip::address address = address_of(source);
  if (!may_learn(address, sender)) return nullptr;
  neighbours_.learn(source, sender, sender.address.gid);
  log_.info("ipoib: learnt that {} is at {}", address.to_string(), sender.text());
  return &sender;
}

bool LinkState::may_learn(const boost::asio::ip::address& address, const Peer& sender) const noexcept {
  const IpBytes bytes = ip_bytes(address);
  const auto allows = [&](const IpPrefix& network) {
    return network.contains(bytes) && !is_broadcast(network, address);
  };
  if (!std::ranges::any_of(options_.learn_within, allows)) return false;
  return neighbours_.learnt() < kMaxLearnt && neighbours_.learnt_at(sender.address.gid) < kMaxLearntOfOne;
}

}  // namespace rpcrdma::ipoib
