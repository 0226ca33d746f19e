// SPDX-License-Identifier: BSD-3-Clause
#include "slab.hpp"

#include "poison.hpp"

namespace rpcrdma::memory {

Slab::Slab(Mapping pages_in, std::unique_ptr<fabric::MemoryRegion> region_in, std::size_t buffer_size_in,
           std::size_t class_index_in)
    : pages(std::move(pages_in)),
      region(std::move(region_in)),
      buffer_size(buffer_size_in),
      class_index(class_index_in) {
  const std::size_t count = buffer_count();
  free.reserve(count);
  for (std::size_t i = count; i-- > 0;) free.push_back(static_cast<std::uint32_t>(i));
  poison(pages.octets());
}

Slab::~Slab() { unpoison(pages.octets()); }

BufferRef Slab::take(std::uint32_t size) noexcept {
  const std::size_t index = free.back();
  free.pop_back();
  touched = true;
  std::byte* at = pages.octets().data() + index * buffer_size;
  unpoison({at, size});
  return {at, size, region->buffer().local_key};
}

void Slab::give_back(const BufferRef& buffer) noexcept {
  const auto offset = static_cast<std::size_t>(buffer.data - pages.octets().data());
  poison({buffer.data, buffer_size});
  touched = true;
  free.push_back(static_cast<std::uint32_t>(offset / buffer_size));
}

}  // namespace rpcrdma::memory
