// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/payload_builder.hpp"

#include <algorithm>
#include <limits>

namespace rpcrdma {

void PayloadBuilder::start(BufferRef first, PayloadMemory* memory) noexcept {
  payload_.clear();
  room_ = first;
  memory_ = memory;
  ok_ = true;
  cut_ = true;
}

std::byte* PayloadBuilder::reserve(std::uint32_t count) noexcept {
  if (!ok_) return nullptr;
  if (count > std::numeric_limits<std::uint32_t>::max() - payload_.length || (count > room_.size && !grow(count))) {
    ok_ = false;
    return nullptr;
  }
  std::byte* at = room_.data;
  if (cut_) {
    payload_.pieces.push_back({payload_.length, {at, 0, room_.local_key}});
    cut_ = false;
  }
  payload_.pieces.back().octets.size += count;
  payload_.length += count;
  room_ = room_.slice(count, room_.size - count);
  return at;
}

std::byte* PayloadBuilder::grow(std::uint32_t count) noexcept {
  if (memory_ == nullptr) return nullptr;
  room_ = memory_->more_payload_memory(count);
  cut_ = true;
  return room_.size >= count ? room_.data : nullptr;
}

void PayloadBuilder::octets(Octets value) noexcept {
  while (ok_ && !value.empty()) {
    const std::size_t fits = room_.size != 0 ? room_.size : std::size_t{4096};
    const auto step = static_cast<std::uint32_t>(std::min(value.size(), fits));
    std::byte* at = reserve(step);
    if (at == nullptr) return;
    std::memcpy(at, value.data(), step);
    value = value.subspan(step);
  }
}

void PayloadBuilder::u32(std::uint32_t value) noexcept {
  std::byte* at = reserve(4);
  if (at == nullptr) return;
  Writer(MutableOctets(at, 4)).u32(value);
}

void PayloadBuilder::item(std::span<const BufferRef> parts) noexcept {
  std::uint64_t length = 0;
  for (const BufferRef& part : parts) length += part.size;
  if (!ok_ || length == 0) return;
  if (length > std::numeric_limits<std::uint32_t>::max() - 3 - payload_.length || payload_.length % 4 != 0) {
    ok_ = false;
    return;
  }
  PayloadItem& item = payload_.items.emplace_back();
  item.position = payload_.length;
  item.length = static_cast<std::uint32_t>(length);
  item.parts.assign(parts.begin(), parts.end());
  payload_.length += pad4(item.length);
  cut_ = true;
}

}  // namespace rpcrdma
