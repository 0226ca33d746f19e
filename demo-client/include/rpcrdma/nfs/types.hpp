// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The NFSv3 client's own view of the protocol's data (RFC 1813 section 2.6): plain values, no XDR.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rpcrdma::nfs {

/// An opaque file handle of up to 64 octets (RFC 1813 section 2.3.3).
class FileHandle {
 public:
  static constexpr std::size_t kMaxSize = 64;
  FileHandle() = default;
  /// What exceeds kMaxSize is cut off: check the size first.
  explicit FileHandle(std::span<const std::byte> octets) noexcept;
  std::span<const std::byte> octets() const noexcept { return {octets_.data(), size_}; }
  friend bool operator==(const FileHandle& a, const FileHandle& b) noexcept;

 private:
  std::array<std::byte, kMaxSize> octets_{};
  std::uint8_t size_ = 0;
};

/// Hexadecimal digits to a handle of 1 to 64 octets; nothing when `text` is none.
std::optional<FileHandle> parse_handle(std::string_view text);

enum class FileType : std::uint32_t {
  regular = 1,
  directory = 2,
  block = 3,
  character = 4,
  symlink = 5,
  socket = 6,
  fifo = 7,
};

struct Time {
  std::uint32_t seconds = 0;
  std::uint32_t nanoseconds = 0;
  friend bool operator==(const Time&, const Time&) = default;
};

/// fattr3
struct Attributes {
  FileType type = FileType::regular;
  std::uint32_t mode = 0;  ///< permission bits, set-id bits and sticky bit; not the type
  std::uint32_t links = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t size = 0;
  std::uint64_t used = 0;  ///< octets on the disk
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t filesystem = 0;
  std::uint64_t file_id = 0;
  Time accessed;
  Time modified;
  Time changed;
};

/// sattr3: what is absent stays as it is.
struct SetAttributes {
  std::optional<std::uint32_t> mode = {};
  std::optional<std::uint64_t> size = {};
  std::optional<Time> accessed = {};
  std::optional<Time> modified = {};
};

/// A file that has been looked up.
struct Node {
  FileHandle handle;
  Attributes attributes;
};

/// One entry of a directory. READDIRPLUS may leave out the handle and the attributes.
struct DirectoryEntry {
  std::string name;  ///< the server's word: see is_plain_name()
  std::uint64_t file_id = 0;
  std::optional<Attributes> attributes;
  std::optional<FileHandle> handle;
};

/// True for a name that means an entry of its directory and nothing else: not empty, not "." or "..", no
/// '/' and no zero octet. A server's names are not to be trusted before this.
bool is_plain_name(std::string_view name) noexcept;

/// FSINFO, as far as the client needs it.
struct Limits {
  std::uint32_t read_size = 0;   ///< octets of one READ
  std::uint32_t write_size = 0;  ///< octets of one WRITE
};

/// FSSTAT
struct Space {
  std::uint64_t total_octets = 0;
  std::uint64_t free_octets = 0;
  std::uint64_t available_octets = 0;  ///< to this user
  std::uint64_t total_files = 0;
  std::uint64_t free_files = 0;
};

using WriteVerifier = std::array<std::byte, 8>;

}  // namespace rpcrdma::nfs
