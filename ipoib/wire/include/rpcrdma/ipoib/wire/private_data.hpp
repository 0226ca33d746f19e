// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The private data of connection set-up (RFC 4755 section 6), and the MTU that results from it. Does no I/O; may be
// used on any thread.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::ipoib {

/// The size that RFC 4755 requires. More bytes may follow: the padding of a provider, or an Extension.
inline constexpr std::size_t kPrivateDataSize = 8;
/// The size with the extension.
inline constexpr std::size_t kExtendedPrivateDataSize = 12;

/// The largest message that RC transfers; larger Receive MTUs count as this size.
inline constexpr std::uint32_t kMaxReceiveMtu = 1u << 31;

/// Why the sender of a message rejects the connection request of the requester.
enum class Refusal : std::uint8_t {
  none = 0,     ///< the message is not a rejection
  crossing,     ///< the sender's own request takes precedence (RFC 4755 section 3.3)
  unknown,      ///< the requester is no neighbour of the sender
  receive_mtu,  ///< the requester's Receive MTU has no room for a packet
  busy,         ///< the sender lacks memory, or is accepting another request of the requester
  malformed,    ///< the private data of the request cannot be used
  last = malformed,
};

/// An extension of this project: four bytes that follow the eight bytes of RFC 4755, where other implementations have
/// padding. They contain the byte 0xce, the reason of a rejection in one byte, and a number of credits in two bytes.
///
/// A Send that finds no Receive is fatal on iWARP, and RFC 4755 has no flow control. Between two peers that announce
/// this extension, credits (encapsulation.hpp) limit the packets that are outstanding.
struct Extension {
  Refusal refusal = Refusal::none;
  /// The number of packets that the receiver of this message may send at first. The value 0 is valid in a rejection
  /// only.
  std::uint16_t credits = 0;
  friend bool operator==(const Extension&, const Extension&) = default;
};

/// The values that one side announces in each message of connection set-up.
struct PrivateData {
  std::uint32_t qpn = 0;                 ///< number of the side's UD queue pair, 24 bits
  std::uint32_t receive_mtu = 0;         ///< the largest message that the side receives, header included
  std::optional<Extension> extension{};  ///< absent if the sender is another implementation
  friend bool operator==(const PrivateData&, const PrivateData&) = default;
};

/// Returns how many bytes of the result of encode() are to be sent: kExtendedPrivateDataSize if `data` has an
/// extension, and otherwise kPrivateDataSize, which omits the zeros.
std::size_t encoded_size(const PrivateData& data) noexcept;
/// Returns the encoded private data: eight bytes, then the extension, which has four bytes. If `data` has no extension,
/// the last four bytes are zeros.
std::array<std::byte, kExtendedPrivateDataSize> encode(const PrivateData& data) noexcept;
/// Decodes the private data that a peer has sent: eight bytes and, if it follows them, the Extension. Ignores other
/// bytes that follow. Returns nothing if `received` has less than eight bytes.
std::optional<PrivateData> decode_private_data(Octets received) noexcept;

/// The largest packet on a connection between two sides with these Receive MTUs (RFC 4755 section 5.1). Returns
/// nothing if one of them has no room after the encapsulation header.
std::optional<std::uint32_t> connection_mtu(std::uint32_t own_receive_mtu, std::uint32_t peer_receive_mtu) noexcept;

}  // namespace rpcrdma::ipoib
