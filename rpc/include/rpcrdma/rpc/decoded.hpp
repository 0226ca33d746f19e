// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/rpc/procedure.hpp"
#include "rpcrdma/xdr/decoder.hpp"

namespace rpcrdma::rpc {

/// Copies a message if a decoded value refers to the message (xdr::MessageKeeper).
class RPCRDMA_EXPORT MessageCopy final : public xdr::MessageKeeper {
 public:
  /// Copies `from`, and returns the copy, which belongs to this object. Null if memory is exhausted.
  const Payload* keep(const Payload& from) override;
  /// Passes the memory of the copy to the caller. Returns null if keep() has made no copy. In this case, no decoded
  /// value refers to the message.
  std::unique_ptr<std::byte[]> release() noexcept { return std::move(memory_); }

 private:
  std::unique_ptr<std::byte[]> memory_;
  Payload copy_;
};

/// A decoded value of an rpcgen type; owns all memory that the value points to. Move-only. Empty (all zero) when
/// default-constructed or moved from. A move does not invalidate pointers obtained from the value.
template <class T>
class Decoded {
  static_assert(std::is_trivially_copyable_v<T>, "rpcgen makes plain structures");

 public:
  /// An XDR routine, as rpcgen generates it.
  using Routine = bool_t (*)(XDR*, T*);

  Decoded() noexcept = default;
  Decoded(Decoded&& other) noexcept { take(other); }
  Decoded& operator=(Decoded&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~Decoded() { reset(); }

  /// The value, which is a member of this object. The reference is valid until this object is destroyed.
  const T& operator*() const noexcept { return value_; }
  /// The address of the value.
  const T* operator->() const noexcept { return &value_; }
  /// The value, which the caller may change.
  T& operator*() noexcept { return value_; }
  /// The address of the value, which the caller may change.
  T* operator->() noexcept { return &value_; }

  /// Decodes the next value in `in`. On failure returns false, and this object is empty.
  bool decode(xdr::Decoder& in, Routine routine) noexcept {
    reset();
    routine_ = routine;
    if (in.decode(routine, value_)) return true;
    reset();
    return false;
  }
  /// Takes ownership of the message copy that the value refers to.
  void hold(std::unique_ptr<std::byte[]> message) noexcept { message_ = std::move(message); }

  /// Frees the value, and leaves this object empty.
  void reset() noexcept {
    if (routine_ != nullptr) {
      XDR xdrs{};
      xdrs.x_op = XDR_FREE;
      std::exchange(routine_, nullptr)(&xdrs, &value_);
      value_ = T{};
    }
    message_.reset();
  }

 private:
  void take(Decoded& other) noexcept {
    value_ = other.value_;
    other.value_ = T{};
    routine_ = std::exchange(other.routine_, nullptr);
    message_ = std::move(other.message_);
  }

  T value_{};
  Routine routine_ = nullptr;
  std::unique_ptr<std::byte[]> message_;
};

}  // namespace rpcrdma::rpc
