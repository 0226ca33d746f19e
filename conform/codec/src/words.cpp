// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/conform/codec/words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rpcrdma::conform {

Out& Out::u32(std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes_.push_back(static_cast<std::byte>(value >> shift));
  return *this;
}

Out& Out::u64(std::uint64_t value) {
  return u32(static_cast<std::uint32_t>(value >> 32)).u32(static_cast<std::uint32_t>(value));
}

Out& Out::words(std::initializer_list<std::uint32_t> values) {
  for (const std::uint32_t value : values) u32(value);
  return *this;
}

Out& Out::raw(View bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

Out& Out::opaque(View bytes) {
  return u32(static_cast<std::uint32_t>(bytes.size())).raw(bytes).zeros(padded(bytes.size()) - bytes.size());
}

Out& Out::text(std::string_view string) { return opaque(view_of(string)); }

Out& Out::zeros(std::size_t count) {
  bytes_.resize(bytes_.size() + count);
  return *this;
}

std::uint32_t In::u32() {
  std::uint32_t value = 0;
  for (const std::byte byte : raw(4)) value = value << 8 | std::to_integer<std::uint32_t>(byte);
  return value;
}

std::uint64_t In::u64() {
  const std::uint64_t high = u32();
  return high << 32 | u32();
}

bool In::boolean() {
  const std::uint32_t word = u32();
  if (word > 1) throw DecodeError(fmt::format("a boolean of value {} at byte {}", word, at_ - 4));
  return word == 1;
}

View In::raw(std::size_t count) {
  if (count > left())
    throw DecodeError(fmt::format("{} bytes are expected at byte {} of {}", count, at_, bytes_.size()));
  const View out = bytes_.subspan(at_, count);
  at_ += count;
  return out;
}

View In::opaque(std::size_t limit) {
  const std::uint32_t size = u32();
  if (size > limit)
    throw DecodeError(fmt::format("an item of {} bytes at byte {}, at most {} allowed", size, at_, limit));
  const View out = raw(size);
  raw(padded(size) - size);
  return out;
}

std::string In::text(std::size_t limit) {
  const View bytes = opaque(limit);
  std::string out(bytes.size(), '\0');
  std::ranges::transform(bytes, out.begin(), [](std::byte byte) { return static_cast<char>(byte); });
  return out;
}

void In::end() const {
  if (left() != 0) throw DecodeError(fmt::format("{} bytes after the end, at byte {}", left(), at_));
}

View view_of(std::string_view text) noexcept { return std::as_bytes(std::span(text)); }

std::string hex(View bytes, std::size_t limit) {
  std::string out;
  for (std::size_t i = 0; i < std::min(bytes.size(), limit); ++i) {
    if (i != 0 && i % 4 == 0) out += ' ';
    out += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[i]));
  }
  if (bytes.size() > limit) out += fmt::format(" ... ({} bytes)", bytes.size());
  return out;
}

Bytes pattern(std::size_t size, std::uint32_t seed) {
  Bytes out(size);
  std::uint32_t state = seed * 2654435761u + 12345;
  for (std::byte& byte : out) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return out;
}

}  // namespace rpcrdma::conform
