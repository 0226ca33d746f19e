// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "rpcrdma/responder/budget.hpp"
#include "rpcrdma/responder/server.hpp"
#include "suspects.hpp"

namespace rpcrdma::transport {

class CallImpl;
class PullJob;

struct ServiceSetup {
  CallHandler* handler = nullptr;
  std::size_t bulk_budget = 0;
  std::uint32_t max_chunk = 0;
  bool may_use_chunks = true;
  Suspects* suspects = nullptr;  ///< may be null
  Log log;
};

/// What the connections of one thread share when they serve calls: pooled calls, the bulk budget, counters.
class Service {
 public:
  explicit Service(const ServiceSetup& setup);
  ~Service();

  const ServiceSetup& setup() const noexcept { return setup_; }
  /// For reserve_bulk().
  Budget& budget() noexcept { return budget_; }
  /// Long calls have a share of their own, a quarter beside the budget: a call that waits for bulk memory must
  /// never wait for another that waits as well.
  Budget& long_call_budget() noexcept { return long_call_budget_; }
  /// Somebody waits for memory: clients should send less for now.
  bool short_of_memory() const noexcept { return budget_.has_waiters() || long_call_budget_.has_waiters(); }
  /// Hold what calls have that outlive their connection.
  BudgetShare& lost_bulk() noexcept { return lost_bulk_; }
  BudgetShare& lost_long_calls() noexcept { return lost_long_calls_; }

  CallImpl& take_call();
  void give_back(CallImpl& call) noexcept;
  PullJob& take_job();
  void give_back(PullJob& job) noexcept { idle_jobs_.push_back(&job); }
  std::size_t calls_in_use() const noexcept { return calls_.size() - idle_calls_.size(); }
  /// Runs whenever a call has ended. May be empty.
  UniqueFunction<void()> on_call_over;

  /// Written by this thread, read by any.
  struct Counters {
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> errors_sent{0};
    std::atomic<std::uint64_t> discarded{0};
    std::atomic<std::uint64_t> invalidated{0};
    std::atomic<std::size_t> bulk_in_use{0};
  };
  Counters counters;
  void count(std::atomic<std::uint64_t>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void note_bulk() noexcept {
    counters.bulk_in_use.store(budget_.used() + long_call_budget_.used(), std::memory_order_relaxed);
  }

 private:
  ServiceSetup setup_;
  Budget budget_;
  Budget long_call_budget_;
  BudgetShare lost_bulk_;
  BudgetShare lost_long_calls_;
  std::vector<std::unique_ptr<CallImpl>> calls_;
  std::vector<CallImpl*> idle_calls_;
  std::vector<std::unique_ptr<PullJob>> jobs_;
  std::vector<PullJob*> idle_jobs_;
};

}  // namespace rpcrdma::transport
