// SPDX-License-Identifier: BSD-3-Clause
// From the fabric to the device. A frame that does not belong on a connection is counted and dropped; the connection
// stays.
#include <algorithm>

#include "link_state.hpp"

namespace rpcrdma::ipoib {
namespace {

/// Addresses that are learnt, over all peers.
constexpr std::size_t kMaxLearnt = 1024;

bool is_mapped(const IpBytes& address) noexcept {
  const IpBytes any = ip_bytes(boost::asio::ip::address_v4());
  return std::equal(any.begin(), any.begin() + 12, address.begin());
}

boost::asio::ip::address address_of(const IpBytes& bytes) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  if (is_mapped(bytes)) return boost::asio::ip::address_v4({at(12), at(13), at(14), at(15)});
  boost::asio::ip::address_v6::bytes_type out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = at(i);
  return boost::asio::ip::address_v6(out);
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

/// The peer that may send from `source`, which is learnt if nobody has it.
Peer* LinkState::owner_of(const IpBytes& source, Peer& sender) {
  if (Peer* const known = neighbours_.find(source)) return known;
  const auto within = [&](const IpPrefix& prefix) { return prefix.contains(source); };
  if (learnt_ == kMaxLearnt || !std::ranges::any_of(options_.learn_within, within)) return nullptr;
  const boost::asio::ip::address address = address_of(source);
  neighbours_.add({address, static_cast<std::uint8_t>(address.is_v4() ? 32 : 128)}, sender);
  ++learnt_;
  log_.info("ipoib: learnt that {} is at {}", address.to_string(), sender.text());
  return &sender;
}

}  // namespace rpcrdma::ipoib
