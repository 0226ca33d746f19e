// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The data types of NFSv3 (RFC 1813 sections 2.5 and 2.6) as plain values, without XDR; server and client share them.
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace rpcrdma::nfs {

/// ftype3
enum class FileType : std::uint32_t { regular = 1, directory, block, character, symlink, socket, fifo };

/// nfstime3: the time since 1970, unsigned.
struct Time {
  std::uint32_t seconds = 0;
  std::uint32_t nanoseconds = 0;
  friend auto operator<=>(const Time&, const Time&) = default;  // NOLINT(modernize-use-nullptr): there is no null
};

/// specdata3
struct Device {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
};

/// fattr3
struct Attributes {
  FileType type = FileType::regular;
  std::uint32_t mode = 0;  ///< permission bits, set-id bits and sticky bit (07777); not the type
  std::uint32_t links = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t size = 0;  ///< bytes
  std::uint64_t used = 0;  ///< bytes on the disk
  Device device;
  std::uint64_t fsid = 0;  ///< identifies the export; the file systems of the server set it to 0
  std::uint64_t fileid = 0;
  Time atime;
  Time mtime;
  Time ctime;
};

/// wcc_attr: the attributes that a client compares to find out whether another client has changed the object.
struct WccAttributes {
  std::uint64_t size = 0;
  Time mtime;
  Time ctime;
};
inline WccAttributes wcc_of(const Attributes& a) noexcept { return {a.size, a.mtime, a.ctime}; }

/// wcc_data. `before` is set only if, as far as the server can tell, it was read atomically with the change.
struct Wcc {
  std::optional<WccAttributes> before;
  std::optional<Attributes> after;
};

/// One of the two times in sattr3.
struct SetTime {
  enum class How : std::uint32_t { keep = 0, server = 1, client = 2 } how = How::keep;
  Time value;  ///< the time, if `how` is client

  static SetTime to(Time time) noexcept { return {How::client, time}; }
  /// True if the request changes the time.
  explicit operator bool() const noexcept { return how != How::keep; }
};

/// The attributes that a request sets (sattr3). A member without a value, or with SetTime::How::keep, leaves its
/// attribute unchanged. from_wire() gives `uid` or `gid` no value if the id in sattr3 is UINT32_MAX.
struct SetAttributes {
  std::optional<std::uint32_t> mode = {};
  std::optional<std::uint32_t> uid = {};
  std::optional<std::uint32_t> gid = {};
  std::optional<std::uint64_t> size = {};
  SetTime atime = {};
  SetTime mtime = {};
};

/// stable_how
enum class Stable : std::uint32_t { unstable = 0, data_sync = 1, file_sync = 2 };

/// createhow3
enum class CreateMode : std::uint32_t { unchecked = 0, guarded = 1, exclusive = 2 };

/// cookieverf3, createverf3 and writeverf3
using Verifier = std::array<std::byte, 8>;

/// FSSTAT3resok; "available" means available to the caller.
struct Statistics {
  std::uint64_t total_octets = 0;
  std::uint64_t free_octets = 0;
  std::uint64_t available_octets = 0;
  std::uint64_t total_files = 0;
  std::uint64_t free_files = 0;
  std::uint64_t available_files = 0;
};

}  // namespace rpcrdma::nfs
