// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <new>

namespace rpcrdma {

/// Memory for one handler that waits in an io_context. With this memory, posting the handler, or starting an
/// asynchronous operation with it, does not allocate from the heap. Asio's own recycling does not suffice, because it
/// keeps little memory, and only within one call of run() or poll(). A handler that does not fit into this memory, and
/// a second handler at the same time, are allocated on the heap. A PostMemory must outlive the handlers that use it.
class PostMemory {
 public:
  void* allocate(std::size_t size) {
    if (used_ || size > sizeof room_) return ::operator new(size);
    used_ = true;
    return room_;
  }
  void deallocate(void* at) noexcept {
    if (at == room_) {
      used_ = false;
    } else {
      ::operator delete(at);
    }
  }

 private:
  alignas(std::max_align_t) std::byte room_[384];
  bool used_ = false;
};

/// An allocator that uses a PostMemory, for asio::bind_allocator().
template <class T>
class PostAllocator {
 public:
  using value_type = T;
  explicit PostAllocator(PostMemory& memory) noexcept : memory_(&memory) {}
  template <class U>
  PostAllocator(const PostAllocator<U>& other) noexcept : memory_(other.memory()) {}

  T* allocate(std::size_t count) { return static_cast<T*>(memory_->allocate(count * sizeof(T))); }
  void deallocate(T* at, std::size_t) noexcept { memory_->deallocate(at); }
  PostMemory* memory() const noexcept { return memory_; }
  template <class U>
  friend bool operator==(const PostAllocator& a, const PostAllocator<U>& b) noexcept {
    return a.memory() == b.memory();
  }

 private:
  PostMemory* memory_;
};

}  // namespace rpcrdma
