// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "faulty_calls.hpp"
#include "rpcrdma/base/budget.hpp"
#include "rpcrdma/base/peer_table.hpp"
#include "rpcrdma/base/recycler.hpp"
#include "rpcrdma/responder/server.hpp"

namespace rpcrdma::transport {

class CallImpl;
class PullJob;

struct ServiceSetup {
  CallHandler* handler = nullptr;
  std::size_t bulk_budget = 0;
  std::uint32_t max_chunk = 0;
  bool may_use_chunks = true;
  FaultyCalls* faulty_calls = nullptr;  ///< may be null
  Log log;
  std::uint32_t first_of_long_call = std::numeric_limits<std::uint32_t>::max();
};

/// The resources that the connections of one thread share when they serve calls: pooled calls, the budgets for bulk
/// data and long calls, counters.
class Service {
 public:
  explicit Service(const ServiceSetup& setup);
  ~Service();

  const ServiceSetup& setup() const noexcept { return setup_; }
  /// The budget for reserve_bulk().
  Budget& budget() noexcept { return budget_; }
  /// True if a call waits because too few bytes of one of the two budgets are free. While this is true, the server
  /// grants fewer credits to each connection.
  bool short_of_memory() const noexcept { return budget_.is_short() || long_call_budget_.is_short(); }
  bool has_waiters() const noexcept { return budget_.has_waiters() || long_call_budget_.has_waiters(); }
  /// The budget bytes that the connections of one peer address hold.
  struct Peer {
    explicit Peer(Service& service) noexcept : bulk(service.budget_), long_calls(service.long_call_budget_) {}
    BudgetPeer bulk;
    BudgetPeer long_calls;
  };
  using PeerRef = PeerTable<Peer>::Ref;
  PeerRef enter(const boost::asio::ip::address& peer) { return peers_.enter(peer, *this); }
  /// The shares to which a call moves its budget bytes when it leaves its connection. The call may give the bytes back
  /// after the connection, with its own shares, has ended.
  BudgetShare& lost_bulk() noexcept { return lost_bulk_; }
  BudgetShare& lost_long_calls() noexcept { return lost_long_calls_; }

  CallImpl& take_call();
  void give_back(CallImpl& call) noexcept;
  PullJob& take_job();
  void give_back(PullJob& job) noexcept;
  std::size_t calls_in_use() const noexcept { return calls_.in_use(); }
  /// Runs whenever a call has ended. May be empty.
  UniqueFunction<void()> on_call_over;
  /// Runs when a call has to wait for a budget. May be empty.
  UniqueFunction<void()> on_wait;

  /// Written on the thread of the connections, read on any thread.
  struct Counters {
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> errors_sent{0};
    std::atomic<std::uint64_t> discarded{0};
    std::atomic<std::uint64_t> invalidated{0};
    std::atomic<std::uint64_t> receives_raised{0};
    std::atomic<std::uint64_t> receives_lowered{0};
    std::atomic<std::size_t> bulk_in_use{0};
  };
  Counters counters;
  void count(std::atomic<std::uint64_t>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void note_wait() {
    if (on_wait) on_wait();
  }
  void note_bulk() noexcept {
    counters.bulk_in_use.store(budget_.used() + long_call_budget_.used(), std::memory_order_relaxed);
  }

 private:
  ServiceSetup setup_;
  Budget budget_;
  // The budget for the memory of long calls. A long call that holds bytes of this budget may wait for bytes of budget_.
  // If both kinds of bytes came from one budget, several long calls could hold all its bytes and wait for each other.
  Budget long_call_budget_;
  PeerTable<Peer> peers_;
  Peer lost_{*this};
  BudgetShare lost_bulk_{lost_.bulk};
  BudgetShare lost_long_calls_{lost_.long_calls};
  Recycler<CallImpl> calls_;
  Recycler<PullJob> jobs_;
};

}  // namespace rpcrdma::transport
