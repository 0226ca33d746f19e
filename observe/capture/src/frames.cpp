// SPDX-License-Identifier: BSD-3-Clause
#include "frames.hpp"

#include <isa-l/crc.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace rpcrdma::capture {
namespace {

using boost::asio::ip::address;

constexpr std::size_t kIpv4Header = 20;
constexpr std::size_t kIpv6Header = 40;
constexpr std::size_t kTcpHeader = 20;
constexpr std::size_t kTcpOptions = 4;  // bytes of the options of a SYN
constexpr std::uint8_t kTcpProtocol = 6;
constexpr std::uint8_t kHopLimit = 64;
constexpr std::uint8_t kWindowScale = 14;  // the greatest value, so that the window is never full
constexpr std::size_t kMpaLength = 2;
constexpr std::size_t kMaxPrivateData = 512;

/// The sum of the big-endian words, as in RFC 1071.
std::uint64_t add_words(std::uint64_t sum, Octets octets) noexcept {
  std::size_t i = 0;
  for (; i + 1 < octets.size(); i += 2)
    sum += static_cast<std::uint64_t>(octets[i]) << 8 | static_cast<std::uint64_t>(octets[i + 1]);
  if (i < octets.size()) sum += static_cast<std::uint64_t>(octets[i]) << 8;
  return sum;
}

std::uint16_t fold(std::uint64_t sum) noexcept {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

void put16(std::vector<std::byte>& bytes, std::size_t at, std::uint16_t value) noexcept {
  bytes[at] = static_cast<std::byte>(value >> 8);
  bytes[at + 1] = static_cast<std::byte>(value & 0xff);
}

template <class A>
void append(Writer& out, const A& bytes) noexcept {
  out.octets(std::as_bytes(std::span(bytes)));
}

bool is_v6(const Connection& connection) noexcept {
  return connection.local.address().is_v6() || connection.peer.address().is_v6();
}

std::array<unsigned char, 16> v6_bytes(const address& from) {
  if (from.is_v6()) return from.to_v6().to_bytes();
  return boost::asio::ip::make_address_v6(boost::asio::ip::v4_mapped, from.to_v4()).to_bytes();
}

/// Writes the IP header, and returns the sum of the pseudo-header of TCP.
std::uint64_t put_ip(Writer& out, const Connection& connection, bool outbound, std::uint32_t tcp_length) {
  const address& from = (outbound ? connection.local : connection.peer).address();
  const address& to = (outbound ? connection.peer : connection.local).address();
  std::size_t addresses = 0;
  if (is_v6(connection)) {
    out.u32(0x60000000);
    out.u16(static_cast<std::uint16_t>(tcp_length));
    out.u8(kTcpProtocol);
    out.u8(kHopLimit);
    addresses = out.size();
    append(out, v6_bytes(from));
    append(out, v6_bytes(to));
    return add_words(std::uint64_t{tcp_length} + kTcpProtocol, out.written().subspan(addresses));
  }
  out.u16(0x4500);
  out.u16(static_cast<std::uint16_t>(tcp_length + kIpv4Header));
  out.u16(0);
  out.u16(0x4000);  // do not fragment
  out.u8(kHopLimit);
  out.u8(kTcpProtocol);
  out.u16(0);  // the checksum
  addresses = out.size();
  append(out, from.to_v4().to_bytes());
  append(out, to.to_v4().to_bytes());
  return add_words(std::uint64_t{tcp_length} + kTcpProtocol, out.written().subspan(addresses));
}

void put_tcp(Writer& out, const Connection& connection, const TcpHeader& header) noexcept {
  const bool syn = (header.flags & kSyn) != 0;
  out.u16((header.outbound ? connection.local : connection.peer).port());
  out.u16((header.outbound ? connection.peer : connection.local).port());
  out.u32(header.sequence);
  out.u32((header.flags & kAck) != 0 ? header.acknowledged : 0);
  out.u8(static_cast<std::uint8_t>((kTcpHeader + (syn ? kTcpOptions : 0)) / 4 << 4));
  out.u8(header.flags);
  out.u16(header.window);
  out.u32(0);  // the checksum, no urgent pointer
  if (!syn) return;
  out.u8(1);  // no operation
  out.u8(3);  // window scale
  out.u8(3);
  out.u8(kWindowScale);
}

/// Makes the headers of a packet with `length` bytes of payload, which are appended afterwards. Returns the sum of the
/// pseudo-header.
std::uint64_t begin_segment(const Connection& connection, const TcpHeader& header, std::size_t length,
                            IpPacket& packet) {
  const std::size_t ip = is_v6(connection) ? kIpv6Header : kIpv4Header;
  const std::size_t tcp = kTcpHeader + ((header.flags & kSyn) != 0 ? kTcpOptions : 0);
  packet.resize(ip + tcp);
  Writer out(packet);
  const std::uint64_t sum = put_ip(out, connection, header.outbound, static_cast<std::uint32_t>(tcp + length));
  put_tcp(out, connection, header);
  if (ip == kIpv4Header) put16(packet, 10, fold(add_words(0, Octets(packet).first(ip))));
  return sum;
}

void end_segment(const Connection& connection, std::uint64_t sum, IpPacket& packet) noexcept {
  const std::size_t ip = is_v6(connection) ? kIpv6Header : kIpv4Header;
  put16(packet, ip + 16, fold(add_words(sum, Octets(packet).subspan(ip))));
}

}  // namespace

void make_segment(const Connection& connection, const TcpHeader& header, Octets payload, IpPacket& packet) {
  const std::uint64_t sum = begin_segment(connection, header, payload.size(), packet);
  packet.insert(packet.end(), payload.begin(), payload.end());
  end_segment(connection, sum, packet);
}

void make_fpdu(const Connection& connection, const TcpHeader& header, Octets ulpdu, IpPacket& packet) {
  const auto length = static_cast<std::uint32_t>(ulpdu.size());
  const std::uint64_t sum = begin_segment(connection, header, fpdu_size(length), packet);
  const std::size_t start = packet.size();
  packet.resize(start + kMpaLength);
  put16(packet, start, static_cast<std::uint16_t>(length));
  packet.insert(packet.end(), ulpdu.begin(), ulpdu.end());
  packet.resize(start + pad4(kMpaLength + length));
  auto* const data = reinterpret_cast<unsigned char*>(packet.data() + start);
  const std::uint32_t crc = ~crc32_iscsi(data, static_cast<int>(packet.size() - start), ~0u);
  // The least significant byte first (RFC 3385).
  for (unsigned shift = 0; shift < 32; shift += 8) packet.push_back(static_cast<std::byte>(crc >> shift & 0xff));
  end_segment(connection, sum, packet);
}

std::vector<std::byte> startup_frame(bool request, bool refused, Octets private_data) {
  constexpr std::uint8_t kCrc = 0x40;
  constexpr std::uint8_t kReject = 0x20;
  private_data = private_data.first(std::min(private_data.size(), kMaxPrivateData));
  const std::string_view key = request ? "MPA ID Req Frame" : "MPA ID Rep Frame";
  std::vector<std::byte> frame(key.size() + 4 + private_data.size());
  Writer out(frame);
  append(out, key);
  out.u8(refused ? kCrc | kReject : kCrc);
  out.u8(1);  // the revision
  out.u16(static_cast<std::uint16_t>(private_data.size()));
  out.octets(private_data);
  return frame;
}

}  // namespace rpcrdma::capture
