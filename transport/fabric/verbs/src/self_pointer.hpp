// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <utility>

namespace rpcrdma::fabric::verbs {

/// A member that refers to its object weakly, for functions that run later (timers, posted functions, results of other
/// threads): they do nothing if the object has been destroyed. guard() may be called, and its result destroyed, on any
/// thread; the result must be called on the object's thread.
template <class T>
class SelfPointer {
 public:
  explicit SelfPointer(T& object) : object_(std::make_shared<T*>(&object)) {}
  ~SelfPointer() { *object_ = nullptr; }
  SelfPointer(const SelfPointer&) = delete;
  SelfPointer& operator=(const SelfPointer&) = delete;

  /// A function that calls function(object, arguments...) if the object still exists.
  template <class Function>
  auto guard(Function function) const {
    return [object = object_, function = std::move(function)](auto&&... arguments) mutable {
      if (*object != nullptr) function(**object, std::forward<decltype(arguments)>(arguments)...);
    };
  }

 private:
  std::shared_ptr<T*> object_;
};

}  // namespace rpcrdma::fabric::verbs
