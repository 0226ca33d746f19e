// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Registered memory. A Pool allocates memory in slabs, and registers each slab once with the fabric. It divides the
// slabs into buffers, and lends each buffer as a move-only RegisteredBuffer.
//
// Ownership. A Pool owns its slabs, and must outlive the buffers that it has lent. Only the fabric's thread may use a
// Pool and return buffers to it. Any thread may access the bytes of a lent buffer.
#include <cstddef>
#include <memory>
#include <utility>
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
  RegisteredBuffer(RegisteredBuffer&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)),
        slab_(std::exchange(other.slab_, nullptr)),
        own_(std::move(other.own_)),
        ref_(std::exchange(other.ref_, {})) {}
  RegisteredBuffer& operator=(RegisteredBuffer&& other) noexcept;
  ~RegisteredBuffer() { reset(); }

  /// False if empty.
  explicit operator bool() const noexcept { return ref_.data != nullptr; }
  /// The whole buffer, with its present key. The result is valid while this object holds the memory. If the fabric
  /// loses its device (fabric/lasting.hpp), the key in the result becomes invalid. Then call ref() again.
  BufferRef ref() const noexcept;
  /// The first `count` bytes of the buffer; `count` is at most ref().size.
  BufferRef first(std::uint32_t count) const noexcept { return ref().slice(0, count); }
  /// The bytes of ref().
  std::span<std::byte> octets() const noexcept { return ref_.octets(); }
  /// Returns the memory to its pool, or deregisters it if adopt() made this object.
  void reset() noexcept {
    if (ref_.data != nullptr) release();
  }

 private:
  void release() noexcept;

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
  /// The maximum number of registered bytes. If allocate() cannot keep within this limit, it fails.
  std::size_t max_octets = std::size_t{256} << 20;
};

/// Returns `wanted`, with max_octets reduced if necessary: `pools` pools of the returned size together take at most
/// half of the memory that the fabric can lock. The other half remains for registrations outside the pools: exposed
/// memory, sinks of RDMA Reads, and pages of memory exports.
RPCRDMA_EXPORT PoolOptions within_limit(PoolOptions wanted, const fabric::Capabilities& capabilities,
                                        std::size_t pools) noexcept;

/// Lends page-aligned buffers of registered memory, and keeps returned buffers for reuse. The pool registers memory in
/// slabs. A slab holds buffers of one size class. The size classes are the powers of two from 4 KiB to 4 MiB. A larger
/// buffer has a slab of its own. If the size class of the wanted size has a free buffer, allocate() neither maps nor
/// registers memory. If the fabric does not enforce exact window bounds, each slab holds one buffer only. If a new slab
/// would exceed PoolOptions::max_octets or the limit of locked memory, the pool first drops slabs of which no buffer is
/// lent.
class RPCRDMA_EXPORT Pool {
 public:
  /// An empty pool: memory is registered when it is first needed. `fabric` must outlive the pool.
  explicit Pool(fabric::Fabric& fabric, PoolOptions options = {});
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Returns a buffer whose ref().size is exactly `size`, although its memory may be larger. The bytes are not cleared.
  /// Fails with BaseError::out_of_memory if PoolOptions::max_octets leaves no room for the buffer, or if the system has
  /// no memory left. The caller may then retry after buffers have been returned. If the registration of memory fails,
  /// allocate() fails with its error.
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
  // The size classes in ascending order. The last class takes the buffers that are too large for the other classes.
  std::vector<std::unique_ptr<SizeClass>> classes_;
  Counters counters_;
};

}  // namespace rpcrdma::memory
