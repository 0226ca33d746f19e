// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/connection/receive_buffers.hpp"

#include <algorithm>

namespace rpcrdma::transport {
namespace {

/// If there is no ReceiveBudget, a connection may raise the size of its receives only if all its receives, with the new
/// size, fit 1/kRaisedPart of the pool (has_room()). No RFC sets a limit.
constexpr std::size_t kRaisedPart = 8;

}  // namespace

ReceiveBuffers::~ReceiveBuffers() {
  if (budget_ != nullptr) budget_->give_back(footprint_);
}

ReceiveBlock* ReceiveBuffers::make_block(std::uint32_t size) {
  auto memory = pool_.allocate(size);
  if (!memory) return nullptr;
  auto block = std::make_unique<ReceiveBlock>();
  block->memory = std::move(*memory);
  block->footprint = memory::Pool::footprint(size);
  footprint_ += block->footprint;
  if (budget_ != nullptr) budget_->take(block->footprint);
  blocks_.push_back(std::move(block));
  return blocks_.back().get();
}

void ReceiveBuffers::release(ReceiveBlock& block) noexcept {
  if (--block.users != 0) return;
  footprint_ -= block.footprint;
  if (budget_ != nullptr) budget_->give_back(block.footprint);
  const auto at = std::ranges::find(blocks_, &block, &std::unique_ptr<ReceiveBlock>::get);
  std::swap(*at, blocks_.back());
  blocks_.pop_back();
}

bool ReceiveBuffers::add(Connection& owner, std::uint32_t more, bool within_budget) {
  if (budget_ != nullptr && within_budget)
    more = static_cast<std::uint32_t>(std::min<std::size_t>(more, budget_->offer(footprint_) / size_));
  if (more == 0) return true;
  ReceiveBlock* const block = make_block(more * size_);
  if (block == nullptr) return false;
  const BufferRef all = block->memory.ref();
  for (std::uint32_t i = 0; i < more; ++i) slots_.emplace_back(owner, all.slice(i * size_, size_), *block);
  block->users = more;
  octets_ += std::size_t{more} * size_;
  return true;
}

bool ReceiveBuffers::has_room(std::uint32_t size) const noexcept {
  const std::size_t wanted = count() * memory::Pool::footprint(size);
  const std::size_t most =
      budget_ != nullptr ? budget_->offer(footprint_) + footprint_ : pool_.max_octets() / kRaisedPart;
  return wanted <= most;
}

void ReceiveBuffers::set_size(std::uint32_t size) noexcept {
  size_ = size;
  smaller_ = static_cast<std::uint32_t>(
      std::ranges::count_if(slots_, [size](const ReceiveSlot& slot) { return slot.memory().size < size; }));
}

bool ReceiveBuffers::replace(ReceiveSlot& slot) {
  const bool larger = slot.memory_.size < size_;
  // If the new buffer is larger, checks the budget again. When has_room() allowed larger buffers, it reserved nothing,
  // so other connections may have taken the memory since then.
  const bool fits = !larger || budget_ == nullptr || memory::Pool::footprint(size_) <= budget_->offer(footprint_);
  ReceiveBlock* const block = fits ? make_block(size_) : nullptr;
  if (block == nullptr) return !larger;
  octets_ = octets_ - slot.memory_.size + size_;
  if (larger) --smaller_;
  block->users = 1;
  ReceiveBlock& old = *slot.block_;
  slot.block_ = block;
  slot.memory_ = block->memory.ref();
  release(old);
  return true;
}

}  // namespace rpcrdma::transport
