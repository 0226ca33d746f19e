// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>

#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::transport {

class BudgetShare;

/// Waits for a part of a Budget; linked in order of asking.
class BudgetWaiter {
 public:
  /// The octets asked for belong to the waiter now. Runs from Budget::release(), or at once from acquire().
  virtual void on_budget() noexcept = 0;

 protected:
  ~BudgetWaiter() = default;

 private:
  friend class Budget;
  BudgetShare* share_ = nullptr;  // where it waits
  BudgetWaiter* next_ = nullptr;
  BudgetWaiter* previous_ = nullptr;
  std::size_t wanted_ = 0;
};

/// What one connection has of a Budget, and who waits there for more. Outlives its waiters.
class BudgetShare {
 public:
  BudgetShare() = default;
  BudgetShare(const BudgetShare&) = delete;
  BudgetShare& operator=(const BudgetShare&) = delete;

  std::size_t used() const noexcept { return used_; }
  bool has_waiters() const noexcept { return first_ != nullptr; }

 private:
  friend class Budget;
  std::size_t used_ = 0;
  BudgetWaiter* first_ = nullptr;
  BudgetWaiter* last_ = nullptr;
  bool in_line_ = false;
  BudgetShare* next_ = nullptr;
  BudgetShare* previous_ = nullptr;
};

/// A bounded number of octets. Within a share they are handed out in order of asking; shares take turns, and none
/// gets beyond its bound but for the only thing that it holds: whoever sits on all that he can get leaves room for
/// the others. One thread.
class Budget {
 public:
  Budget(std::size_t capacity, std::size_t most_each) noexcept : capacity_(capacity), most_each_(most_each) {}

  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t most_each() const noexcept { return most_each_; }
  std::size_t used() const noexcept { return used_; }
  /// Somebody waits whose share may have more: the budget itself is short.
  bool has_waiters() const noexcept { return first_ != nullptr; }

  /// `octets` is at most the capacity.
  void acquire(BudgetShare& share, BudgetWaiter& waiter, std::size_t octets) noexcept {
    waiter.share_ = &share;
    waiter.wanted_ = octets;
    waiter.next_ = nullptr;
    waiter.previous_ = share.last_;
    (share.last_ != nullptr ? share.last_->next_ : share.first_) = &waiter;
    share.last_ = &waiter;
    line_up(share);
    serve();
  }
  void release(BudgetShare& share, std::size_t octets) noexcept {
    used_ -= octets;
    share.used_ -= octets;
    line_up(share);
    serve();
  }
  /// `octets` that `from` holds are held by `to` from now on.
  void move(BudgetShare& from, BudgetShare& to, std::size_t octets) noexcept {
    from.used_ -= octets;
    to.used_ += octets;
    line_up(from);
  }
  /// `waiter` waits no more; false if it does not wait.
  bool withdraw(BudgetWaiter& waiter) noexcept {
    if (waiter.share_ == nullptr) return false;
    BudgetShare& share = *waiter.share_;
    remove(waiter);
    if (share.in_line_ && !may_have_more(share)) leave_line(share);
    line_up(share);
    serve();
    return true;
  }

 private:
  bool may_have_more(const BudgetShare& share) const noexcept {
    if (share.first_ == nullptr) return false;
    return share.used_ == 0 || share.used_ + share.first_->wanted_ <= most_each_;
  }
  static void remove(BudgetWaiter& waiter) noexcept {
    BudgetShare& share = *waiter.share_;
    (waiter.previous_ != nullptr ? waiter.previous_->next_ : share.first_) = waiter.next_;
    (waiter.next_ != nullptr ? waiter.next_->previous_ : share.last_) = waiter.previous_;
    waiter.share_ = nullptr;
  }
  void line_up(BudgetShare& share) noexcept {
    if (share.in_line_ || !may_have_more(share)) return;
    share.in_line_ = true;
    share.next_ = nullptr;
    share.previous_ = last_;
    (last_ != nullptr ? last_->next_ : first_) = &share;
    last_ = &share;
  }
  void leave_line(BudgetShare& share) noexcept {
    share.in_line_ = false;
    (share.previous_ != nullptr ? share.previous_->next_ : first_) = share.next_;
    (share.next_ != nullptr ? share.next_->previous_ : last_) = share.previous_;
  }
  void serve() noexcept {
    while (first_ != nullptr && first_->first_->wanted_ <= capacity_ - used_) {
      BudgetShare& share = *first_;
      BudgetWaiter& waiter = *share.first_;
      leave_line(share);
      remove(waiter);
      used_ += waiter.wanted_;
      share.used_ += waiter.wanted_;
      line_up(share);
      waiter.on_budget();
    }
  }

  std::size_t capacity_;
  std::size_t most_each_;
  std::size_t used_ = 0;
  BudgetShare* first_ = nullptr;  // shares whose first waiter is to be served, in turn
  BudgetShare* last_ = nullptr;
};

}  // namespace rpcrdma::transport
