// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "record_store.hpp"
#include "rpcrdma/base/admission.hpp"
#include "rpcrdma/base/budget.hpp"
#include "rpcrdma/base/peer_table.hpp"
#include "rpcrdma/rpc/tcp_server.hpp"

namespace rpcrdma::rpc {

/// The largest number of bytes that a call may use for its record, or for the data of its reply, without being counted
/// against a budget.
inline constexpr std::uint32_t kUncounted = 4096;

/// The state of a server that its threads share. To serve a call, a thread reads only the constants `options` and
/// `log`, so that the threads do not wait for each other.
class TcpShared {
 public:
  TcpShared(TcpServerOptions o, Log l)
      : options(o), log(std::move(l)), admission_(o.max_connections, o.max_connections_per_peer) {}

  /// Counts a connection of `peer` and returns true, or returns false if a limit is reached. leave() removes
  /// the connection from the count.
  bool enter(const boost::asio::ip::address& peer) {
    const std::lock_guard lock(mutex_);
    return admission_.enter(peer);
  }
  void leave(const boost::asio::ip::address& peer) noexcept {
    const std::lock_guard lock(mutex_);
    admission_.leave(peer);
  }
  std::uint32_t connections() const {
    const std::lock_guard lock(mutex_);
    return admission_.total();
  }

  const TcpServerOptions options;
  const Log log;
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> failed{0};

 private:
  mutable std::mutex mutex_;
  Admission admission_;
};

class TcpConnection;

/// The bytes that the connections of one peer address hold on one thread.
struct TcpPeer {
  TcpPeer(Budget& reply_bytes, Budget& record_bytes) noexcept : replies(reply_bytes), records(record_bytes) {}

  BudgetPeer replies;
  BudgetPeer records;
};

/// One worker's connections and the memory of their calls. Used on the worker's thread, except for the constructor,
/// context() and calls(), and for cut() in ~TcpServer(). Replies and records have separate budgets, because a call that
/// holds its record may wait for memory for its reply.
class TcpWorkerState {
 public:
  TcpWorkerState(const TcpWorker& worker, std::shared_ptr<TcpShared> s);

  PeerTable<TcpPeer>::Ref enter(const boost::asio::ip::address& peer) { return peers_.enter(peer, replies_, records_); }
  void add(TcpConnection& connection) { connections_.insert(&connection); }
  void remove(TcpConnection& connection) noexcept;
  /// Drains all connections; `handler` runs when none is left.
  void drain(UniqueFunction<void()> handler);
  /// Ends all connections.
  void cut() noexcept;
  bool draining() const noexcept { return draining_; }
  void count_call() noexcept { calls_.store(calls_.load(kRelaxed) + 1, kRelaxed); }
  /// The number of calls received. May be called on any thread.
  std::uint64_t calls() const noexcept { return calls_.load(kRelaxed); }
  /// As TcpServer::report().
  std::vector<transport::ConnectionReport> report(std::size_t most) const;
  /// Frees the memory that record_store keeps for later records. Does nothing while connections hold bytes of the
  /// budget records_.
  void trim() noexcept {
    if (records_.used() == 0) record_store.clear();
  }

  boost::asio::io_context& context() const noexcept { return *worker_.context; }
  memory::Pool& pool() const noexcept { return *worker_.pool; }
  transport::CallHandler& handler() const noexcept { return *worker_.handler; }

  const std::shared_ptr<TcpShared> shared;
  LogLimit end_lines;  ///< limits the log lines about connections that end, or that are refused during a drain
  /// Keeps the memory of records whose calls have ended, and provides it for later records. Only records for which a
  /// connection reserves bytes of the budget records_ take memory from here.
  RecordStore record_store;

 private:
  static constexpr std::memory_order kRelaxed = std::memory_order_relaxed;

  TcpWorker worker_;
  std::atomic<std::uint64_t> calls_{0};  // written by the worker's thread alone
  std::unordered_set<TcpConnection*> connections_;
  bool draining_ = false;
  UniqueFunction<void()> on_empty_;
  Budget replies_;
  Budget records_;
  PeerTable<TcpPeer> peers_;
};

}  // namespace rpcrdma::rpc
