// SPDX-License-Identifier: BSD-3-Clause
#include "mapping.hpp"

#include <sys/mman.h>

namespace rpcrdma::memory {

Mapping::Mapping(std::size_t size) noexcept {
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return;
  data_ = static_cast<std::byte*>(at);
  size_ = size;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace rpcrdma::memory
