// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <utility>

#include "rpcrdma/requester/requester.hpp"

namespace rpcrdma::transport {

/// The private part of a Call, for the requester.
struct CallAccess {
  using State = Call::State;
  static State& state(Call& call) noexcept { return call.state_; }
  static void*& slot(Call& call) noexcept { return call.slot_; }
  static error_code& failure(Call& call) noexcept { return call.failure_; }
  static bool& was_sent(Call& call) noexcept { return call.was_sent_; }
};

/// Calls in a row, linked through themselves.
class CallQueue {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  std::uint32_t size() const noexcept { return size_; }
  Call* first() const noexcept { return first_; }
  static Call* next(const Call& call) noexcept { return call.next_; }

  void push_back(Call& call) noexcept {
    call.next_ = nullptr;
    call.previous_ = last_;
    (last_ != nullptr ? last_->next_ : first_) = &call;
    last_ = &call;
    ++size_;
  }
  void push_front(Call& call) noexcept {
    call.previous_ = nullptr;
    call.next_ = first_;
    (first_ != nullptr ? first_->previous_ : last_) = &call;
    first_ = &call;
    ++size_;
  }
  void remove(Call& call) noexcept {
    (call.previous_ != nullptr ? call.previous_->next_ : first_) = call.next_;
    (call.next_ != nullptr ? call.next_->previous_ : last_) = call.previous_;
    call.next_ = call.previous_ = nullptr;
    --size_;
  }
  Call* pop_front() noexcept {
    Call* call = first_;
    if (call != nullptr) remove(*call);
    return call;
  }

 private:
  Call* first_ = nullptr;
  Call* last_ = nullptr;
  std::uint32_t size_ = 0;
};

}  // namespace rpcrdma::transport
