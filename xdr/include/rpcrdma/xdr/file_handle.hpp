// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The NFSv3 file handle (nfs_fh3 of RFC 1813), stored without an allocation.
#include <rpc/rpc.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

inline constexpr std::uint32_t kNfs3FileHandleSize = 64;  // NFS3_FHSIZE

/// opaque<64>. All zero is the empty handle.
// NOLINTNEXTLINE(readability-identifier-naming): as rpcgen names types
struct nfs_fh3 {
  std::uint32_t length;
  std::byte data[kNfs3FileHandleSize];

  std::span<const std::byte> octets() const noexcept { return {data, length}; }
  /// Returns false and changes nothing if `from` is longer than a handle may be.
  bool set(std::span<const std::byte> from) noexcept {
    if (from.size() > kNfs3FileHandleSize) return false;
    length = static_cast<std::uint32_t>(from.size());
    if (!from.empty()) std::memcpy(data, from.data(), from.size());
    return true;
  }
  friend bool operator==(const nfs_fh3& a, const nfs_fh3& b) noexcept {
    return a.length == b.length && std::memcmp(a.data, b.data, a.length) == 0;
  }
};
static_assert(std::is_trivial_v<nfs_fh3>);

extern "C" bool_t xdr_nfs_fh3(XDR* xdrs, nfs_fh3* handle);
