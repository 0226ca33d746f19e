// SPDX-License-Identifier: BSD-3-Clause
#include "ip_packet.hpp"

#include <algorithm>
#include <cstring>

#include "packet_bytes.hpp"

namespace rpcrdma::ipoib {
namespace {

constexpr std::size_t kHeader4 = 20, kHeader6 = 40, kIcmpHeader = 8;
constexpr std::size_t kMaxIcmpError4 = 576;
constexpr std::uint8_t kIcmp4 = 1, kIcmp6 = 58, kHopLimit = 64;
constexpr std::uint16_t kFragmentOffset = 0x1fff;

IpBytes mapped(Octets address) noexcept {
  IpBytes out{};
  out[10] = out[11] = std::byte{0xff};
  std::memcpy(out.data() + 12, address.data(), 4);
  return out;
}

/// Whether an ICMP error may be sent about this IPv4 packet. It may not if the packet is itself an ICMP error, or is a
/// fragment other than the first. An ICMP message that is not a known query counts as an error.
bool icmp4_allowed(Octets packet) noexcept {
  if ((word_at(packet, 6) & kFragmentOffset) != 0) return false;
  const std::size_t header = std::size_t{byte_at(packet, 0) & 0xfu} * 4;
  if (byte_at(packet, 9) != kIcmp4) return true;
  if (packet.size() <= header) return false;
  const std::uint8_t type = byte_at(packet, header);
  return type == 0 || type == 8 || (type >= 13 && type <= 18);  // ICMP queries
}

bool icmp6_allowed(Octets packet) noexcept {
  return byte_at(packet, 6) != kIcmp6 || (packet.size() > kHeader6 && (byte_at(packet, kHeader6) & 0x80) != 0);
}

std::size_t make_icmp4(IcmpError error, std::uint32_t mtu, Octets packet, MutableOctets out) noexcept {
  const std::size_t quoted = std::min(packet.size(), kMaxIcmpError4 - kHeader4 - kIcmpHeader);
  const std::size_t total = kHeader4 + kIcmpHeader + quoted;
  Writer writer(out.first(total));
  writer.u16(0x4500);
  writer.u16(static_cast<std::uint16_t>(total));
  writer.u32(0);  // identification, flags
  writer.u8(kHopLimit);
  writer.u8(kIcmp4);
  writer.u16(0);
  writer.octets(packet.subspan(16, 4));
  writer.octets(packet.subspan(12, 4));
  writer.u8(3);                                    // type: destination unreachable
  writer.u8(error == IcmpError::too_big ? 4 : 1);  // code: fragmentation needed (RFC 1191), or host unreachable
  writer.u32(0);
  writer.u16(error == IcmpError::too_big ? static_cast<std::uint16_t>(std::min(mtu, 0xffffu)) : 0);
  writer.octets(packet.first(quoted));
  put_word(out, 10, checksum_of(checksum_sum(out.first(kHeader4))));
  put_word(out, kHeader4 + 2, checksum_of(checksum_sum(out.subspan(kHeader4, total - kHeader4))));
  return total;
}

std::size_t make_icmp6(IcmpError error, std::uint32_t mtu, Octets packet, MutableOctets out) noexcept {
  const std::size_t quoted = std::min(packet.size(), kMaxIcmpError - kHeader6 - kIcmpHeader);
  const std::size_t length = kIcmpHeader + quoted;
  Writer writer(out.first(kHeader6 + length));
  writer.u32(0x60000000);
  writer.u16(static_cast<std::uint16_t>(length));
  writer.u8(kIcmp6);
  writer.u8(kHopLimit);
  writer.octets(packet.subspan(24, 16));
  writer.octets(packet.subspan(8, 16));
  writer.u8(error == IcmpError::too_big ? 2 : 1);  // type: packet too big, or destination unreachable
  writer.u8(error == IcmpError::too_big ? 0 : 3);  // code: 0 for packet too big, otherwise address unreachable
  writer.u16(0);
  writer.u32(error == IcmpError::too_big ? mtu : 0);
  writer.octets(packet.first(quoted));
  const Octets addresses = out.subspan(8, 32);
  put_word(out, kHeader6 + 2,
           checksum_of(checksum_sum(out.subspan(kHeader6, length), checksum_sum(addresses) + length + kIcmp6)));
  return kHeader6 + length;
}

}  // namespace

std::optional<IpPacket> parse_ip(Octets packet) noexcept {
  if (packet.empty()) return std::nullopt;
  IpPacket out;
  if (byte_at(packet, 0) >> 4 == 4 && packet.size() >= kHeader4) {
    out.source = mapped(packet.subspan(12, 4));
    out.destination = mapped(packet.subspan(16, 4));
    out.multicast = byte_at(packet, 16) >> 4 == 0xe || word_at(packet, 16) == 0xffff;
    return out;
  }
  if (byte_at(packet, 0) >> 4 == 6 && packet.size() >= kHeader6) {
    out.type = FrameType::ipv6;
    std::ranges::copy(packet.subspan(8, 16), out.source.begin());
    std::ranges::copy(packet.subspan(24, 16), out.destination.begin());
    out.multicast = byte_at(packet, 24) == 0xff;
    return out;
  }
  return std::nullopt;
}

std::size_t make_icmp_error(IcmpError error, std::uint32_t mtu, Octets packet, MutableOctets out) noexcept {
  const auto parsed = parse_ip(packet);
  if (!parsed || parsed->multicast || out.size() < kMaxIcmpError) return 0;
  if (parsed->type == FrameType::ipv4) return icmp4_allowed(packet) ? make_icmp4(error, mtu, packet, out) : 0;
  return icmp6_allowed(packet) ? make_icmp6(error, mtu, packet, out) : 0;
}

}  // namespace rpcrdma::ipoib
