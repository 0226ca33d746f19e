// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>

#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::transport {

/// Waits for a part of a Budget; linked in order of asking.
class BudgetWaiter {
 public:
  /// The octets asked for belong to the waiter now. Runs from Budget::release(), or at once from acquire().
  virtual void on_budget() noexcept = 0;

 protected:
  ~BudgetWaiter() = default;

 private:
  friend class Budget;
  BudgetWaiter* next_ = nullptr;
  std::size_t wanted_ = 0;
};

/// A bounded number of octets, handed out in order of asking. One thread.
class Budget {
 public:
  explicit Budget(std::size_t capacity) noexcept : capacity_(capacity) {}

  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t used() const noexcept { return used_; }
  bool has_waiters() const noexcept { return first_ != nullptr; }

  /// `octets` is at most the capacity.
  void acquire(BudgetWaiter& waiter, std::size_t octets) noexcept {
    waiter.next_ = nullptr;
    waiter.wanted_ = octets;
    (last_ != nullptr ? last_->next_ : first_) = &waiter;
    last_ = &waiter;
    serve();
  }
  void release(std::size_t octets) noexcept {
    used_ -= octets;
    serve();
  }
  /// `waiter` waits no more; false if it does not wait.
  bool withdraw(BudgetWaiter& waiter) noexcept {
    BudgetWaiter* before = nullptr;
    for (BudgetWaiter* at = first_; at != nullptr; before = at, at = at->next_) {
      if (at != &waiter) continue;
      (before != nullptr ? before->next_ : first_) = at->next_;
      if (last_ == at) last_ = before;
      serve();
      return true;
    }
    return false;
  }

 private:
  void serve() noexcept {
    while (first_ != nullptr && first_->wanted_ <= capacity_ - used_) {
      BudgetWaiter* waiter = first_;
      first_ = waiter->next_;
      if (first_ == nullptr) last_ = nullptr;
      used_ += waiter->wanted_;
      waiter->on_budget();
    }
  }

  std::size_t capacity_;
  std::size_t used_ = 0;
  BudgetWaiter* first_ = nullptr;
  BudgetWaiter* last_ = nullptr;
};

}  // namespace rpcrdma::transport
