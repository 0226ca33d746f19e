// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::wire {

/// Has the functions of a Writer that an encoder calls, but only counts bytes. encoded_size() runs the encoder of a
/// header with a Counter, so that the size and the encoding of the header agree.
class Counter {
 public:
  void u32(std::uint32_t) noexcept { size_ += 4; }
  void u64(std::uint64_t) noexcept { size_ += 8; }
  void octets(Octets value) noexcept { size_ += value.size(); }
  void zeros(std::size_t count) noexcept { size_ += count; }
  std::size_t size() const noexcept { return size_; }

 private:
  std::size_t size_ = 0;
};

}  // namespace rpcrdma::wire
