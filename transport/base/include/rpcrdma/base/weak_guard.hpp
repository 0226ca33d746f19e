// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "rpcrdma/base/post_memory.hpp"

namespace rpcrdma {

/// A member of a T that gives handlers a weak reference to this T while they wait in an io_context. A handler must not
/// own the T: the io_context may destroy the handler late, when objects that the T refers to no longer exist.
/// Used on one thread.
template <class T>
class WeakGuard {
 public:
  explicit WeakGuard(T& object) : block_(std::make_shared<Block>(&object)) {}
  WeakGuard(const WeakGuard&) = delete;
  WeakGuard& operator=(const WeakGuard&) = delete;
  ~WeakGuard() { block_->object = nullptr; }

  /// A handler that calls `function(T&, arguments...)`, or does nothing if the object has been destroyed.
  template <class Function>
  auto wrap(Function function) const {
    return [block = block_, function = std::move(function)](auto&&... arguments) mutable {
      if (T* const object = block->object) function(*object, std::forward<decltype(arguments)>(arguments)...);
    };
  }
  /// As wrap(), but starting an operation with the handler uses a PostMemory of this WeakGuard instead of the heap, if
  /// the handler fits into the PostMemory and no other handler is waiting in it.
  template <class Function>
  auto wrap_in_own_memory(Function function) const {
    return boost::asio::bind_allocator(PostAllocator<void>(block_->memory), wrap(std::move(function)));
  }
  template <class Function>
  void post(boost::asio::io_context& context, Function function) const {
    boost::asio::post(context, wrap_in_own_memory(std::move(function)));
  }

 private:
  struct Block {
    explicit Block(T* of) noexcept : object(of) {}
    T* object;
    PostMemory memory;
  };
  std::shared_ptr<Block> block_;
};

}  // namespace rpcrdma
