// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace rpcrdma {

template <class Signature, std::size_t Inline = 64>
class UniqueFunction;

/// A move-only callable of signature R(Args...). A callable of up to `Inline` bytes whose move cannot throw lives
/// inside the object, so that storing it does not allocate; other callables are allocated on the heap. Calling an empty
/// UniqueFunction is a programming error.
template <class R, class... Args, std::size_t Inline>
class UniqueFunction<R(Args...), Inline> {
 public:
  UniqueFunction() noexcept = default;
  /// Empty.
  UniqueFunction(std::nullptr_t) noexcept {}
  /// Takes over a callable. Passes on the exceptions of its move, and of an allocation.
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, UniqueFunction> && std::is_invocable_r_v<R, F&, Args...>)
      UniqueFunction(F&& f) {  // NOLINT(bugprone-forwarding-reference-overload): constrained
    using Callable = std::decay_t<F>;
    if constexpr (kFits<Callable>) {
      ::new (static_cast<void*>(storage_)) Callable(std::forward<F>(f));
      operations_ = &kInline<Callable>;
    } else {
      ::new (static_cast<void*>(storage_)) Callable*(new Callable(std::forward<F>(f)));
      operations_ = &kHeap<Callable>;
    }
  }
  UniqueFunction(UniqueFunction&& other) noexcept { take(other); }
  UniqueFunction& operator=(UniqueFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  UniqueFunction(const UniqueFunction&) = delete;
  UniqueFunction& operator=(const UniqueFunction&) = delete;
  ~UniqueFunction() { reset(); }

  /// False if empty.
  explicit operator bool() const noexcept { return operations_ != nullptr; }
  /// Calls the callable.
  R operator()(Args... args) { return operations_->call(storage_, std::forward<Args>(args)...); }

  /// Destroys the callable; the object is empty afterwards.
  void reset() noexcept {
    if (operations_ != nullptr) std::exchange(operations_, nullptr)->destroy(storage_);
  }

 private:
  struct Operations {
    R (*call)(void*, Args&&...);
    void (*move)(void* from, void* to) noexcept;
    void (*destroy)(void*) noexcept;
  };
  template <class F>
  static constexpr bool kFits = sizeof(F) <= Inline &&
                                alignof(F) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<F>;
  template <class F>
  static constexpr Operations kInline{
      [](void* at, Args&&... args) -> R { return (*static_cast<F*>(at))(std::forward<Args>(args)...); },
      [](void* from, void* to) noexcept {
        ::new (to) F(std::move(*static_cast<F*>(from)));
        static_cast<F*>(from)->~F();
      },
      [](void* at) noexcept { static_cast<F*>(at)->~F(); }};
  template <class F>
  static constexpr Operations kHeap{
      [](void* at, Args&&... args) -> R { return (**static_cast<F**>(at))(std::forward<Args>(args)...); },
      [](void* from, void* to) noexcept { ::new (to) F*(*static_cast<F**>(from)); },
      [](void* at) noexcept { delete *static_cast<F**>(at); }};

  void take(UniqueFunction& other) noexcept {
    operations_ = std::exchange(other.operations_, nullptr);
    if (operations_ != nullptr) operations_->move(other.storage_, storage_);
  }

  static_assert(Inline >= sizeof(void*));
  alignas(std::max_align_t) std::byte storage_[Inline];
  const Operations* operations_ = nullptr;
};

}  // namespace rpcrdma
