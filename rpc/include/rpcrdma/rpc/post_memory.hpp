// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <new>

namespace rpcrdma::rpc {

/// Room for one handler posted to an io_context from another thread, so that posting does not allocate. Larger
/// handlers, and a second one at the same time, go to the heap. Belongs to the object that posts.
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
  alignas(std::max_align_t) std::byte room_[128];
  bool used_ = false;
};

/// An allocator over it, for asio::bind_allocator().
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

}  // namespace rpcrdma::rpc
