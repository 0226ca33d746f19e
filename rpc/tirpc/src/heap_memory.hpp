// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "rpcrdma/base/payload_builder.hpp"

namespace rpcrdma::tirpc {

/// Heap memory for one message, in blocks that are freed with this object. Once the blocks hold at least `limit` bytes,
/// requests for more memory fail with BaseError::buffer_overflow. The last block may exceed `limit`.
class HeapMemory final : public PayloadMemory {
 public:
  explicit HeapMemory(std::size_t limit = SIZE_MAX) noexcept : left_(limit) {}
  BufferRef first() { return more(512); }

 private:
  Result<BufferRef> more_payload_memory(std::uint32_t at_least) override {
    if (left_ == 0) return BaseError::buffer_overflow;
    return more(std::max(at_least, std::uint32_t{16384}));
  }
  BufferRef more(std::uint32_t size) {
    left_ -= std::min<std::size_t>(left_, size);
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
    return {blocks_.back().get(), size, 0};
  }
  std::size_t left_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

}  // namespace rpcrdma::tirpc
