// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfs/types.hpp"

#include <algorithm>
#include <charconv>

namespace rpcrdma::nfs {

FileHandle::FileHandle(std::span<const std::byte> octets) noexcept
    : size_(static_cast<std::uint8_t>(std::min(octets.size(), kMaxSize))) {
  std::copy_n(octets.begin(), size_, octets_.begin());
}

bool operator==(const FileHandle& a, const FileHandle& b) noexcept {
  return std::ranges::equal(a.octets(), b.octets());
}

std::optional<FileHandle> parse_handle(std::string_view text) {
  if (text.empty() || text.size() % 2 != 0 || text.size() > 2 * FileHandle::kMaxSize) return std::nullopt;
  std::array<std::byte, FileHandle::kMaxSize> octets{};
  for (std::size_t i = 0; i < text.size() / 2; ++i) {
    unsigned value = 0;
    const char* begin = text.data() + 2 * i;
    const auto [end, status] = std::from_chars(begin, begin + 2, value, 16);
    if (status != std::errc() || end != begin + 2) return std::nullopt;
    octets[i] = static_cast<std::byte>(value);
  }
  return FileHandle(std::span(octets).first(text.size() / 2));
}

bool is_plain_name(std::string_view name) noexcept {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

}  // namespace rpcrdma::nfs
