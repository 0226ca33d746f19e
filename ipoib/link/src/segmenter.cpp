// SPDX-License-Identifier: BSD-3-Clause
// The stack states the offset of the transport header and the initial sum of its checksum, so extension headers need
// not be parsed. The Segmenter refuses a packet whose IP header contradicts this offset, because a process can send
// such a packet through a raw socket. Extension headers of IPv6 are not compared with the offset.
#include "segmenter.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "packet_bytes.hpp"
#include "transport_headers.hpp"

namespace rpcrdma::ipoib {
namespace {

/// Whether a transport header of this protocol can begin at `start`.
bool leads_to(Octets packet, std::size_t start, std::uint8_t protocol) noexcept {
  if (packet.empty()) return false;
  if (byte_at(packet, 0) >> 4 == 4)
    return start >= kIpv4Header && start <= packet.size() && packet.size() <= 0xffff &&
           start == ipv4_header_size(packet) && byte_at(packet, 9) == protocol &&
           (word_at(packet, 6) & kIpv4FragmentBits) == 0;
  return byte_at(packet, 0) >> 4 == 6 && start >= kIpv6Header && start <= packet.size() &&
         packet.size() - kIpv6Header <= 0xffff && (start != kIpv6Header || byte_at(packet, 6) == protocol);
}

/// Sets the lengths and, for IPv4, the identification and checksum in the IP header of segment `index`.
void put_ip_lengths(MutableOctets segment, std::uint32_t index) noexcept {
  if (byte_at(segment, 0) >> 4 == 6)
    return put_word(segment, 4, static_cast<std::uint32_t>(segment.size() - kIpv6Header));
  put_word(segment, 2, static_cast<std::uint32_t>(segment.size()));
  put_word(segment, 4, word_at(segment, 4) + index);
  put_word(segment, 10, 0);
  put_word(segment, 10, checksum_of(checksum_sum(segment.first(ipv4_header_size(segment)))));
}

}  // namespace

bool complete_checksum(MutableOctets packet, const Offload& offload) noexcept {
  const std::size_t start = offload.checksum_start, field = start + offload.checksum_offset;
  if (field + 2 > packet.size()) return false;
  const std::uint16_t checksum = checksum_of(checksum_sum(packet.subspan(start)));
  put_word(packet, field, checksum == 0 ? 0xffff : checksum);  // in UDP, zero means that there is no checksum (RFC 768)
  return true;
}

/// Returns the size of the headers in bytes, or 0 if the packet does not have the headers that `offload` names.
std::size_t Segmenter::headers_of(Octets packet, const Offload& offload) const noexcept {
  const std::size_t start = offload.checksum_start;
  const bool tcp = offload.cut == Offload::Cut::tcp;
  const std::size_t least = tcp ? kTcpHeader : kUdpHeader;
  if (!offload.checksum || offload.checksum_offset != (tcp ? kTcpChecksum : kUdpChecksum) ||
      !leads_to(packet, start, tcp ? kTcp : kUdp) || packet.size() - start < least)
    return 0;
  if (!tcp) return start + kUdpHeader;
  const std::size_t size = tcp_header_size(packet.subspan(start));
  return size >= kTcpHeader && size <= packet.size() - start ? start + size : 0;
}

bool Segmenter::begin(Octets packet, const Offload& offload, std::size_t most) noexcept {
  left_ = 0;
  headers_ = headers_of(packet, offload);
  if (headers_ == 0 || offload.cut_size == 0) return false;
  const std::size_t payload = packet.size() - headers_;
  if (headers_ + std::min<std::size_t>(payload, offload.cut_size) > most) return false;
  packet_ = packet;
  offload_ = offload;
  index_ = 0;
  left_ = std::max<std::size_t>((payload + offload.cut_size - 1) / offload.cut_size, 1);
  return true;
}

std::size_t Segmenter::drop() noexcept { return std::exchange(left_, 0); }

std::size_t Segmenter::next(MutableOctets out) noexcept {
  const std::size_t offset = std::size_t{index_} * offload_.cut_size;
  const Octets payload = packet_.subspan(headers_ + offset);
  const std::size_t size = headers_ + std::min<std::size_t>(payload.size(), offload_.cut_size);
  const MutableOctets segment = out.first(size);
  std::memcpy(segment.data(), packet_.data(), headers_);
  if (size != headers_) std::memcpy(segment.data() + headers_, payload.data(), size - headers_);
  put_ip_lengths(segment, index_);
  const MutableOctets transport = segment.subspan(offload_.checksum_start);
  --left_;
  if (offload_.cut == Offload::Cut::tcp) {
    put_long(transport, kTcpSequence, static_cast<std::uint32_t>(long_at(transport, kTcpSequence) + offset));
    if (left_ != 0) transport[kTcpFlags] &= ~(kTcpFin | kTcpPsh);
    if (index_ != 0) transport[kTcpFlags] &= ~kTcpCwr;
  } else {
    put_word(transport, kUdpLength, static_cast<std::uint32_t>(transport.size()));
  }
  // The IP stack has left the sum of the pseudo header in the checksum field. The sum includes the length of the
  // transport header and payload of the whole packet. Subtracts this length, and adds that of the segment.
  const std::size_t whole = packet_.size() - offload_.checksum_start;
  const std::size_t field = offload_.checksum_offset;
  put_word(transport, field,
           checksum_folded(std::uint64_t{word_at(transport, field)} + (~whole & 0xffff) + transport.size()));
  complete_checksum(segment, offload_);
  ++index_;
  return size;
}

}  // namespace rpcrdma::ipoib
