// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::capture {

/// The parts of the IP and TCP headers that are the same in all segments of one direction of a connection.
struct SegmentHeaders {
  std::array<std::byte, 44> bytes{};  ///< the IP header, with 0 for length and checksum, then the ports
  std::size_t ip = 0;                 ///< the size of the IP header; 0: not made yet
  std::uint64_t ip_sum = 0;           ///< sum of the words of an IPv4 header, without length and checksum
  std::uint64_t tcp_sum = 0;          ///< sum of the words of the pseudo-header, without the length, and of the ports
};

/// What the writer knows of a connection. The object is made when the connection has been established or refused, or
/// when it has failed. From then on, only `ended` and the members after it change.
struct Connection {
  std::uint64_t number = 0;  ///< as in logs and statistics: ConnectionInfo::number
  fabric::Endpoint local;
  fabric::Endpoint peer;
  bool connector = false;  ///< this side opened the connection
  bool refused = false;
  bool silent = false;                  ///< the connection was neither set up nor refused: `remark` has the error
  std::vector<std::byte> request_data;  ///< private data of the connector
  std::vector<std::byte> reply_data;    ///< private data of the acceptor
  std::string remark;                   ///< part of the SYN packet's comment in each file that shows the connection
  std::atomic<bool> ended{false};       ///< set by the producer after its last record
  // Members that only the writer uses:
  std::uint64_t shown_in = 0;             ///< number of the last file that shows the opening
  std::uint64_t run = 0;                  ///< Core::runs_ when a record of the connection was last written
  std::uint16_t window = 65535;           ///< the TCP window in the last frame
  std::array<SegmentHeaders, 2> headers;  ///< by direction
};

enum class RecordKind : std::uint32_t {
  skip,   ///< unused bytes at the end of the ring
  open,   ///< the connection has been opened, or could not be opened
  frame,  ///< followed by a ULPDU
  event,  ///< followed by a text
  close,  ///< followed by a text
};

/// The first eight bytes of a record in a ring.
struct RecordStart {
  std::uint32_t size;  ///< bytes of the whole record, a multiple of 8
  RecordKind kind;
};

/// One entry of a ring; `kept` bytes follow it.
struct Record {
  RecordStart start;
  std::int64_t when;        ///< nanoseconds since the epoch
  Connection* connection;   ///< exists until the writer has seen `ended` and all records before it
  std::uint32_t position;   ///< bytes of the sender's stream before this record
  std::uint32_t confirmed;  ///< bytes of the other side's stream before this record
  std::uint32_t whole;      ///< size of an RDMA Read or Write of which only the first bytes are recorded; else 0
  std::uint32_t kept;       ///< bytes of the ULPDU, or of the text, that follow this struct
  std::uint32_t lost;       ///< records of this connection dropped since its previous record
  std::uint32_t outbound;   ///< 1: this side is the sender

  Octets content() const noexcept { return {reinterpret_cast<const std::byte*>(this + 1), kept}; }
};

/// Bytes of the stream that the FPDU of a ULPDU takes: length, ULPDU, padding, CRC (RFC 5044 section 4.1).
constexpr std::uint32_t fpdu_size(std::uint32_t ulpdu) noexcept { return pad4(ulpdu + 2) + 4; }

}  // namespace rpcrdma::capture
