// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <span>
#include <utility>

namespace rpcrdma::memory {

/// A mapping of anonymous memory. Empty if the system refused to map the memory.
class Mapping {
 public:
  Mapping() noexcept = default;
  explicit Mapping(std::size_t size) noexcept;
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping();

  explicit operator bool() const noexcept { return data_ != nullptr; }
  std::span<std::byte> octets() const noexcept { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace rpcrdma::memory
