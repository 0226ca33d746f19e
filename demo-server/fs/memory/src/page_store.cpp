// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/memory/page_store.hpp"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace rpcrdma::nfsd {

Page::Page(const Page& other) noexcept : slab_(other.slab_), index_(other.index_) {
  if (slab_ != nullptr) slab_->references[index_].fetch_add(1, std::memory_order_relaxed);
}

bool Page::shared() const noexcept { return slab_->references[index_].load(std::memory_order_acquire) > 1; }

void Page::reset() noexcept {
  if (slab_ == nullptr) return;
  if (slab_->references[index_].fetch_sub(1, std::memory_order_acq_rel) == 1) slab_->store->give_back(*slab_, index_);
  slab_ = nullptr;
}

PageStore::PageStore(std::size_t max_octets) : max_pages_((max_octets + kSlabSize - 1) / kSlabSize * kPagesPerSlab) {
  PageRun first;
  if (max_pages_ == 0 || !allocate(1, first)) throw std::bad_alloc();
  zeros_ = std::move(first.front().page);
  std::memset(zeros_.data(), 0, kPageSize);
}

PageStore::~PageStore() {
  zeros_.reset();
  for (const auto& slab : slabs_) ::munmap(slab->data, kSlabSize);
}

std::size_t PageStore::capacity() const noexcept { return max_pages_ * kPageSize; }

std::size_t PageStore::in_use() const noexcept {
  const std::lock_guard lock(mutex_);
  return (slabs_.size() * kPagesPerSlab - free_.size()) * kPageSize;
}

bool PageStore::grow() {
  if ((slabs_.size() + 1) * kPagesPerSlab > max_pages_) return false;
  auto slab = std::make_unique<Slab>();
  void* memory = ::mmap(nullptr, kSlabSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  slab->store = this;
  slab->number = static_cast<std::uint32_t>(slabs_.size());
  slab->data = static_cast<std::byte*>(memory);
  free_.reserve((slabs_.size() + 1) * kPagesPerSlab);
  slabs_.push_back(std::move(slab));
  // Inserts the new pages at the front, because allocate() takes pages from the back. The pages that were free before
  // are thus used first.
  free_.insert(free_.begin(), kPagesPerSlab, Free{});
  for (std::uint32_t index = 0; index < kPagesPerSlab; ++index) free_[index] = {slabs_.back().get(), index};
  return true;
}

bool PageStore::allocate(std::size_t count, PageRun& out) {
  const std::lock_guard lock(mutex_);
  while (free_.size() < count)
    if (!grow()) return false;
  out.reserve(out.size() + count);
  const std::size_t left = free_.size() - count;
  for (std::size_t i = left; i < free_.size(); ++i) {
    const auto [slab, index] = free_[i];
    slab->references[index].store(1, std::memory_order_relaxed);
    out.push_back({Page(slab, index)});
  }
  free_.resize(left);
  return true;
}

void PageStore::give_back(Slab& slab, std::uint32_t index) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back({&slab, index});
}

}  // namespace rpcrdma::nfsd
