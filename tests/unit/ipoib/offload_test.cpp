// SPDX-License-Identifier: BSD-3-Clause
// Offloads: checksums, segmentation, and joining of segments. The vectors were computed by a program that shares no
// code with the one under test.
#include <gtest/gtest.h>

#include <random>

#include "joiner.hpp"
#include "packet_bytes.hpp"
#include "segmenter.hpp"
#include "support/hex.hpp"
#include "transport_headers.hpp"

namespace rpcrdma::ipoib {
namespace {

using test::Bytes;
using test::ExactCopy;
using Cut = Offload::Cut;

constexpr std::size_t kMost = 2044;

std::vector<Bytes> cut(const Bytes& packet, const Offload& offload, std::size_t most = kMost) {
  const ExactCopy whole(packet);
  Segmenter segmenter;
  std::vector<Bytes> out;
  if (!segmenter.begin(whole.octets(), offload, most)) return out;
  while (!segmenter.done()) {
    Bytes segment(most);
    segment.resize(segmenter.next(segment));
    out.push_back(segment);
  }
  return out;
}

Offload tcp(std::uint16_t size, std::uint16_t start = 20) { return {Cut::tcp, size, true, start, 16}; }

/// Sets the checksums of a packet with a TCP header after the IP header.
void complete(Bytes& packet) {
  const bool six = byte_at(packet, 0) >> 4 == 6;
  const std::size_t start = six ? 40 : 20;
  if (!six) {
    put_word(packet, 10, 0);
    put_word(packet, 10, checksum_of(checksum_sum(Octets(packet).first(20))));
  }
  const auto addresses = six ? Octets(packet).subspan(8, 32) : Octets(packet).subspan(12, 8);
  put_word(packet, start + 16, checksum_folded(checksum_sum(addresses, packet.size() - start + 6)));
  EXPECT_TRUE(complete_checksum(packet, {Cut::none, 0, true, static_cast<std::uint16_t>(start), 16}));
}

/// Joins `packets` into one; returns an empty packet if that is not possible.
Bytes join(const std::vector<Bytes>& packets, Offload* offload = nullptr) {
  Joiner joiner;
  for (const Bytes& packet : packets) {
    const auto joinable = parse_joinable(packet);
    if (!joinable) return {};
    if (joiner.empty())
      joiner.start(*joinable);
    else if (!joiner.append(*joinable))
      return {};
  }
  Bytes out;
  for (const Octets part : joiner.parts()) out.insert(out.end(), part.begin(), part.end());
  if (offload != nullptr) *offload = joiner.offload();
  return out;
}

/// A TCP packet with options. Each byte of its payload differs from the byte before it.
Bytes packet_of(bool six, std::size_t payload, std::uint16_t fragment_bits = 0x4000, std::uint32_t sequence = 100) {
  Bytes out =
      test::from_hex(six ? "60012345 00000640 fd090000 00000000 00000000 00000001 fd090000 00000000 00000000 00000002"
                         : "45000000 fffe0000 40060000 0a090001 0a090002");
  const Bytes header = test::from_hex("1b589c40 00000000 01020304 80101234 00000000 0101080a 11223344 55667788");
  const std::size_t start = out.size();
  out.insert(out.end(), header.begin(), header.end());
  put_long(out, start + 4, sequence);
  for (std::size_t i = 0; i < payload; ++i) out.push_back(static_cast<std::byte>(i * 37 + i / 256));
  if (six) {
    put_word(out, 4, static_cast<std::uint32_t>(out.size() - 40));
  } else {
    put_word(out, 2, static_cast<std::uint32_t>(out.size()));
    put_word(out, 6, fragment_bits);
  }
  return out;
}

TEST(IpoibOffload, ChecksumOfEveryLengthAndPlace) {
  Bytes bytes;
  for (unsigned i = 0; i < 100; ++i) bytes.push_back(static_cast<std::byte>(i * i * 7 + 255 - i));
  for (std::size_t from = 0; from < 9; ++from)
    for (std::size_t size = 0; from + size <= bytes.size(); ++size) {
      std::uint64_t expected = 5;
      for (std::size_t i = 0; i < size; ++i)
        expected += std::uint64_t{byte_at(bytes, from + i)} << (i % 2 == 0 ? 8 : 0);
      const ExactCopy copy(Octets(bytes).subspan(from, size));
      ASSERT_EQ(checksum_folded(checksum_sum(copy.octets(), 5)), checksum_folded(expected)) << from << " " << size;
    }
}

TEST(IpoibOffload, CutTcp4) {
  const Bytes whole = test::from_hex(
      "45000049 ffff0000 4006669b 0a090001 0a090002 1b589c40 fffffff8 01020304 80991234 14500000 0101080a 11223344 "
      "55667788 0b30557a 9fc4e90e 33587da2 c7ec1136 5b80a5ca ef");
  const auto segments = cut(whole, tcp(8));
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_EQ(segments[0],
            test::from_hex("4500003c ffff0000 400666a8 0a090001 0a090002 1b589c40 fffffff8 01020304 80901234 "
                           "99820000 0101080a 11223344 55667788 0b30557a 9fc4e90e"));
  EXPECT_EQ(segments[1],
            test::from_hex("4500003c 00000000 400666a8 0a090001 0a090002 1b589c40 00000000 01020304 80101234 "
                           "f95b0000 0101080a 11223344 55667788 33587da2 c7ec1136"));
  EXPECT_EQ(segments[2],
            test::from_hex("45000039 00010000 400666aa 0a090001 0a090002 1b589c40 00000008 01020304 80191234 "
                           "931f0000 0101080a 11223344 55667788 5b80a5ca ef"));
}

TEST(IpoibOffload, CutTcp6BehindAnExtensionHeader) {
  const Bytes whole = test::from_hex(
      "60012345 003d0040 fd090000 00000000 00000000 00000001 fd090000 00000000 00000000 00000002 06000104 00000000 "
      "1b589c40 00000064 01020304 80181234 fa510000 0101080a 11223344 55667788 0b30557a 9fc4e90e 33587da2 c7ec1136 "
      "5b80a5ca ef");
  const auto segments = cut(whole, tcp(8, 48));
  ASSERT_EQ(segments.size(), 3u);
  const std::string addresses =
      "fd090000 00000000 00000000 00000001 fd090000 00000000 00000000 00000002 06000104 00000000 ";
  EXPECT_EQ(
      segments[0],
      test::from_hex("60012345 00300040 " + addresses +
                     "1b589c40 00000064 01020304 80101234 b3950000 0101080a 11223344 55667788 0b30557a 9fc4e90e"));
  EXPECT_EQ(
      segments[1],
      test::from_hex("60012345 00300040 " + addresses +
                     "1b589c40 0000006c 01020304 80101234 12ee0000 0101080a 11223344 55667788 33587da2 c7ec1136"));
  EXPECT_EQ(segments[2],
            test::from_hex("60012345 002d0040 " + addresses +
                           "1b589c40 00000074 01020304 80181234 acb20000 0101080a 11223344 55667788 5b80a5ca ef"));
}

TEST(IpoibOffload, CutUdp) {
  const Bytes whole = test::from_hex(
      "45000031 00054000 401126a3 0a090001 0a090002 1b589c40 001d1443 0b30557a 9fc4e90e 33587da2 c7ec1136 5b80a5ca ef");
  const auto segments = cut(whole, {Cut::udp, 8, true, 20, 6});
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_EQ(segments[0],
            test::from_hex("45000024 00054000 401126b0 0a090001 0a090002 1b589c40 00104aa3 0b30557a 9fc4e90e"));
  EXPECT_EQ(segments[1],
            test::from_hex("45000024 00064000 401126af 0a090001 0a090002 1b589c40 0010aa03 33587da2 c7ec1136"));
  EXPECT_EQ(segments[2], test::from_hex("45000021 00074000 401126b1 0a090001 0a090002 1b589c40 000d43db 5b80a5ca ef"));
}

// A packet is refused if its headers are incomplete or invalid, or do not match its offload.
TEST(IpoibOffload, CutRefuses) {
  for (const bool six : {false, true}) {
    const Bytes whole = packet_of(six, 100);
    const auto start = static_cast<std::uint16_t>(six ? 40 : 20);
    const Offload good = tcp(30, start);
    EXPECT_EQ(cut(whole, good).size(), 4u);
    EXPECT_EQ(cut(whole, good, start + 32u + 30u).size(), 4u);
    EXPECT_TRUE(cut(whole, good, start + 32u + 29u).empty()) << "a segment above the MTU";
    for (std::size_t size = 0; size < start + 32u; ++size)
      EXPECT_TRUE(cut(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)), good).empty()) << size;
    EXPECT_EQ(cut(Bytes(whole.begin(), whole.begin() + start + 32), good).size(), 1u) << "no payload";
    for (const Offload& bad : {tcp(0, start), tcp(30, 0), tcp(30, 0xffff), Offload{Cut::tcp, 30, false, start, 16},
                               Offload{Cut::tcp, 30, true, start, 6}, Offload{Cut::udp, 30, true, start, 6},
                               tcp(30, static_cast<std::uint16_t>(start - 4)), tcp(30, six ? 20 : 24)})
      EXPECT_TRUE(cut(whole, bad).empty()) << bad.checksum_start;
    Bytes other = whole;
    for (const unsigned data_offset : {0x00u, 0x40u}) {
      other[start + 12u] = static_cast<std::byte>(data_offset);
      EXPECT_TRUE(cut(other, good).empty()) << data_offset;
    }
    other = packet_of(six, 4);
    other[start + 12u] = std::byte{0xf0};
    EXPECT_TRUE(cut(other, good).empty()) << "options beyond the end";
    other = whole;
    other[0] = std::byte{0x55};
    EXPECT_TRUE(cut(other, good).empty()) << "a version that does not exist";
  }
  for (const std::uint16_t fragment : {std::uint16_t{0x2000}, std::uint16_t{1}})
    EXPECT_TRUE(cut(packet_of(false, 100, fragment), tcp(30)).empty());
  EXPECT_TRUE(cut(packet_of(false, 65536 - 52), tcp(1000)).empty()) << "longer than an IPv4 packet can be";
  EXPECT_EQ(cut(packet_of(false, 65535 - 52), tcp(1000)).size(), 66u);
  EXPECT_TRUE(cut(packet_of(true, 65536 - 32), tcp(1000, 40)).empty()) << "longer than an IPv6 packet can be";
}

