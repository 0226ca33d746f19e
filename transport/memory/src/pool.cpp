// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/memory/pool.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "slab.hpp"

namespace rpcrdma::memory {
namespace {

constexpr std::uint32_t kSmallest = 4096;
constexpr std::uint32_t kLargest = 4u << 20;
constexpr std::size_t kClasses = std::bit_width(kLargest) - std::bit_width(kSmallest) + 1;
/// Small buffers share regions of up to this size, because registration is slow on some fabrics.
constexpr std::size_t kSlab = std::size_t{1} << 20;
/// A slab (the region that small buffers share) takes at most 1/kSlabsAtLeast of the pool. Exception: if one buffer of
/// its size class is larger than that, the slab holds one buffer.
constexpr std::size_t kSlabsAtLeast = 16;
constexpr std::size_t kPage = 4096;
/// The maximum number of slabs that one trim() deregisters and frees. The limit keeps trim() short, because
/// deregistration takes long on some fabrics.
constexpr std::size_t kMostTrimmed = 64;

bool is_idle(const Slab& slab) noexcept { return slab.idle(); }

std::size_t class_of(std::uint32_t size) noexcept {
  if (size <= kSmallest) return 0;
  if (size > kLargest) return kClasses;
  constexpr std::size_t kSmallestWidth = std::bit_width(kSmallest);
  return std::bit_width(size - 1) + 1 - kSmallestWidth;
}

}  // namespace

std::size_t Pool::footprint(std::uint32_t size) noexcept {
  const std::size_t index = class_of(size);
  return index < kClasses ? std::size_t{kSmallest} << index : (size + kPage - 1) / kPage * kPage;
}

PoolOptions within_limit(PoolOptions wanted, const fabric::Capabilities& capabilities, std::size_t pools) noexcept {
  const std::uint64_t share = capabilities.lockable_memory / 2 / std::max<std::size_t>(pools, 1);
  wanted.max_octets = static_cast<std::size_t>(std::min<std::uint64_t>(wanted.max_octets, share));
  return wanted;
}

Pool::Pool(fabric::Fabric& fabric, PoolOptions options) : fabric_(fabric), options_(options) {
  for (std::size_t i = 0; i <= kClasses; ++i) {
    auto& size_class = classes_.emplace_back(std::make_unique<SizeClass>());
    size_class->index = i;
    size_class->buffer_size = i < kClasses ? kSmallest << i : 0;
  }
}

Pool::~Pool() = default;

Result<RegisteredBuffer> Pool::allocate(std::uint32_t size) {
  const Result<Slab*> slab = slab_for(size);
  if (!slab) return slab.error();
  RegisteredBuffer out;
  out.pool_ = this;
  out.slab_ = *slab;
  out.ref_ = (*slab)->take(size);
  if ((*slab)->free.empty()) classes_[(*slab)->class_index]->available = (*slab)->next_available;
  ++counters_.lent;
  return out;
}

/// Returns a slab with a free buffer for `size` bytes: the first available one of the size class, or a new one.
Result<Slab*> Pool::slab_for(std::uint32_t size) {
  SizeClass& size_class = *classes_[class_of(size)];
  Slab* const available = size_class.available;
  if (available != nullptr && (size_class.buffer_size != 0 || available->pages.octets().size() == footprint(size)))
    return available;
  if (size_class.buffer_size == 0) return add_slab(size_class, footprint(size));
  const std::size_t one = size_class.buffer_size;
  // A small pool has small slabs, so that the size classes in use leave room for large buffers.
  const std::size_t slab = std::min(kSlab, std::bit_floor(std::max(options_.max_octets / kSlabsAtLeast, one)));
  // Without exact window bounds, a peer can access the whole region around a window. A region then holds one buffer.
  const std::size_t wanted = fabric_.capabilities().exact_window_bounds ? std::max(one, slab) : one;
  if (wanted == one || counters_.registered_octets + wanted <= options_.max_octets) return add_slab(size_class, wanted);
  return add_slab(size_class, one);
}

Result<Slab*> Pool::add_slab(SizeClass& size_class, std::size_t octets) {
  if (!make_room(octets)) return make_error_code(BaseError::out_of_memory);
  Mapping pages(octets);
  if (!pages) return make_error_code(BaseError::out_of_memory);
  auto region = register_pages(pages.octets());
  if (!region) return region.error();
  const std::size_t buffer_size = size_class.buffer_size != 0 ? size_class.buffer_size : octets;
  size_class.slabs.push_back(
      std::make_unique<Slab>(std::move(pages), std::move(*region), buffer_size, size_class.index));
  Slab* slab = size_class.slabs.back().get();
  slab->next_available = size_class.available;
  size_class.available = slab;
  counters_.registered_octets += octets;
  ++counters_.regions;
  return slab;
}

Result<std::unique_ptr<fabric::MemoryRegion>> Pool::register_pages(std::span<std::byte> pages) {
  auto region = fabric_.register_memory(pages);
  if (region || region.error() != fabric::FabricError::locked_memory) return region;
  // The system's limit of locked memory may be lower than PoolOptions::max_octets. Idle slabs count against this limit,
  // so they are dropped, and the registration is tried once more.
  const std::size_t regions = counters_.regions;
  for (const auto& size_class : classes_) drop_slabs(*size_class, is_idle);
  return counters_.regions == regions ? std::move(region) : fabric_.register_memory(pages);
}

/// Drops idle slabs until PoolOptions::max_octets permits the registration of `octets` more bytes. Begins with the
/// slabs of the largest buffers. Returns false if this limit does not permit the registration even without idle slabs.
bool Pool::make_room(std::size_t octets) noexcept {
  if (octets > options_.max_octets) return false;
  for (auto at = classes_.rbegin(); at != classes_.rend(); ++at) {
    if (counters_.registered_octets + octets <= options_.max_octets) return true;
    drop_slabs(**at, is_idle);
  }
  return counters_.registered_octets + octets <= options_.max_octets;
}

void Pool::trim() noexcept {
  std::size_t left = kMostTrimmed;
  for (const auto& size_class : classes_)
    drop_slabs(*size_class, [&left](Slab& slab) {
      return slab.idle() && !std::exchange(slab.touched, false) && left != 0 && left-- != 0;
    });
}

template <class Predicate>
void Pool::drop_slabs(SizeClass& size_class, Predicate unwanted) noexcept {
  size_class.available = nullptr;
  std::erase_if(size_class.slabs, [&](std::unique_ptr<Slab>& slab) {
    if (unwanted(*slab)) {
      counters_.registered_octets -= slab->pages.octets().size();
      --counters_.regions;
      return true;
    }
    if (!slab->free.empty()) {
      slab->next_available = size_class.available;
      size_class.available = slab.get();
    }
    return false;
  });
}

void Pool::give_back(RegisteredBuffer& buffer) noexcept {
  Slab& slab = *buffer.slab_;
  SizeClass& size_class = *classes_[slab.class_index];
  slab.give_back(buffer.ref_);
  --counters_.lent;
  if (size_class.buffer_size == 0) {
    // The returned buffer is larger than any size class, and its slab holds no other buffer. Drops the other idle slabs
    // of this kind. The slab of the returned buffer stays, for a user that next asks for a buffer of the same size.
    drop_slabs(size_class, [&slab](const Slab& other) { return other.idle() && &other != &slab; });
  } else if (slab.free.size() == 1) {
    slab.next_available = size_class.available;
    size_class.available = &slab;
  }
}

Pool::Counters Pool::counters() const noexcept { return counters_; }

}  // namespace rpcrdma::memory
