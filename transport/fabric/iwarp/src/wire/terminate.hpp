// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The Terminate message (RFC 5040 section 4.8): an error, its layer, and the header that caused it.
#include <string>

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::fabric::iwarp {

/// Layer, error type and error code, as registered (RFC 5040 4.8, 5041 7.2, 5044 8, 6581 8, 6580).
struct TerminateCode {
  std::uint8_t layer = 0;
  std::uint8_t type = 0;
  std::uint8_t code = 0;
  friend bool operator==(const TerminateCode&, const TerminateCode&) = default;
};

namespace terminate {
inline constexpr std::uint8_t kRdmapLayer = 0;
inline constexpr std::uint8_t kDdpLayer = 1;
inline constexpr std::uint8_t kMpaLayer = 2;
inline constexpr std::uint8_t kRemoteProtection = 1;  ///< error type of RDMAP
inline constexpr std::uint8_t kRemoteOperation = 2;
inline constexpr std::uint8_t kTaggedBuffer = 1;    ///< error type of DDP
inline constexpr std::uint8_t kUntaggedBuffer = 2;  ///< error type of DDP

// [5041-7.2-a] the codes of RDMAP, DDP and MPA
inline constexpr TerminateCode kReadInvalidStag{0, 1, 0x00};
inline constexpr TerminateCode kReadBounds{0, 1, 0x01};
inline constexpr TerminateCode kReadAccess{0, 1, 0x02};
inline constexpr TerminateCode kReadForeignStag{0, 1, 0x03};
inline constexpr TerminateCode kReadWrap{0, 1, 0x04};
inline constexpr TerminateCode kForeignInvalidate{0, 1, 0x09};
inline constexpr TerminateCode kRdmapVersion{0, 2, 0x05};
inline constexpr TerminateCode kOpcode{0, 2, 0x06};
inline constexpr TerminateCode kInvalidate{0, 2, 0x09};
inline constexpr TerminateCode kUnspecifiedOperation{0, 2, 0xff};
inline constexpr TerminateCode kInvalidStag{1, 1, 0x00};
inline constexpr TerminateCode kBounds{1, 1, 0x01};
inline constexpr TerminateCode kForeignStag{1, 1, 0x02};
inline constexpr TerminateCode kWrap{1, 1, 0x03};
inline constexpr TerminateCode kTaggedVersion{1, 1, 0x04};
inline constexpr TerminateCode kQueue{1, 2, 0x01};
inline constexpr TerminateCode kNoBuffer{1, 2, 0x02};
inline constexpr TerminateCode kMsn{1, 2, 0x03};
inline constexpr TerminateCode kMessageOffset{1, 2, 0x04};
inline constexpr TerminateCode kTooLong{1, 2, 0x05};
inline constexpr TerminateCode kUntaggedVersion{1, 2, 0x06};
inline constexpr TerminateCode kCrc{2, 0, 0x02};
inline constexpr TerminateCode kMarkers{2, 0, 0x03};
// [6581-8-a] the MPA error codes for a failed negotiation of read depths or of the ready-to-receive indication
inline constexpr TerminateCode kReadDepth{2, 0, 0x06};
inline constexpr TerminateCode kReadyToReceive{2, 0, 0x07};
}  // namespace terminate

/// One Terminate. The headers are views of memory that belongs to the caller.
struct Terminate {
  static constexpr std::size_t kMaxSize = 4 + 2 + 18 + 28;

  TerminateCode code;
  bool has_length = false;           ///< the M bit
  std::uint16_t segment_length = 0;  ///< if the M bit is set: bytes of the ULPDU at fault
  Octets ddp_header;                 ///< if the D bit is set: 14 or 18 bytes
  Octets read_request;               ///< if the R bit is set: 28 bytes
};

void encode(const Terminate& message, Writer& out) noexcept;

/// Decodes a Terminate whose bits are in the order of RFC 5040, or in the order in which Linux siw sends them on
/// little-endian hosts. Linux siw swaps the two nibbles of the first byte, and has the header flags in the low bits of
/// the third byte. The function infers the order from the flags or, if no flag is set, from which order gives a known
/// error code. Returns false if `octets` has fewer than four bytes.
bool decode(Octets octets, Terminate& message) noexcept;

/// A text such as "DDP tagged buffer error: base or bounds violation (1/1/01)".
std::string describe(const TerminateCode& code);

}  // namespace rpcrdma::fabric::iwarp
