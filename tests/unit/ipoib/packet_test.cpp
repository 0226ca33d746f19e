// SPDX-License-Identifier: BSD-3-Clause
// The parser of IP packets, the ICMP errors that a link sends, and the neighbour table.
#include <gtest/gtest.h>

#include "ip_packet.hpp"
#include "neighbours.hpp"
#include "support/hex.hpp"

namespace rpcrdma::ipoib {
namespace {

using boost::asio::ip::make_address;
using test::Bytes;
using test::ExactCopy;

/// A UDP packet of `size` bytes from 10.0.0.1 to 10.0.0.2.
Bytes packet4(std::size_t size) {
  Bytes out = test::from_hex("45000000 00004000 40110000 0a000001 0a000002");
  out.resize(size);
  out[2] = static_cast<std::byte>(size >> 8);
  out[3] = static_cast<std::byte>(size & 0xff);
  return out;
}

/// A UDP packet of `size` bytes from fd00::1 to fd00::2.
Bytes packet6(std::size_t size) {
  Bytes out =
      test::from_hex("60000000 00001140 fd000000 00000000 00000000 00000001 fd000000 00000000 00000000 00000002");
  out.resize(size);
  return out;
}

/// The Internet checksum; 0 if `octets` include a correct checksum.
std::uint16_t checksum(Octets octets, std::uint32_t start = 0) {
  std::uint32_t sum = start;
  for (std::size_t i = 0; i < octets.size(); ++i) sum += static_cast<std::uint32_t>(octets[i]) << (i % 2 == 0 ? 8 : 0);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

Bytes icmp_error(IcmpError error, std::uint32_t mtu, const Bytes& packet) {
  Bytes out(kMaxIcmpError);
  out.resize(make_icmp_error(error, mtu, ExactCopy(packet).octets(), out));
  return out;
}

TEST(IpoibPacket, Parse) {
  const auto four = parse_ip(packet4(28));
  ASSERT_TRUE(four);
  EXPECT_EQ(four->type, FrameType::ipv4);
  EXPECT_EQ(four->source, ip_bytes(make_address("10.0.0.1")));
  EXPECT_EQ(four->destination, ip_bytes(make_address("10.0.0.2")));
  EXPECT_FALSE(four->multicast);
  const auto six = parse_ip(packet6(48));
  ASSERT_TRUE(six);
  EXPECT_EQ(six->type, FrameType::ipv6);
  EXPECT_EQ(six->source, ip_bytes(make_address("fd00::1")));
  EXPECT_EQ(six->destination, ip_bytes(make_address("fd00::2")));
  for (const Bytes& whole : {packet4(20), packet6(40)}) {
    EXPECT_TRUE(parse_ip(whole));
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_FALSE(parse_ip(ExactCopy(Octets(whole).first(size)).octets())) << size;
  }
  for (unsigned version = 0; version < 16; ++version) {
    Bytes other = packet6(40);
    other[0] = static_cast<std::byte>(version << 4);
    EXPECT_EQ(parse_ip(other).has_value(), version == 4 || version == 6) << version;
  }
}

// [4755-2.1-a] [4755-7-b] parse_ip() reports a packet as multicast if its destination is an IPv4 multicast address, the
// IPv4 broadcast address, or an IPv6 multicast address.
TEST(IpoibPacket, Multicast) {
  Bytes group = packet4(20);
  group[16] = std::byte{0xe0};
  EXPECT_TRUE(parse_ip(group)->multicast);
  for (int i = 16; i < 20; ++i) group[static_cast<std::size_t>(i)] = std::byte{0xff};
  EXPECT_TRUE(parse_ip(group)->multicast);
  Bytes six = packet6(40);
  six[24] = std::byte{0xff};
  EXPECT_TRUE(parse_ip(six)->multicast);
}

// [4755-7.2-a]
TEST(IpoibIcmp, TooBig4) {
  const Bytes packet = packet4(3000);
  const Bytes out = icmp_error(IcmpError::too_big, 2044, packet);
  ASSERT_EQ(out.size(), 576u);
  EXPECT_EQ(Octets(out).subspan(12, 4)[3], std::byte{2}) << "from the neighbour";
  EXPECT_EQ(Octets(out).subspan(16, 4)[3], std::byte{1}) << "to the sender";
  EXPECT_EQ(checksum(Octets(out).first(20)), 0);
  EXPECT_EQ(checksum(Octets(out).subspan(20)), 0);
  EXPECT_EQ(Bytes(out.begin() + 20, out.begin() + 22), test::from_hex("0304"));
  EXPECT_EQ(Bytes(out.begin() + 24, out.begin() + 28), test::from_hex("000007fc"));
  EXPECT_TRUE(std::equal(out.begin() + 28, out.end(), packet.begin()));
}

// [4755-7.2-a]
TEST(IpoibIcmp, TooBig6) {
  const Bytes packet = packet6(3000);
  const Bytes out = icmp_error(IcmpError::too_big, 2044, packet);
  ASSERT_EQ(out.size(), 1280u);
  EXPECT_EQ(Bytes(out.begin() + 40, out.begin() + 42), test::from_hex("0200"));
  EXPECT_EQ(Bytes(out.begin() + 44, out.begin() + 48), test::from_hex("000007fc"));
  std::uint32_t pseudo = 58 + 1240;
  for (std::size_t i = 8; i < 40; i += 2)
    pseudo += static_cast<std::uint32_t>(out[i]) << 8 | static_cast<std::uint32_t>(out[i + 1]);
  EXPECT_EQ(checksum(Octets(out).subspan(40), pseudo), 0);
}

TEST(IpoibIcmp, Unreachable) {
  Bytes out = icmp_error(IcmpError::unreachable, 0, packet4(20));
  EXPECT_EQ(Bytes(out.begin() + 20, out.begin() + 22), test::from_hex("0301"));
  out = icmp_error(IcmpError::unreachable, 0, packet6(40));
  EXPECT_EQ(Bytes(out.begin() + 40, out.begin() + 42), test::from_hex("0103"));
}

// An ICMP error, a fragment other than the first, multicast, and a short or malformed packet cause no ICMP error. An
// ICMP query causes one.
TEST(IpoibIcmp, WhereNoneMayBeSent) {
  Bytes fragment = packet4(100);
  fragment[7] = std::byte{1};
  EXPECT_TRUE(icmp_error(IcmpError::too_big, 50, fragment).empty());
  Bytes icmp = packet4(100);
  icmp[9] = std::byte{1};
  icmp[20] = std::byte{3};
  EXPECT_TRUE(icmp_error(IcmpError::too_big, 50, icmp).empty());
  icmp[20] = std::byte{8};
  EXPECT_FALSE(icmp_error(IcmpError::too_big, 50, icmp).empty());
  icmp.resize(20);
  EXPECT_TRUE(icmp_error(IcmpError::too_big, 50, icmp).empty());
  icmp[0] = std::byte{0x4f};  // the header claims a length of 60 bytes
  EXPECT_TRUE(icmp_error(IcmpError::too_big, 50, icmp).empty());
  Bytes six = packet6(41);
  six[6] = std::byte{58};
  six[40] = std::byte{2};
  EXPECT_TRUE(icmp_error(IcmpError::too_big, 50, six).empty());
  six[40] = std::byte{128};
  EXPECT_FALSE(icmp_error(IcmpError::too_big, 50, six).empty());
  six.resize(40);
  EXPECT_TRUE(icmp_error(IcmpError::too_big, 50, six).empty());
  six[24] = std::byte{0xff};
  EXPECT_TRUE(icmp_error(IcmpError::unreachable, 0, six).empty());
  EXPECT_TRUE(icmp_error(IcmpError::unreachable, 0, {}).empty());
}

TEST(IpoibNeighbours, LongestPrefix) {
  std::byte memory[3];
  Peer& all = reinterpret_cast<Peer&>(memory[0]);
  Peer& net = reinterpret_cast<Peer&>(memory[1]);
  Peer& host = reinterpret_cast<Peer&>(memory[2]);
  Neighbours table;
  table.add({make_address("0.0.0.0"), 0}, all);
  table.add({make_address("10.1.2.3"), 32}, host);
  table.add({make_address("10.1.0.0"), 12}, net);
  table.add({make_address("fd00::"), 9}, net);
  table.add({make_address("::"), 0}, host);
  const auto find = [&](const char* text) { return table.find(ip_bytes(make_address(text)))->peer; };
  EXPECT_EQ(find("10.1.2.3"), &host);
  EXPECT_EQ(find("10.1.2.4"), &net);
  EXPECT_EQ(find("10.15.255.255"), &net);
  EXPECT_EQ(find("10.16.0.0"), &all);
  EXPECT_EQ(find("fd7f::1"), &net);
  EXPECT_EQ(find("fd80::1"), &host);
  EXPECT_EQ(find("::1"), &host);
  Neighbours six;
  six.add({make_address("::"), 0}, net);
  EXPECT_EQ(six.find(ip_bytes(make_address("10.1.2.3"))), nullptr) << "the table has IPv6 prefixes only";
  table.add({make_address("10.1.2.3"), 32}, all);
  EXPECT_EQ(find("10.1.2.3"), &all);
  EXPECT_EQ(table.size(), 5u);
}

// The table counts the addresses that it has learnt at each host. An address stops counting for its host if it moves to
// another host, if an address added by add() replaces it, or if forget() removes it.
TEST(IpoibNeighbours, Learnt) {
  std::byte memory[2];
  Peer& one = reinterpret_cast<Peer&>(memory[0]);
  Peer& other = reinterpret_cast<Peer&>(memory[1]);
  const IpBytes here = ip_bytes(make_address("192.0.2.1")), there = ip_bytes(make_address("192.0.2.2"));
  const auto address = [](unsigned number) { return ip_bytes(boost::asio::ip::address_v4(0x0a090000 + number)); };
  Neighbours table;
  const auto counts = [&] { return std::array{table.learnt(), table.learnt_at(here), table.learnt_at(there)}; };
  table.add({make_address("10.9.0.0"), 24}, one);
  for (unsigned i = 0; i < 5; ++i) table.learn(address(i), one, here);
  EXPECT_EQ(counts(), (std::array<std::size_t, 3>{5, 5, 0}));
  table.learn(address(0), one, here);
  table.learn(address(1), other, there);
  EXPECT_EQ(counts(), (std::array<std::size_t, 3>{5, 4, 1}));
  EXPECT_EQ(table.find(address(1))->peer, &other);
  table.add({address_of(address(2)), 32}, other);
  EXPECT_EQ(counts(), (std::array<std::size_t, 3>{4, 3, 1}));
  table.forget(one);
  EXPECT_EQ(counts(), (std::array<std::size_t, 3>{1, 0, 1}));
  EXPECT_EQ(table.find(address(3))->peer, &one) << "the range is not learnt";
  table.forget(other);
  EXPECT_EQ(counts(), (std::array<std::size_t, 3>{}));
  EXPECT_EQ(table.find(address(2))->peer, &other);
}

TEST(IpoibNeighbours, Prefix) {
  const IpPrefix prefix{make_address("10.9.0.7"), 20};
  EXPECT_TRUE(prefix.contains(ip_bytes(make_address("10.9.15.255"))));
  EXPECT_FALSE(prefix.contains(ip_bytes(make_address("10.9.16.0"))));
  EXPECT_FALSE(prefix.contains(ip_bytes(make_address("fd00::1"))));
  EXPECT_FALSE((IpPrefix{make_address("::"), 0}.contains(ip_bytes(make_address("10.9.0.1")))));
  EXPECT_TRUE((IpPrefix{make_address("::"), 0}.contains(ip_bytes(make_address("fd00::1")))));
  EXPECT_TRUE((IpPrefix{make_address("fd00::1"), 128}.contains(ip_bytes(make_address("fd00::1")))));
}

}  // namespace
}  // namespace rpcrdma::ipoib
