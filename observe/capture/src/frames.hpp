// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// IP packets that carry TCP segments of MPA (RFC 5044): the form in which the capture file shows connections of every
// fabric.
#include <cstdint>
#include <vector>

#include "record.hpp"

namespace rpcrdma::capture {

/// The flags of a TCP header.
enum TcpFlag : std::uint8_t { kFin = 1, kSyn = 2, kReset = 4, kPush = 8, kAck = 16 };

/// The header of one TCP segment.
struct TcpHeader {
  bool outbound = false;      ///< this side is the sender
  std::uint8_t flags = kAck;  ///< a combination of TcpFlag
  std::uint32_t sequence = 0;
  std::uint32_t acknowledged = 0;
  std::uint16_t window = 65535;
};

/// The size of an IP packet that carries a segment with `payload` bytes of payload.
std::size_t segment_size(const Connection& connection, const TcpHeader& header, std::size_t payload) noexcept;

/// Fills `packet` with an IP packet that carries a TCP segment with `payload`. The size of `packet` must be
/// segment_size().
void put_segment(Connection& connection, const TcpHeader& header, Octets payload, MutableOctets packet);

/// As put_segment(), but the payload is the FPDU that carries `ulpdu`. The CRC field of the FPDU is 0, because the
/// frames of startup_frame() do not ask for CRCs.
void put_fpdu(Connection& connection, const TcpHeader& header, Octets ulpdu, MutableOctets packet);

/// An MPA Request or Reply frame of revision 1 (RFC 5044 section 7.1.1).
std::vector<std::byte> startup_frame(bool request, bool refused, Octets private_data);

}  // namespace rpcrdma::capture
