// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// NFS file handles name an export and a node, and carry a keyed checksum that only this server can compute. Layout:
// version (1 byte), length of the key (1), export (4), key (up to 40), SipHash-2-4 tag (16); at most 62 of the 64 bytes
// permitted.
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "rpcrdma/nfs/file_handle.hpp"
#include "rpcrdma/nfsd/exports/state_dir.hpp"
#include "rpcrdma/nfsd/fs/types.hpp"

struct evp_mac_ctx_st;

namespace rpcrdma::nfsd {

using nfs::FileHandle;

struct DecodedHandle {
  std::uint32_t export_id = 0;
  NodeKey node;
};

/// Makes and checks handles. Each thread uses an instance of its own.
class HandleCodec {
 public:
  /// Throws std::runtime_error if the crypto library has no SipHash.
  explicit HandleCodec(const HandleSecret& secret);
  ~HandleCodec();
  HandleCodec(const HandleCodec&) = delete;
  HandleCodec& operator=(const HandleCodec&) = delete;

  FileHandle encode(std::uint32_t export_id, const NodeKey& node) const;
  /// Returns nothing if `handle` was not made with this secret.
  std::optional<DecodedHandle> decode(std::span<const std::byte> handle) const;

 private:
  using Tag = std::array<std::byte, 16>;
  /// The first `length` bytes of a handle, and the tag that follows them.
  struct Known {
    std::array<std::byte, FileHandle::kMaxSize> octets;
    std::size_t length = 0;
    Tag tag;
  };
  const Tag& tag(std::span<const std::byte> octets) const;
  Tag compute(std::span<const std::byte> octets) const;

  HandleSecret secret_;
  evp_mac_ctx_st* context_;
  mutable std::array<Known, 64> known_;  // a tag takes 0.1 us to compute, and most calls use few handles
};

/// The identifier of an export, derived from its name alone, so that handles do not depend on the order of exports.
/// Never 0.
std::uint32_t export_id_of(std::string_view name) noexcept;

}  // namespace rpcrdma::nfsd
