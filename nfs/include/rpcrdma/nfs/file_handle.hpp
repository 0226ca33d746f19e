// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rpcrdma::nfs {

/// An opaque file handle of up to 64 bytes (nfs_fh3 of RFC 1813).
class FileHandle {
 public:
  static constexpr std::size_t kMaxSize = 64;
  FileHandle() = default;
  /// Drops bytes beyond kMaxSize: check the size first.
  explicit FileHandle(std::span<const std::byte> bytes) noexcept;
  std::span<const std::byte> octets() const noexcept { return {bytes_.data(), size_}; }
  friend bool operator==(const FileHandle& a, const FileHandle& b) noexcept;

 private:
  std::array<std::byte, kMaxSize> bytes_{};
  std::uint8_t size_ = 0;
};

/// Converts hexadecimal digits to a handle of 1 to 64 bytes. Returns nothing for other text.
std::optional<FileHandle> parse_handle(std::string_view text);

}  // namespace rpcrdma::nfs
