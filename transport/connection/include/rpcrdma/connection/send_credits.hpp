// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Counts the free entries in a part of a queue pair's send queue. Before a work request of a call or a reply is posted,
// an entry is reserved for it, so that the send queue does not overflow. A requester reserves all entries of a call
// before it sends the call. A responder may wait for an entry before each RDMA Read or Write. Used on one thread.
#include <boost/intrusive/slist.hpp>
#include <cstdint>
#include <utility>

namespace rpcrdma::transport {

class SendCredits;

/// The send queue entries that a SendCredits object has reserved for one owner. The destructor returns the entries that
/// the owner has not returned before. Move-only. Must not outlive the SendCredits object.
class SendUnits {
 public:
  SendUnits() noexcept = default;
  SendUnits(SendUnits&& other) noexcept
      : queue_(std::exchange(other.queue_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  SendUnits& operator=(SendUnits&& other) noexcept {
    if (this != &other) {
      release();
      queue_ = std::exchange(other.queue_, nullptr);
      count_ = std::exchange(other.count_, 0);
    }
    return *this;
  }
  ~SendUnits() { release(); }

  std::uint32_t count() const noexcept { return count_; }
  void release() noexcept;
  /// Gives `count` of the entries back to the SendCredits object.
  void release(std::uint32_t count) noexcept;
  /// Takes over the entries of `other`, which belong to the same SendCredits.
  void absorb(SendUnits other) noexcept {
    if (queue_ == nullptr) queue_ = other.queue_;
    count_ += std::exchange(other.count_, 0);
    other.queue_ = nullptr;
  }
  /// Drops the entries without returning them. For a connection that has ended.
  void forget() noexcept {
    queue_ = nullptr;
    count_ = 0;
  }

 private:
  friend class SendCredits;
  SendUnits(SendCredits& queue, std::uint32_t count) noexcept : queue_(&queue), count_(count) {}
  SendCredits* queue_ = nullptr;
  std::uint32_t count_ = 0;
};

/// A waiter for entries of a send queue. SendCredits serves its waiters in the order in which wait() has queued them.
class UnitWaiter : public boost::intrusive::slist_base_hook<> {
 public:
  /// Called by SendCredits::serve() when it has reserved the entries for this waiter. `units` holds these entries.
  virtual void on_units(SendUnits units) noexcept = 0;

 protected:
  ~UnitWaiter() = default;

 private:
  friend class SendCredits;
  std::uint32_t wanted_ = 0;
};

class SendCredits {
 public:
  explicit SendCredits(std::uint32_t capacity) noexcept : capacity_(capacity) {}
  SendCredits(const SendCredits&) = delete;
  SendCredits& operator=(const SendCredits&) = delete;

  std::uint32_t capacity() const noexcept { return capacity_; }
  std::uint32_t free() const noexcept { return capacity_ - used_; }
  bool has_waiters() const noexcept { return !waiters_.empty(); }
  /// The number of waiters that wait() has queued so far.
  std::uint64_t waits() const noexcept { return waits_; }

  /// The result is empty (count 0) if too few entries are free, or if a waiter is in the queue.
  SendUnits try_reserve(std::uint32_t count) noexcept {
    if (has_waiters() || count > free()) return {};
    used_ += count;
    return SendUnits(*this, count);
  }
  /// Adds `waiter` to the end of the queue of waiters. The waiter asks for `count` entries, or for capacity() entries
  /// if `count` is larger. serve() grants the entries when that many are free and no earlier waiter is left. After
  /// drop_waiters(), this function does nothing.
  void wait(UnitWaiter& waiter, std::uint32_t count) noexcept {
    if (dropped_) return;
    ++waits_;
    waiter.wanted_ = count < capacity_ ? count : capacity_;
    waiters_.push_back(waiter);
  }
  /// Grants free entries to the waiters.
  void serve() noexcept {
    while (has_waiters() && waiters_.front().wanted_ <= free()) {
      UnitWaiter& waiter = waiters_.front();
      waiters_.pop_front();
      used_ += waiter.wanted_;
      waiter.on_units(SendUnits(*this, waiter.wanted_));
    }
  }
  /// Removes all waiters. For a connection that has ended.
  void drop_waiters() noexcept {
    waiters_.clear();
    dropped_ = true;
  }

 private:
  friend class SendUnits;
  std::uint32_t capacity_;
  std::uint32_t used_ = 0;
  std::uint64_t waits_ = 0;
  bool dropped_ = false;
  boost::intrusive::slist<UnitWaiter, boost::intrusive::cache_last<true>, boost::intrusive::constant_time_size<false>>
      waiters_;
};

inline void SendUnits::release() noexcept { release(count_); }
inline void SendUnits::release(std::uint32_t count) noexcept {
  if (queue_ == nullptr) return;
  queue_->used_ -= count;
  count_ -= count;
  if (count_ == 0) queue_ = nullptr;
}

}  // namespace rpcrdma::transport
