// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The DDP segment headers (RFC 5041 section 4) with the RDMAP control byte in them (RFC 5040 section 4.1).
#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::fabric::iwarp {

inline constexpr std::size_t kTaggedHeaderSize = 14;
inline constexpr std::size_t kUntaggedHeaderSize = 18;
inline constexpr std::uint8_t kDdpVersion = 1;
inline constexpr std::uint8_t kRdmapVersion = 1;

/// Queues of untagged messages (RFC 5040 section 4.1).
inline constexpr std::uint32_t kSendQueue = 0;
inline constexpr std::uint32_t kReadQueue = 1;
inline constexpr std::uint32_t kTerminateQueue = 2;
inline constexpr std::uint32_t kFirstMsn = 1;
/// [5041-4.3-b] message numbers wrap to 0.
constexpr std::uint32_t next_msn(std::uint32_t msn) noexcept { return msn + 1; }

enum class Opcode : std::uint8_t {
  write = 0,
  read_request = 1,
  read_response = 2,
  send = 3,
  send_invalidate = 4,
  send_solicited = 5,
  send_solicited_invalidate = 6,
  terminate = 7,
};

/// One segment's header, tagged or untagged.
struct DdpHeader {
  bool tagged = false;
  bool last = true;
  std::uint8_t ddp_version = kDdpVersion;
  std::uint8_t rdmap_version = kRdmapVersion;
  std::uint8_t opcode = 0;   ///< four bits; see Opcode
  std::uint32_t stag = 0;    ///< tagged: STag; untagged: the STag to invalidate, if the opcode has one
  std::uint64_t offset = 0;  ///< tagged: TO; untagged: MO, 32 bits
  std::uint32_t queue = 0;   ///< untagged: QN
  std::uint32_t msn = 0;     ///< untagged: MSN

  std::size_t size() const noexcept { return tagged ? kTaggedHeaderSize : kUntaggedHeaderSize; }
  friend bool operator==(const DdpHeader&, const DdpHeader&) = default;
};

/// Whether a segment with this first byte has the tagged header.
constexpr bool is_tagged(std::byte control) noexcept { return (control & std::byte{0x80}) != std::byte{0}; }

void encode(const DdpHeader& header, Writer& out) noexcept;
/// Makes `in` fail if the header is cut short.
DdpHeader decode_ddp(Reader& in) noexcept;

}  // namespace rpcrdma::fabric::iwarp
