// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The link-layer address of an interface (RFC 4391 section 9.1.1, RFC 4755 section 3.1). Does no I/O; may be used on
// any thread.
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::ipoib {

inline constexpr std::size_t kLinkAddressSize = 20;
/// Queue pair numbers have 24 bits.
inline constexpr std::uint32_t kMaxQpn = 0xffffff;

using Gid = std::array<std::byte, 16>;

/// The address that names an interface on the link.
struct LinkAddress {
  bool reliable_connected = false;    ///< RC: the interface supports the reliable connected mode
  bool unreliable_connected = false;  ///< UC: the interface supports the unreliable connected mode
  std::uint32_t qpn = 0;              ///< number of the interface's UD queue pair, 24 bits
  Gid gid{};                          ///< GID of the interface's port

  friend bool operator==(const LinkAddress&, const LinkAddress&) = default;
};

std::array<std::byte, kLinkAddressSize> encode(const LinkAddress& address) noexcept;
/// Returns the address that `octets` contains, or nothing if the size of `octets` is not 20 bytes.
std::optional<LinkAddress> decode_link_address(Octets octets) noexcept;

/// Compares QPN and GID from the most significant byte to the least, without the flags (RFC 4755 section 3.3).
std::strong_ordering compare_without_flags(const LinkAddress& one, const LinkAddress& other) noexcept;

/// Whether to accept a request from an interface to which this side has a request outstanding. Exactly one of the two
/// sides accepts, so that crossing requests make one connection (RFC 4755 section 3.3).
bool accepts_crossing_request(const LinkAddress& local, const LinkAddress& remote) noexcept;

}  // namespace rpcrdma::ipoib