TEST(IpoibOffload, ChecksumLiesWithin) {
  Bytes packet(30, std::byte{1});
  EXPECT_TRUE(complete_checksum(packet, {Cut::none, 0, true, 20, 8}));
  for (const auto& [start, offset] : {std::pair{20, 9}, {29, 0}, {31, 0}, {0xffff, 0xffff}, {0, 29}}) {
    const Offload bad{Cut::none, 0, true, static_cast<std::uint16_t>(start), static_cast<std::uint16_t>(offset)};
    EXPECT_FALSE(complete_checksum(packet, bad)) << start << " " << offset;
  }
}

// Joining the segments of a packet restores the packet; segmenting the packet again gives the same segments.
TEST(IpoibOffload, CutAndJoinIsIdentity) {
  std::mt19937 random(1);
  for (int round = 0; round < 150; ++round) {
    const bool six = random() % 2 != 0;
    const auto size = static_cast<std::uint16_t>(1 + random() % 1900);
    const std::size_t most = std::min<std::size_t>(std::size_t{size} * Joiner::kMaxSegments, 65535 - 72);
    Bytes packet = packet_of(six, size + 1 + random() % (most - size), random() % 2 != 0 ? 0x4000 : 0,
                             static_cast<std::uint32_t>(random()));
    const auto start = static_cast<std::uint16_t>(six ? 40 : 20);
    if (random() % 2 != 0) packet[start + kTcpFlags] |= kTcpPsh;
    complete(packet);
    const auto addresses = six ? Octets(packet).subspan(8, 32) : Octets(packet).subspan(12, 8);
    put_word(packet, start + 16u, checksum_folded(checksum_sum(addresses, packet.size() - start + 6)));
    const auto segments = cut(packet, tcp(size, start));
    ASSERT_EQ(segments.size(), (packet.size() - start - 32 + size - 1) / size);
    Offload offload;
    ASSERT_EQ(join(segments, &offload), packet) << round;
    EXPECT_EQ(offload.cut, Cut::tcp);
    EXPECT_EQ(offload.cut_size, size);
    EXPECT_TRUE(offload.checksum);
    EXPECT_EQ(offload.checksum_start, start);
    EXPECT_EQ(offload.checksum_offset, 16);
    ASSERT_EQ(cut(packet, offload), segments);
  }
}

