// SPDX-License-Identifier: BSD-3-Clause
#include <limits>
#include <utility>

#include "rpcrdma/memory/pool.hpp"
#include "slab.hpp"

namespace rpcrdma::memory {

RegisteredBuffer& RegisteredBuffer::operator=(RegisteredBuffer&& other) noexcept {
  if (this != &other) {
    reset();
    pool_ = std::exchange(other.pool_, nullptr);
    slab_ = std::exchange(other.slab_, nullptr);
    own_ = std::move(other.own_);
    ref_ = std::exchange(other.ref_, {});
  }
  return *this;
}

BufferRef RegisteredBuffer::ref() const noexcept {
  BufferRef now = ref_;  // the key is replaced below: it has changed if a lost device was opened again
  if (own_)
    now.local_key = own_->buffer().local_key;
  else if (slab_ != nullptr)
    now.local_key = slab_->region->buffer().local_key;
  return now;
}

void RegisteredBuffer::release() noexcept {
  if (pool_ != nullptr) pool_->give_back(*this);
  pool_ = nullptr;
  slab_ = nullptr;
  own_.reset();
  ref_ = {};
}

Result<RegisteredBuffer> adopt(fabric::Fabric& fabric, std::span<std::byte> memory) {
  if (memory.empty() || memory.size() > std::numeric_limits<std::uint32_t>::max())
    return make_error_code(BaseError::invalid_argument);
  auto region = fabric.register_memory(memory);
  if (!region) return region.error();
  RegisteredBuffer out;
  out.ref_ = (*region)->buffer();
  out.own_ = std::move(*region);
  return out;
}

}  // namespace rpcrdma::memory
