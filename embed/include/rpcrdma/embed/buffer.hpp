// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Registered memory of a client, for bulk data.
#include <memory>
#include <span>
#include <utility>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/embed/loop.hpp"
#include "rpcrdma/memory/pool.hpp"

namespace rpcrdma {

namespace embed {
/// The pool of a client's registered memory, and the objects that the pool depends on. Keep the order of the members:
/// the pool must be destroyed first, then the fabric, and the loop last.
struct Memory {
  std::shared_ptr<Loop> loop;  // null if the application provides the io_context
  std::unique_ptr<fabric::Fabric> fabric;
  std::unique_ptr<memory::Pool> pool;
};
}  // namespace embed

/// Registered memory from Client::allocate() or Client::adopt(), for any number of calls, one at a time. Move-only.
/// Empty when default-constructed or moved from. It may outlive the client. If the client has a thread of its own, any
/// thread may destroy the Buffer, otherwise only the thread of the client's io_context.
class RPCRDMA_EXPORT Buffer {
 public:
  Buffer() noexcept = default;
  /// Called by Client.
  Buffer(std::shared_ptr<embed::Memory> memory, memory::RegisteredBuffer buffer) noexcept
      : memory_(std::move(memory)), buffer_(std::move(buffer)), ref_(buffer_.ref()) {}
  Buffer(Buffer&& other) noexcept
      : memory_(std::move(other.memory_)), buffer_(std::move(other.buffer_)), ref_(std::exchange(other.ref_, {})) {}
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      reset();
      memory_ = std::move(other.memory_);
      buffer_ = std::move(other.buffer_);
      ref_ = std::exchange(other.ref_, {});
    }
    return *this;
  }
  ~Buffer() { reset(); }

  explicit operator bool() const noexcept { return ref_.data != nullptr; }
  /// The bytes. Do not change them while a call sends them; do not use them while a call writes into them.
  std::span<std::byte> octets() const noexcept { return ref_.octets(); }
  /// The whole buffer as a list, for bulk_data::set_parts() and CallOptions::into(). The list is part of this object.
  std::span<const BufferRef> parts() const noexcept { return {&ref_, 1}; }
  /// A reference to the whole buffer. It is valid until the Buffer that owns the memory is reset, assigned to or
  /// destroyed.
  BufferRef ref() const noexcept { return ref_; }
  /// `count` bytes from `offset` on; the caller checks the range.
  BufferRef slice(std::uint32_t offset, std::uint32_t count) const noexcept { return ref_.slice(offset, count); }
  /// Returns the memory to the pool or deregisters it, and leaves this object empty.
  void reset() noexcept;

 private:
  std::shared_ptr<embed::Memory> memory_;
  memory::RegisteredBuffer buffer_;
  BufferRef ref_;
};

}  // namespace rpcrdma