/// Two segments that can be joined.
std::pair<Bytes, Bytes> neighbours(bool six, std::uint16_t fragment_bits) {
  Bytes whole = packet_of(six, 60, fragment_bits);
  complete(whole);
  const auto segments = cut(whole, tcp(30, six ? 40 : 20));
  return {segments[0], segments[1]};
}

// Changes the bits of a segment's headers outside of the checksums, one at a time, and corrects the checksums. If the
// bit is PSH, or belongs to the identification of a packet with DF, the segment is still joined to the one before it.
// After the change of any other bit, it is not joined.
TEST(IpoibOffload, JoinComparesHeaders) {
  for (const auto& [six, fragment_bits] : {std::pair{false, 0x4000}, {false, 0}, {true, 0}}) {
    const auto [first, second] = neighbours(six, static_cast<std::uint16_t>(fragment_bits));
    const std::size_t start = six ? 40 : 20;
    Bytes once = first;
    complete(once);
    Bytes again = second;
    complete(again);
    ASSERT_FALSE(join({once, again}).empty());
    for (std::size_t bit = 0; bit < (start + 32) * 8; ++bit) {
      const std::size_t at = bit / 8;
      const bool checksum = (!six && (at == 10 || at == 11)) || at == start + 16 || at == start + 17;
      if (checksum) continue;
      Bytes changed = again;
      changed[at] ^= static_cast<std::byte>(1u << bit % 8);
      complete(changed);
      const bool identification = !six && fragment_bits != 0 && (at == 4 || at == 5);
      const bool push = at == start + kTcpFlags && bit % 8 == 3;
      EXPECT_EQ(!join({once, changed}).empty(), identification || push) << six << " byte " << at << " bit " << bit % 8;
    }
  }
}

