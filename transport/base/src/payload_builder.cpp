// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/payload_builder.hpp"

#include <algorithm>
#include <limits>

namespace rpcrdma {
namespace {

/// How many bytes to request from PayloadMemory for a value: large pieces for a large value, because each piece of
/// memory becomes a segment.
std::uint32_t growth_for(std::size_t value) noexcept {
  const std::size_t most = value > (std::size_t{1} << 16) ? std::size_t{1} << 20 : std::size_t{4096};
  return static_cast<std::uint32_t>(std::min(value, most));
}

}  // namespace

void PayloadBuilder::start(BufferRef first, PayloadMemory* memory) noexcept {
  payload_.clear();
  room_ = first;
  memory_ = memory;
  failure_ = BuildFailure::none;
  cut_ = true;
}

/// The part of reserve() that is not inline. Gets a new buffer if the present one has too little room, and starts a new
/// piece if necessary. Fails if the builder has failed, the message would become too long, or there is no new buffer.
std::byte* PayloadBuilder::reserve_elsewhere(std::uint32_t count) noexcept {
  if (!ok()) return nullptr;
  if (payload_.length > kLongest - count) fail(BuildFailure::too_long);
  if (!ok() || (count > room_.size && !grow(count))) return nullptr;
  if (cut_) {
    payload_.pieces.push_back({payload_.length, {room_.data, 0, room_.local_key}});
    cut_ = false;
  }
  return advance(count);
}

std::byte* PayloadBuilder::reserve_aligned(std::uint32_t count) noexcept {
  const bool fits = ok() && count != 0 && count <= room_.size && reinterpret_cast<std::uintptr_t>(room_.data) % 4 == 0;
  return fits ? reserve(count) : nullptr;
}

bool PayloadBuilder::grow(std::uint32_t count) noexcept {
  const Result<BufferRef> more =
      memory_ != nullptr ? memory_->more_payload_memory(count) : Result<BufferRef>(BaseError::buffer_overflow);
  if (!more) {
    fail(more.error() == BaseError::out_of_memory ? BuildFailure::out_of_memory : BuildFailure::too_long);
    return false;
  }
  room_ = *more;
  cut_ = true;
  return true;
}

void PayloadBuilder::octets(Octets value) noexcept {
  while (ok() && !value.empty()) {
    if (room_.size == 0 && !grow(growth_for(value.size()))) return;
    const auto step = static_cast<std::uint32_t>(std::min<std::size_t>(value.size(), room_.size));
    std::byte* at = reserve(step);
    if (at == nullptr) return;
    std::memcpy(at, value.data(), step);
    value = value.subspan(step);
  }
}

void PayloadBuilder::borrow(BufferRef octets) noexcept {
  if (!ok() || octets.size == 0) return;
  if (octets.size > kLongest - payload_.length) return fail(BuildFailure::too_long);
  payload_.pieces.push_back({payload_.length, octets});
  payload_.length += octets.size;
  cut_ = true;
}

void PayloadBuilder::item(std::span<const BufferRef> parts) noexcept {
  std::uint64_t length = 0;
  for (const BufferRef& part : parts) length += part.size;
  if (!ok() || length == 0) return;
  if (length > kLongest - 3 - payload_.length) return fail(BuildFailure::too_long);
  if (payload_.length % 4 != 0) return fail();
  PayloadItem& item = payload_.items.emplace_back();
  item.position = payload_.length;
  item.length = static_cast<std::uint32_t>(length);
  item.parts.assign(parts.begin(), parts.end());
  payload_.length += pad4(item.length);
  cut_ = true;
}

}  // namespace rpcrdma
