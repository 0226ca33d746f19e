// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfs/file_handle.hpp"

#include <algorithm>
#include <charconv>

namespace rpcrdma::nfs {

FileHandle::FileHandle(std::span<const std::byte> bytes) noexcept
    : size_(static_cast<std::uint8_t>(std::min(bytes.size(), kMaxSize))) {
  std::copy_n(bytes.begin(), size_, bytes_.begin());
}

bool operator==(const FileHandle& a, const FileHandle& b) noexcept {
  return std::ranges::equal(a.octets(), b.octets());
}

std::optional<FileHandle> parse_handle(std::string_view text) {
  if (text.empty() || text.size() % 2 != 0 || text.size() > 2 * FileHandle::kMaxSize) return std::nullopt;
  std::array<std::byte, FileHandle::kMaxSize> bytes{};
  for (std::size_t i = 0; i < text.size() / 2; ++i) {
    unsigned value = 0;
    const char* begin = text.data() + 2 * i;
    const auto [end, status] = std::from_chars(begin, begin + 2, value, 16);
    if (status != std::errc() || end != begin + 2) return std::nullopt;
    bytes[i] = static_cast<std::byte>(value);
  }
  return FileHandle(std::span(bytes).first(text.size() / 2));
}

}  // namespace rpcrdma::nfs
