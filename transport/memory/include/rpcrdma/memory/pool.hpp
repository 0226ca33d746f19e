// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Registered memory. A pool registers slabs once, cuts them into buffers, and lends the buffers as move-only
// RegisteredBuffers.
//
// Ownership. A Pool owns its slabs and must outlive the buffers it lent. Only the fabric's thread may use a Pool and
// return buffers to it; any thread may access the bytes of a lent buffer.
#include <cstddef>
#include <memory>
#include <vector>

#include "rpcrdma/base/buffer_ref.hpp"
#include "rpcrdma/base/export.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::memory {

class Pool;
struct Slab;

/// Registered memory. The destructor calls reset(). Empty when default-constructed or moved from.
class RPCRDMA_EXPORT RegisteredBuffer {
 public:
  RegisteredBuffer() noexcept = default;
  RegisteredBuffer(RegisteredBuffer&& other) noexcept;
  RegisteredBuffer& operator=(RegisteredBuffer&& other) noexcept;
  ~RegisteredBuffer();

  /// False if empty.
  explicit operator bool() const noexcept { return ref_.data != nullptr; }
  /// The whole buffer. Valid while this object holds the memory, but only until the fabric loses its device
  /// (fabric/lasting.hpp): call ref() again for work that is posted later.
  BufferRef ref() const noexcept;
  /// The first `count` bytes of the buffer; `count` is at most ref().size.
  BufferRef first(std::uint32_t count) const noexcept { return ref().slice(0, count); }
  /// The bytes of ref().
  std::span<std::byte> octets() const noexcept { return ref_.octets(); }
  /// Returns the memory to its pool, or deregisters it if adopt() made this object.
  void reset() noexcept;

 private:
  friend class Pool;
  friend Result<RegisteredBuffer> adopt(fabric::Fabric& fabric, std::span<std::byte> memory);
  Pool* pool_ = nullptr;
  Slab* slab_ = nullptr;                       // contains the buffer; null after adopt()
  std::unique_ptr<fabric::MemoryRegion> own_;  // the registration of application memory, after adopt()
  BufferRef ref_;
};

/// Registers application memory for use as bulk data. The memory belongs to the caller and must outlive the result.
RPCRDMA_EXPORT Result<RegisteredBuffer> adopt(fabric::Fabric& fabric, std::span<std::byte> memory);

/// The size of a pool.
struct PoolOptions {
  std::size_t max_octets = std::size_t{256} << 20;  ///< the most bytes registered; beyond this allocate() fails
};

/// `wanted`, with max_octets limited by the fabric's limit of locked memory, which `pools` pools share. Half of the
/// limit remains for registrations outside the pools: exposures, sinks of RDMA Reads, pages of exports.
RPCRDMA_EXPORT PoolOptions within_limit(PoolOptions wanted, const fabric::Capabilities& capabilities,
                                        std::size_t pools) noexcept;

/// Lends page-aligned buffers and keeps them for reuse. The size classes are the powers of two from 4 KiB to 4 MiB;
/// larger buffers are allocated one by one. If the class of the wanted size has a free buffer, allocate() neither maps
/// nor registers memory. If the fabric does not enforce exact window bounds, each buffer is a region of its own. Idle
/// slabs are dropped when a new slab would otherwise exceed the bound or the limit of locked memory.
class RPCRDMA_EXPORT Pool {
 public:
  /// An empty pool: memory is registered when it is first needed. `fabric` must outlive the pool.
  explicit Pool(fabric::Fabric& fabric, PoolOptions options = {});
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// A buffer whose ref().size is exactly `size` (its memory may be larger); its bytes are not cleared.
  /// Fails with BaseError::out_of_memory when the bound is reached, or the system has no memory left: retry after
  /// buffers have been returned. Otherwise fails with the error of the registration.
  Result<RegisteredBuffer> allocate(std::uint32_t size);
  /// Deregisters and unmaps slabs that have been idle since the last call, a bounded number per call. To be called
  /// periodically if the load varies.
  void trim() noexcept;
  /// The fabric with which the memory is registered.
  fabric::Fabric& fabric() noexcept { return fabric_; }
  /// The limit PoolOptions::max_octets.
  std::size_t max_octets() const noexcept { return options_.max_octets; }
  /// Bytes of the pool that a buffer of `size` occupies.
  static std::size_t footprint(std::uint32_t size) noexcept;

  /// The present contents of the pool.
  struct Counters {
    std::size_t registered_octets = 0;  ///< bytes of all slabs
    std::size_t regions = 0;            ///< registrations
    std::size_t lent = 0;               ///< buffers in use
  };
  /// To be called on the fabric's thread.
  Counters counters() const noexcept;

 private:
  friend class RegisteredBuffer;
  struct SizeClass;
  Result<Slab*> slab_for(std::uint32_t size);
  Result<Slab*> add_slab(SizeClass& size_class, std::size_t octets);
  bool make_room(std::size_t octets) noexcept;
  template <class Predicate>
  void drop_slabs(SizeClass& size_class, Predicate unwanted) noexcept;
  Result<std::unique_ptr<fabric::MemoryRegion>> register_pages(std::span<std::byte> pages);
  void give_back(RegisteredBuffer& buffer) noexcept;

  fabric::Fabric& fabric_;
  PoolOptions options_;
  std::vector<std::unique_ptr<SizeClass>> classes_;  // the last one: buffers larger than those of the other classes
  Counters counters_;
};

}  // namespace rpcrdma::memory
