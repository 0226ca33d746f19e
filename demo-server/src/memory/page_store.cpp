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
  std::vector<Page> first;
  if (max_pages_ == 0 || !allocate(1, first)) throw std::bad_alloc();
  zeros_ = std::move(first.front());
  std::memset(zeros_.data(), 0, kPageSize);
}

PageStore::~PageStore() {
  zeros_.reset();
  for (const auto& slab : slabs_) ::munmap(slab->data, kSlabSize);
}

std::size_t PageStore::capacity() const noexcept { return max_pages_ * kPageSize; }

std::size_t PageStore::in_use() const noexcept {
  const std::lock_guard lock(mutex_);
  return pages_in_use_ * kPageSize;
}

Slab* PageStore::grow() {
  void* memory = ::mmap(nullptr, kSlabSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto slab = std::make_unique<Slab>();
  slab->store = this;
  slab->number = static_cast<std::uint32_t>(slabs_.size());
  slab->data = static_cast<std::byte*>(memory);
  used_.emplace_back(kPagesPerSlab, false);
  return slabs_.emplace_back(std::move(slab)).get();
}

bool PageStore::allocate(std::size_t count, std::vector<Page>& out) {
  const std::lock_guard lock(mutex_);
  if (count > max_pages_ - pages_in_use_) return false;
  while (slabs_.size() * kPagesPerSlab < pages_in_use_ + count)
    if (grow() == nullptr) return false;
  const std::size_t all = slabs_.size() * kPagesPerSlab;
  // Going round from where the last search ended keeps the pages of one write side by side.
  for (; count != 0; next_ = (next_ + 1) % all) {
    if (next_ >= all) next_ = 0;
    const std::size_t slab = next_ / kPagesPerSlab;
    const auto index = static_cast<std::uint32_t>(next_ % kPagesPerSlab);
    if (used_[slab][index]) continue;
    used_[slab][index] = true;
    slabs_[slab]->references[index].store(1, std::memory_order_relaxed);
    out.push_back(Page(slabs_[slab].get(), index));
    ++pages_in_use_;
    --count;
  }
  return true;
}

void PageStore::give_back(Slab& slab, std::uint32_t index) noexcept {
  const std::lock_guard lock(mutex_);
  used_[slab.number][index] = false;
  --pages_in_use_;
}

}  // namespace rpcrdma::nfsd
