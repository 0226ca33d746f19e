// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "mapping.hpp"
#include "rpcrdma/memory/pool.hpp"

namespace rpcrdma::memory {

/// One registered region, cut into buffers of one size.
struct Slab {
  Slab(Mapping pages_in, std::unique_ptr<fabric::MemoryRegion> region_in, std::size_t buffer_size_in,
       std::size_t class_index_in);
  ~Slab();
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  BufferRef take(std::uint32_t size) noexcept;
  void give_back(const BufferRef& buffer) noexcept;
  bool idle() const noexcept { return free.size() == buffer_count(); }
  std::size_t buffer_count() const noexcept { return pages.octets().size() / buffer_size; }

  Mapping pages;
  std::unique_ptr<fabric::MemoryRegion> region;  // destroyed before the pages
  std::size_t buffer_size;
  std::size_t class_index;
  std::vector<std::uint32_t> free;  // capacity for all buffers, so that give_back() never allocates
  Slab* next_available = nullptr;   // the next slab of its class with a free buffer
  bool touched = false;             // set by each use; cleared when Pool::trim() finds the slab idle
};

struct Pool::SizeClass {
  std::size_t index = 0;
  // The size of the buffers of this class in bytes. It is 0 in the class for the largest requests, in which each buffer
  // has the requested size, rounded up to pages.
  std::uint32_t buffer_size = 0;
  std::vector<std::unique_ptr<Slab>> slabs;
  Slab* available = nullptr;
};

}  // namespace rpcrdma::memory