TEST(IpoibOffload, JoinChecksChecksums) {
  for (const bool six : {false, true}) {
    auto [first, second] = neighbours(six, 0x4000);
    complete(first);
    complete(second);
    for (std::size_t at = 0; at < first.size(); ++at) {
      for (const bool of_first : {true, false}) {
        Bytes one = first, other = second;
        (of_first ? one : other)[at] ^= std::byte{0x40};
        EXPECT_TRUE(join({one, other}).empty()) << at;
      }
    }
  }
}

TEST(IpoibOffload, JoinablePrefixes) {
  for (const bool six : {false, true}) {
    const Bytes whole = packet_of(six, 10);
    EXPECT_TRUE(parse_joinable(whole));
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_FALSE(parse_joinable(ExactCopy(Octets(whole).first(size)).octets())) << size;
    Bytes longer = whole;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(parse_joinable(longer)) << "bytes after the packet";
    EXPECT_FALSE(parse_joinable(packet_of(six, 0))) << "no payload";
    Bytes options = whole;
    options[six ? 52 : 32] = std::byte{0xf0};
    EXPECT_FALSE(parse_joinable(options)) << "options beyond the end";
  }
}

// A segment that has PSH, or is shorter than the segments before it, can only be the last one of a joined packet. A
// segment that is longer than the segments before it is not joined to them. A joined packet has at most 64 segments and
// at most 65,535 bytes.
TEST(IpoibOffload, JoinLimits) {
  const auto segment = [](std::size_t payload, std::uint32_t sequence, bool push = false) {
    Bytes out = packet_of(true, payload, 0, sequence);
    if (push) out[40 + kTcpFlags] |= kTcpPsh;
    complete(out);
    return out;
  };
  EXPECT_FALSE(join({segment(30, 100), segment(29, 130)}).empty());
  EXPECT_TRUE(join({segment(30, 100), segment(31, 130)}).empty());
  EXPECT_TRUE(join({segment(30, 100), segment(29, 130), segment(29, 159)}).empty());
  EXPECT_FALSE(join({segment(30, 100), segment(30, 130, true)}).empty());
  EXPECT_TRUE(join({segment(30, 100), segment(30, 130, true), segment(30, 160)}).empty());
  EXPECT_TRUE(join({segment(30, 100, true), segment(30, 130)}).empty());
  std::vector<Bytes> many;
  for (std::uint32_t i = 0; i < 64; ++i) many.push_back(segment(30, 100 + 30 * i));
  EXPECT_FALSE(join(many).empty());
  many.push_back(segment(30, 100 + 30 * 64));
  EXPECT_TRUE(join(many).empty());
  EXPECT_FALSE(join({segment(32000, 0), segment(32000, 32000)}).empty());
  EXPECT_TRUE(join({segment(32000, 0), segment(32000, 32000), segment(1464, 64000)}).empty());
  EXPECT_FALSE(join({segment(32000, 0), segment(32000, 32000), segment(1463, 64000)}).empty());
}

}  // namespace
}  // namespace rpcrdma::ipoib
