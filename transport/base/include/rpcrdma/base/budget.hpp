// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A bounded number of bytes, shared fairly by peer addresses and by the connections of each address:
//
//     Budget            all bytes
//     BudgetPeer        the bytes that the connections of one peer address hold together
//     BudgetShare       the bytes that one connection holds, and its waiters in order of arrival
//     BudgetWaiter      one request
//
// A request is granted if it is within a bound and enough bytes are free. The bound depends on the number of bytes that
// are free before the grant (dynamic thresholds):
//
//   - The connection holds bytes already. The bytes of its peer address, the bytes of the connection once more, and the
//     requested bytes together must not exceed the free bytes.
//   - The connection holds no bytes, but its peer address does. The bytes of the address and the requested bytes
//     together must not exceed three times the free bytes.
//   - Neither the connection nor its peer address holds bytes. There is no bound.
//
// If requests are small, a single connection therefore gets up to a third of the budget. If there are n peer addresses
// with one connection each, every connection gets up to 1/(n+2) of the budget, and some bytes remain for a new peer.
// Peer addresses are served round-robin, and so are the connections of one address. Used on one thread.
#include <boost/intrusive/list.hpp>
#include <cstddef>

namespace rpcrdma {

class Budget;
class BudgetPeer;
class BudgetShare;

namespace detail {
using BudgetHook = boost::intrusive::list_base_hook<>;
template <class T>
using BudgetList = boost::intrusive::list<T, boost::intrusive::constant_time_size<false>>;
}  // namespace detail

/// One request for bytes. The owner withdraws the request before destroying it.
class BudgetWaiter : public detail::BudgetHook {
 public:
  BudgetWaiter() noexcept = default;
  BudgetWaiter(const BudgetWaiter&) = delete;
  BudgetWaiter& operator=(const BudgetWaiter&) = delete;

  bool waits() const noexcept { return is_linked(); }
  /// Withdraws the request. Returns false if the request was not waiting.
  inline bool withdraw() noexcept;

 protected:
  ~BudgetWaiter() = default;
  /// Called when the budget grants the request, which was made with BudgetShare::acquire(). The share now holds `bytes`
  /// more, until BudgetShare::release() gives them back. The implementation may call acquire() and release().
  virtual void on_budget(std::size_t bytes) noexcept = 0;

 private:
  friend class Budget;
  friend class BudgetShare;
  BudgetShare* share_ = nullptr;
  std::size_t wanted_ = 0;
};

/// The bytes that one connection holds, and its waiters. Must outlive the waiters.
class BudgetShare : public detail::BudgetHook {
 public:
  explicit BudgetShare(BudgetPeer& peer) noexcept : peer_(peer) {}
  BudgetShare(const BudgetShare&) = delete;
  BudgetShare& operator=(const BudgetShare&) = delete;

  std::size_t used() const noexcept { return used_; }
  bool has_waiters() const noexcept { return !waiters_.empty(); }
  /// Asks for `bytes`, which must not exceed the capacity. BudgetWaiter::on_budget() runs when they are granted,
  /// perhaps at once.
  inline void acquire(BudgetWaiter& waiter, std::size_t bytes) noexcept;
  inline void release(std::size_t bytes) noexcept;
  /// Transfers `bytes` that this share holds to `other`, a share of the same budget.
  inline void move_to(BudgetShare& other, std::size_t bytes) noexcept;
  /// True if this share holds bytes, and another share needs them. That is the case if Budget::is_short() is true, or
  /// if another share of the same peer waits and holds no bytes.
  inline bool is_awaited() const noexcept;

 private:
  friend class Budget;
  friend class BudgetPeer;
  friend class BudgetWaiter;
  BudgetPeer& peer_;
  std::size_t used_ = 0;
  detail::BudgetList<BudgetWaiter> waiters_;
};

/// The bytes that the connections of one peer address hold together. Must outlive the shares of these connections.
class BudgetPeer : public detail::BudgetHook {
 public:
  explicit BudgetPeer(Budget& budget) noexcept : budget_(budget) {}
  BudgetPeer(const BudgetPeer&) = delete;
  BudgetPeer& operator=(const BudgetPeer&) = delete;

  std::size_t used() const noexcept { return used_; }

