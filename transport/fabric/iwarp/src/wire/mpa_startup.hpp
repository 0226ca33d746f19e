// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The MPA Request and Reply frames (RFC 5044 section 7.1.1) with the enhanced data of RFC 6581 section 9.
#include <optional>
#include <vector>

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::fabric::iwarp {

inline constexpr std::size_t kStartupHeaderSize = 20;
inline constexpr std::size_t kMaxPrivateData = 512;
inline constexpr std::size_t kEnhancedDataSize = 4;
/// The most bytes of private data that this side sends: some peers refuse more.
inline constexpr std::size_t kMaxOwnPrivateData = 256 - kEnhancedDataSize;
inline constexpr std::uint8_t kRevision1 = 1;
inline constexpr std::uint8_t kRevision2 = 2;
/// If IRD or ORD in a startup frame has this value, MPA does not negotiate this read depth. It is left to the ULPs.
inline constexpr std::uint16_t kDepthNotNegotiated = 0x3fff;

/// The 32-bit word in front of the private data (RFC 6581 section 9).
struct EnhancedData {
  bool peer_to_peer = false;   ///< flag A
  bool send_rtr = false;       ///< flag B: a zero-length Send may be the ready-to-receive indication
  bool write_rtr = false;      ///< flag C: a zero-length Write may be the indication
  bool read_rtr = false;       ///< flag D: a zero-length Read may be the indication
  std::uint16_t inbound = 0;   ///< IRD, 14 bits
  std::uint16_t outbound = 0;  ///< ORD, 14 bits
  friend bool operator==(const EnhancedData&, const EnhancedData&) = default;
};

struct StartupFrame {
  enum class Kind : std::uint8_t { request, reply };
  Kind kind = Kind::request;
  bool markers = false;  ///< flag M: the sender wants markers in the stream that it receives
  bool crc = false;
  bool rejected = false;
  std::uint8_t revision = kRevision2;
  std::optional<EnhancedData> enhanced;
  std::vector<std::byte> private_data;  ///< the private data of the ULP, which follows the enhanced data
  friend bool operator==(const StartupFrame&, const StartupFrame&) = default;
};

enum class StartupError : std::uint8_t { none, key, private_data_length, enhanced_data };

/// The bytes of `frame`.
std::vector<std::byte> encode(const StartupFrame& frame);

/// Decodes the header of a frame, which is its first 20 bytes. `expected` is the kind of frame that the key in the
/// header must name. Sets `private_length` to the number of bytes that follow the header, and `enhanced` to whether
/// these begin with the enhanced data.
StartupError decode_startup_header(Octets octets, StartupFrame::Kind expected, StartupFrame& frame,
                                   std::size_t& private_length, bool& enhanced) noexcept;
/// Decodes the bytes after the header. `enhanced`: from decode_startup_header().
StartupError decode_startup_data(Octets octets, bool enhanced, StartupFrame& frame);
/// Decodes a whole frame.
StartupError decode(Octets octets, StartupFrame::Kind expected, StartupFrame& frame);

}  // namespace rpcrdma::fabric::iwarp
