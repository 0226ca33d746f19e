// SPDX-License-Identifier: BSD-3-Clause
#include "frames.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
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
// The largest shift count that RFC 7323 section 2.3 permits. With it the window in the made-up TCP headers is almost
// 1 GiB, so that a reader of the capture does not see a full window.
constexpr std::uint8_t kWindowScale = 14;
constexpr std::size_t kMaxPrivateData = 512;

std::uint16_t fold(std::uint64_t sum) noexcept {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

std::uint16_t checksum(std::uint64_t sum) noexcept { return static_cast<std::uint16_t>(~fold(sum)); }

/// The one's complement sum of the big-endian 16-bit words of `octets`. For speed, this function adds several words at
/// once in the byte order of the machine. If that is little-endian, the two bytes of the sum are then swapped, and the
/// function swaps them back (RFC 1071 section 2).
std::uint64_t sum_of(Octets octets) noexcept {
  std::uint64_t native = 0;
  std::size_t i = 0;
  const auto add = [&](std::size_t count) {
    std::uint64_t words = 0;
    std::memcpy(&words, octets.data() + i, count);
    native += (words & 0xffffffff) + (words >> 32);
  };
  for (; i + sizeof native <= octets.size(); i += sizeof native) add(sizeof native);
  if (i != octets.size()) add(octets.size() - i);
  const std::uint16_t folded = fold(native);
  return std::endian::native == std::endian::little ? __builtin_bswap16(folded) : folded;
}

std::uint64_t sum_of(std::uint32_t value) noexcept { return (value >> 16) + (value & 0xffff); }

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

/// Makes the bytes and partial checksums that are the same in the IP and TCP headers of each segment of one direction.
SegmentHeaders common_headers(const Connection& connection, bool outbound) {
  const fabric::Endpoint& from = outbound ? connection.local : connection.peer;
  const fabric::Endpoint& to = outbound ? connection.peer : connection.local;
  SegmentHeaders made;
  Writer out(made.bytes);
  if (is_v6(connection)) {
    out.u32(0x60000000);
    out.u16(0);  // the length
    out.u8(kTcpProtocol);
    out.u8(kHopLimit);
    append(out, v6_bytes(from.address()));
    append(out, v6_bytes(to.address()));
    made.ip = kIpv6Header;
    made.tcp_sum = sum_of(out.written().subspan(8));
  } else {
    out.u16(0x4500);
    out.u32(0);       // no total length yet, no identification
    out.u16(0x4000);  // do not fragment
    out.u8(kHopLimit);
    out.u8(kTcpProtocol);
    out.u16(0);  // the checksum
    append(out, from.address().to_v4().to_bytes());
    append(out, to.address().to_v4().to_bytes());
    made.ip = kIpv4Header;
    made.ip_sum = sum_of(out.written());
    made.tcp_sum = sum_of(out.written().subspan(12));
  }
  out.u16(from.port());
  out.u16(to.port());
  made.tcp_sum += std::uint64_t{kTcpProtocol} + from.port() + to.port();
  return made;
}

void put16(std::byte* at, std::size_t value) noexcept {
  at[0] = static_cast<std::byte>(value >> 8);
  at[1] = static_cast<std::byte>(value & 0xff);
}

/// Writes the headers of a segment, whose payload fills the rest of `packet` and has the sum `payload_sum`. Returns a
/// Writer for the payload.
Writer put_headers(Connection& connection, const TcpHeader& header, std::uint64_t payload_sum, MutableOctets packet) {
  SegmentHeaders& common = connection.headers[header.outbound ? 1 : 0];
  if (common.ip == 0) common = common_headers(connection, header.outbound);
  const bool syn = (header.flags & kSyn) != 0;
  const std::size_t words = (kTcpHeader + (syn ? kTcpOptions : 0)) / 4;
  const auto tcp_length = static_cast<std::uint32_t>(packet.size() - common.ip);
  const std::uint32_t acknowledged = (header.flags & kAck) != 0 ? header.acknowledged : 0;
  const auto flags = static_cast<std::uint16_t>(words << 12 | header.flags);
  std::memcpy(packet.data(), common.bytes.data(), common.ip + 4);  // the IP header and the ports
  if (common.ip == kIpv4Header) {
    put16(packet.data() + 2, packet.size());
    put16(packet.data() + 10, checksum(common.ip_sum + packet.size()));
  } else {
    put16(packet.data() + 4, tcp_length);
  }
  constexpr std::uint32_t kScaling = 0x01030300 | kWindowScale;  // the TCP options No-Operation and Window Scale
  const std::uint64_t sum = common.tcp_sum + sum_of(tcp_length) + sum_of(header.sequence) + sum_of(acknowledged) +
                            flags + header.window + (syn ? sum_of(kScaling) : 0) + payload_sum;
  Writer out(packet.subspan(common.ip + 4));
  out.u32(header.sequence);
  out.u32(acknowledged);
  out.u16(flags);
  out.u16(header.window);
  out.u16(checksum(sum));
  out.u16(0);
  if (syn) out.u32(kScaling);
  return out;
}

}  // namespace

std::size_t segment_size(const Connection& connection, const TcpHeader& header, std::size_t payload) noexcept {
  return (is_v6(connection) ? kIpv6Header : kIpv4Header) + kTcpHeader + ((header.flags & kSyn) != 0 ? kTcpOptions : 0) +
         payload;
}

void put_segment(Connection& connection, const TcpHeader& header, Octets payload, MutableOctets packet) {
  put_headers(connection, header, sum_of(payload), packet).octets(payload);
}

void put_fpdu(Connection& connection, const TcpHeader& header, Octets ulpdu, MutableOctets packet) {
  const auto length = static_cast<std::uint16_t>(ulpdu.size());
  Writer out = put_headers(connection, header, length + sum_of(ulpdu), packet);
  out.u16(length);
  out.octets(ulpdu);
  out.zeros(out.remaining());  // padding and CRC
}

std::vector<std::byte> startup_frame(bool request, bool refused, Octets private_data) {
  constexpr std::uint8_t kReject = 0x20;
  private_data = private_data.first(std::min(private_data.size(), kMaxPrivateData));
  const std::string_view key = request ? "MPA ID Req Frame" : "MPA ID Rep Frame";
  std::vector<std::byte> frame(key.size() + 4 + private_data.size());
  Writer out(frame);
  append(out, key);
  out.u8(refused ? kReject : 0);
  out.u8(1);  // the revision
  out.u16(static_cast<std::uint16_t>(private_data.size()));
  out.octets(private_data);
  return frame;
}

}  // namespace rpcrdma::capture
