// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// IP packets that carry TCP segments of MPA (RFC 5044): the form in which a connection of any fabric is shown.
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

using IpPacket = std::vector<std::byte>;

/// Makes `packet` a TCP segment of `connection` with `payload`.
void make_segment(const Connection& connection, const TcpHeader& header, Octets payload, IpPacket& packet);

/// Makes `packet` a TCP segment with one FPDU.
void make_fpdu(const Connection& connection, const TcpHeader& header, Octets ulpdu, IpPacket& packet);

/// An MPA Request or Reply frame of revision 1 (RFC 5044 section 7.1.1) that agrees on CRCs.
std::vector<std::byte> startup_frame(bool request, bool refused, Octets private_data);

}  // namespace rpcrdma::capture
