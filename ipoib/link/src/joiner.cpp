// SPDX-License-Identifier: BSD-3-Clause
#include "joiner.hpp"

#include <algorithm>

#include "packet_bytes.hpp"
#include "transport_headers.hpp"

namespace rpcrdma::ipoib {
namespace {

constexpr std::size_t kMaxJoined = 0xffff;

bool same(Octets one, Octets other, std::size_t from, std::size_t to) noexcept {
  return std::ranges::equal(one.subspan(from, to - from), other.subspan(from, to - from));
}

/// The sum of the pseudo header of a TCP packet (RFC 9293 section 3.1, RFC 8200 section 8.1).
std::uint64_t pseudo_header(Octets packet, bool six, std::size_t length) noexcept {
  return checksum_sum(six ? packet.subspan(8, 32) : packet.subspan(12, 8), length + kTcp);
}

bool checksums_are_right(const Joinable& one) noexcept {
  if (!one.six && checksum_of(checksum_sum(one.packet.first(one.transport))) != 0) return false;
  const Octets segment = one.packet.subspan(one.transport);
  return checksum_of(checksum_sum(segment, pseudo_header(one.packet, one.six, segment.size()))) == 0;
}

/// Whether the IP headers differ only in length, checksum and IPv4 identification. `next` comes `index` packets after
/// `first`. Without the flag Don't Fragment, the identification must increase by one with each packet. With the flag,
/// the identification has no meaning (RFC 6864 section 4.1), and may have any value.
bool same_ip(const Joinable& first, const Joinable& next, std::size_t index) noexcept {
  const Octets a = first.packet, b = next.packet;
  if (first.six) return same(a, b, 0, 4) && same(a, b, 6, kIpv6Header);
  const bool atomic = (word_at(a, 6) & kIpv4DontFragment) != 0;
  return same(a, b, 0, 2) && same(a, b, 6, 10) && same(a, b, 12, kIpv4Header) &&
         (atomic || word_at(b, 4) == static_cast<std::uint16_t>(word_at(a, 4) + index));
}

/// Whether the TCP headers differ only in sequence number, checksum and PSH.
bool same_tcp(Octets a, Octets b, std::size_t size) noexcept {
  return same(a, b, 0, 4) && same(a, b, 8, 13) && same(a, b, 14, 16) && same(a, b, 18, size);
}

}  // namespace

std::optional<Joinable> parse_joinable(Octets packet) noexcept {
  if (packet.empty() || packet.size() > kMaxJoined) return std::nullopt;
  const unsigned version = byte_at(packet, 0) >> 4;
  Joinable out{.packet = packet, .six = version == 6, .transport = version == 6 ? kIpv6Header : kIpv4Header};
  if (packet.size() < out.transport + kTcpHeader) return std::nullopt;
  if (out.six) {
    if (byte_at(packet, 6) != kTcp || word_at(packet, 4) != packet.size() - kIpv6Header) return std::nullopt;
  } else if (version != 4 || ipv4_header_size(packet) != kIpv4Header || word_at(packet, 2) != packet.size() ||
             (word_at(packet, 6) & ~kIpv4DontFragment) != 0 || byte_at(packet, 9) != kTcp) {
    return std::nullopt;
  }
  const Octets segment = packet.subspan(out.transport);
  const std::size_t header = tcp_header_size(segment);
  const bool reserved = (byte_at(segment, 12) & 0x0f) != 0;
  if (header < kTcpHeader || header >= segment.size() || reserved) return std::nullopt;
  if ((segment[kTcpFlags] & ~kTcpPsh) != kTcpAck) return std::nullopt;
  out.headers = out.transport + header;
  out.last = (segment[kTcpFlags] & kTcpPsh) != std::byte{0};
  return out;
}

void Joiner::start(const Joinable& first) noexcept {
  first_ = first;
  count_ = 1;
  size_ = first.packet.size();
  cut_size_ = size_ - first.headers;
  parts_[1] = first.packet.subspan(first.headers);
  full_ = first.last;
}

bool Joiner::continues(const Joinable& next) const noexcept {
  if (next.six != first_.six || next.headers != first_.headers || !same_ip(first_, next, count_)) return false;
  const Octets a = first_.packet.subspan(first_.transport), b = next.packet.subspan(next.transport);
  if (!same_tcp(a, b, first_.headers - first_.transport)) return false;
  const auto expected = static_cast<std::uint32_t>(long_at(a, kTcpSequence) + (size_ - first_.headers));
  const std::size_t payload = next.packet.size() - next.headers;
  return long_at(b, kTcpSequence) == expected && payload <= cut_size_ && size_ + payload <= kMaxJoined;
}

bool Joiner::append(const Joinable& next) noexcept {
  if (empty() || full_ || !continues(next)) return false;
  if ((count_ == 1 && !checksums_are_right(first_)) || !checksums_are_right(next)) return false;
  const Octets payload = next.packet.subspan(next.headers);
  parts_[++count_] = payload;
  size_ += payload.size();
  if (next.last) first_.last = true;
  full_ = next.last || payload.size() < cut_size_ || count_ == kMaxSegments;
  return true;
}

std::span<const Octets> Joiner::parts() noexcept {
  if (count_ == 1) {
    parts_[0] = first_.packet;
    return {parts_.data(), 1};
  }
  const MutableOctets headers = MutableOctets(headers_).first(first_.headers);
  std::ranges::copy(first_.packet.first(first_.headers), headers.begin());
  const std::size_t length = size_ - first_.transport;
  if (first_.six) {
    put_word(headers, 4, static_cast<std::uint32_t>(length));
  } else {
    put_word(headers, 2, static_cast<std::uint32_t>(size_));
    put_word(headers, 10, 0);
    put_word(headers, 10, checksum_of(checksum_sum(headers.first(kIpv4Header))));
  }
  const MutableOctets tcp = headers.subspan(first_.transport);
  if (first_.last) tcp[kTcpFlags] |= kTcpPsh;
  put_word(tcp, kTcpChecksum, checksum_folded(pseudo_header(headers, first_.six, length)));
  parts_[0] = headers;
  return {parts_.data(), count_ + 1};
}

Offload Joiner::offload() const noexcept {
  if (count_ == 1) return {};
  return {.cut = Offload::Cut::tcp,
          .cut_size = static_cast<std::uint16_t>(cut_size_),
          .checksum = true,
          .checksum_start = static_cast<std::uint16_t>(first_.transport),
          .checksum_offset = static_cast<std::uint16_t>(kTcpChecksum)};
}

}  // namespace rpcrdma::ipoib
