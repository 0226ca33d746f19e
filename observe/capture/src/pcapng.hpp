// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The blocks of a pcapng file (draft-ietf-opsawg-pcapng) with one interface of raw IP packets. Does no I/O.
#include <cstdint>
#include <string_view>
#include <vector>

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::capture::pcapng {

using Bytes = std::vector<std::byte>;

/// Appends the Section Header Block and the Interface Description Block, with which a file begins.
void begin_file(Bytes& out, std::string_view application, std::string_view comment);

/// One packet.
struct Packet {
  std::int64_t when = 0;  ///< nanoseconds since the epoch
  bool outbound = false;  ///< this side is the sender
  std::size_t size = 0;
  std::string_view comment{};  ///< empty: none
};
/// Appends an Enhanced Packet Block. Returns the bytes of the block that the caller must fill with the packet. These
/// bytes are valid until `out` changes.
MutableOctets add_packet(Bytes& out, const Packet& packet);

/// Totals for the Interface Statistics Block.
struct Statistics {
  std::int64_t began = 0;      ///< nanoseconds since the epoch
  std::int64_t now = 0;        ///< nanoseconds since the epoch
  std::uint64_t received = 0;  ///< packets, dropped ones included
  std::uint64_t dropped = 0;   ///< packets
};
/// Appends an Interface Statistics Block.
void add_statistics(Bytes& out, const Statistics& statistics);

}  // namespace rpcrdma::capture::pcapng