 private:
  friend class Budget;
  friend class BudgetShare;
  friend class BudgetWaiter;
  bool has_starved_share() const noexcept {
    for (const BudgetShare& share : waiting_)
      if (share.used_ == 0) return true;
    return false;
  }
  Budget& budget_;
  std::size_t used_ = 0;
  detail::BudgetList<BudgetShare> waiting_;  // shares that have waiting requests; a grant moves its share to the end
};

class Budget {
 public:
  explicit Budget(std::size_t capacity) noexcept : capacity_(capacity) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t used() const noexcept { return used_; }
  std::size_t free() const noexcept { return capacity_ - used_; }
  bool has_waiters() const noexcept { return !waiting_.empty(); }
  /// True if the next request to be granted waits only because too few bytes are free. Requests that wait because of
  /// the bounds for their connection and its peer do not count.
  bool is_short() const noexcept { return short_; }

 private:
  friend class BudgetShare;
  friend class BudgetWaiter;
  using Peers = detail::BudgetList<BudgetPeer>;
  static constexpr std::size_t kPeerPart = 3;

  /// Grants every request that can be granted. A nested call, from on_budget(), does nothing: the outer call continues.
  void serve() noexcept {
    if (serving_) return;
    serving_ = true;
    while (serve_next()) {
    }
    serving_ = false;
  }
  bool serve_next() noexcept {
    short_ = false;
    for (BudgetPeer& peer : waiting_) {
      for (BudgetShare& share : peer.waiting_) {
        BudgetWaiter& waiter = share.waiters_.front();
        if (within_bounds(share, waiter.wanted_)) {
          short_ = waiter.wanted_ > free();
          if (!short_) grant(waiter);
          // If too few bytes are free for this request, the search ends here. The requests behind it must not take the
          // bytes that become free for it.
          return !short_;
        }
        if (share.used_ == 0) break;  // the later shares of this peer must not take bytes before this share
      }
    }
    return false;
  }
  bool within_bounds(const BudgetShare& share, std::size_t wanted) const noexcept {
    const std::size_t after = share.peer_.used_ + wanted;
    return share.used_ != 0 ? share.used_ + after <= free() : share.peer_.used_ == 0 || after <= kPeerPart * free();
  }
  void grant(BudgetWaiter& waiter) noexcept {
    BudgetShare& share = *waiter.share_;
    leave_line(waiter);
    if (share.is_linked()) to_back(share.peer_.waiting_, share);
    if (share.peer_.is_linked()) to_back(waiting_, share.peer_);
    used_ += waiter.wanted_;
    share.peer_.used_ += waiter.wanted_;
    share.used_ += waiter.wanted_;
    waiter.on_budget(waiter.wanted_);
  }
  void enter_line(BudgetShare& share) noexcept {
    if (share.is_linked()) return;
    share.peer_.waiting_.push_back(share);
    if (!share.peer_.is_linked()) waiting_.push_back(share.peer_);
  }
  void leave_line(BudgetWaiter& waiter) noexcept {
    BudgetShare& share = *waiter.share_;
    BudgetPeer& peer = share.peer_;
    share.waiters_.erase(share.waiters_.iterator_to(waiter));
    if (share.waiters_.empty()) peer.waiting_.erase(peer.waiting_.iterator_to(share));
    if (peer.waiting_.empty()) waiting_.erase(waiting_.iterator_to(peer));
  }
  template <class T>
  static void to_back(detail::BudgetList<T>& line, T& item) noexcept {
    line.splice(line.end(), line, line.iterator_to(item));
  }

  std::size_t capacity_;
  std::size_t used_ = 0;
  Peers waiting_;  // the peers that have waiting requests; a grant moves its peer to the end of the list
  bool short_ = false;
  bool serving_ = false;
};

inline bool BudgetWaiter::withdraw() noexcept {
  if (!is_linked()) return false;
  Budget& budget = share_->peer_.budget_;
  budget.leave_line(*this);
  budget.serve();
  return true;
}

inline void BudgetShare::acquire(BudgetWaiter& waiter, std::size_t bytes) noexcept {
  waiter.share_ = this;
  waiter.wanted_ = bytes;
  waiters_.push_back(waiter);
  peer_.budget_.enter_line(*this);
  peer_.budget_.serve();
}

inline void BudgetShare::release(std::size_t bytes) noexcept {
  used_ -= bytes;
  peer_.used_ -= bytes;
  peer_.budget_.used_ -= bytes;
  peer_.budget_.serve();
}

inline void BudgetShare::move_to(BudgetShare& other, std::size_t bytes) noexcept {
  used_ -= bytes;
  peer_.used_ -= bytes;
  other.used_ += bytes;
  other.peer_.used_ += bytes;
  peer_.budget_.serve();
}

inline bool BudgetShare::is_awaited() const noexcept {
  return used_ != 0 && (peer_.budget_.is_short() || peer_.has_starved_share());
}

}  // namespace rpcrdma
