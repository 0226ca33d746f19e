// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <utility>

namespace rpcrdma::fabric::verbs {

/// A member of the class T, for functions that use a T and run later, such as timer handlers and posted functions. The
/// function object that guard() makes from such a function does nothing if the T has been destroyed by then. guard()
/// may be called, and its result destroyed, on any thread. The result must be called on the thread that also destroys
/// the T.
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
