// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The values that the NFS services and a file system exchange: those of the protocol (rpcrdma/nfs/types.hpp), and the
// server's own names of nodes and callers.
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "rpcrdma/nfs/status.hpp"
#include "rpcrdma/nfs/types.hpp"
#include "rpcrdma/nfsd/fs/identity.hpp"

namespace rpcrdma::nfsd {

using nfs::Attributes;
using nfs::CreateMode;
using nfs::Device;
using nfs::FileType;
using nfs::SetAttributes;
using nfs::SetTime;
using nfs::Stable;
using nfs::Statistics;
using nfs::Status;
using nfs::Time;
using nfs::Verifier;
using nfs::Wcc;
using nfs::wcc_of;
using nfs::WccAttributes;

/// The identity of a caller after squashing, and whether its changes are synchronous.
struct Caller : Identity {
  /// If true, changes of names and attributes are on the disk before the reply; false on an asynchronous export.
  bool sync = true;
};

/// Names one object of one file system while the object exists. Made by the file system, opaque to all other code, and
/// a part of the NFS file handle.
class NodeKey {
 public:
  static constexpr std::size_t kMax = 40;

  NodeKey() noexcept = default;
  /// Copies `octets`; if there are more than kMax, the key is empty.
  explicit NodeKey(std::span<const std::byte> octets) noexcept {
    if (octets.size() > kMax) return;
    size_ = static_cast<std::uint8_t>(octets.size());
    if (!octets.empty()) std::memcpy(octets_.data(), octets.data(), octets.size());
  }
  std::span<const std::byte> octets() const noexcept { return {octets_.data(), size_}; }
  bool empty() const noexcept { return size_ == 0; }
  friend bool operator==(const NodeKey& a, const NodeKey& b) noexcept {
    return a.size_ == b.size_ && std::memcmp(a.octets_.data(), b.octets_.data(), a.size_) == 0;
  }

 private:
  std::array<std::byte, kMax> octets_{};
  std::uint8_t size_ = 0;
};

struct NodeKeyHash {
  std::size_t operator()(const NodeKey& key) const noexcept {
    const auto octets = key.octets();
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(octets.data()), octets.size()});
  }
};

}  // namespace rpcrdma::nfsd
