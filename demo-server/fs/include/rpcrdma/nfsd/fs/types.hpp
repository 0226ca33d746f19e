// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The values that travel between the NFS services and a file system. They follow the data types of
// RFC 1813 section 2.5 and 2.6, so that a service only copies fields.
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "rpcrdma/nfsd/fs/identity.hpp"

namespace rpcrdma::nfsd {

/// nfsstat3 (RFC 1813 section 2.6); the numbers are those of the protocol.
enum class Status : std::uint32_t {
  ok = 0,
  perm = 1,
  noent = 2,
  io = 5,
  nxio = 6,
  acces = 13,
  exist = 17,
  xdev = 18,
  nodev = 19,
  notdir = 20,
  isdir = 21,
  inval = 22,
  fbig = 27,
  nospc = 28,
  rofs = 30,
  mlink = 31,
  nametoolong = 63,
  notempty = 66,
  dquot = 69,
  stale = 70,
  remote = 71,
  badhandle = 10001,
  not_sync = 10002,
  bad_cookie = 10003,
  notsupp = 10004,
  toosmall = 10005,
  serverfault = 10006,
  badtype = 10007,
  jukebox = 10008,
};

/// ftype3.
enum class FileType : std::uint32_t { regular = 1, directory, block, character, symlink, socket, fifo };

/// nfstime3: since 1970, unsigned.
struct Time {
  std::uint32_t seconds = 0;
  std::uint32_t nanoseconds = 0;
  friend auto operator<=>(const Time&, const Time&) = default;  // NOLINT(modernize-use-nullptr): there is no null
};

struct Device {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
};

/// fattr3, without the fsid: that is the export's.
struct Attributes {
  FileType type = FileType::regular;
  std::uint32_t mode = 0;  ///< permission bits only, 07777
  std::uint32_t links = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t size = 0;  ///< octets
  std::uint64_t used = 0;  ///< octets on the disk
  Device device;
  std::uint64_t fileid = 0;
  Time atime;
  Time mtime;
  Time ctime;
};

/// wcc_attr: enough to see whether somebody else changed an object.
struct WccAttributes {
  std::uint64_t size = 0;
  Time mtime;
  Time ctime;
};
inline WccAttributes wcc_of(const Attributes& a) noexcept { return {a.size, a.mtime, a.ctime}; }

/// wcc_data: `before` only when it was read in one step with the change, as far as this server sees.
struct Wcc {
  std::optional<WccAttributes> before;
  std::optional<Attributes> after;
};

/// One of the two times in sattr3.
struct SetTime {
  enum class How : std::uint32_t { keep = 0, server = 1, client = 2 } how = How::keep;
  Time value;  ///< with How::client
};

/// sattr3. Ids are never Identity::kNone.
struct SetAttributes {
  std::optional<std::uint32_t> mode = {};
  std::optional<std::uint32_t> uid = {};
  std::optional<std::uint32_t> gid = {};
  std::optional<std::uint64_t> size = {};
  SetTime atime = {};
  SetTime mtime = {};
};

/// stable_how.
enum class Stable : std::uint32_t { unstable = 0, data_sync = 1, file_sync = 2 };

/// createhow3.
enum class CreateMode : std::uint32_t { unchecked = 0, guarded = 1, exclusive = 2 };
using Verifier = std::array<std::byte, 8>;

/// Who asks, squashed already, and on what terms.
struct Caller : Identity {
  /// Changes of names and attributes are on the disk before they are reported; false on an asynchronous export.
  bool sync = true;
};

/// Names one object of one file system, for as long as the object exists. Made by the file system, opaque to
/// everybody else; becomes a part of the NFS file handle.
class NodeKey {
 public:
  static constexpr std::size_t kMax = 40;

  NodeKey() noexcept = default;
  /// `octets` of at most kMax; longer ones give an empty key.
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
