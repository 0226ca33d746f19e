// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "record_store.hpp"
#include "rpcrdma/rpc/tcp_server.hpp"
#include "tcp_budget.hpp"

namespace rpcrdma::rpc {

/// Fewer octets are not counted: so many may be held for each call that is served.
inline constexpr std::uint32_t kUncounted = 4096;

/// What all threads of a server share. Nothing here is touched on the data path but `calls`.
class TcpShared {
 public:
  TcpShared(TcpServerOptions o, Log l) : options(o), log(std::move(l)) {}

  /// Whether one more connection from there is within the limits; if so it counts until leave().
  bool enter(const boost::asio::ip::address& peer);
  void leave(const boost::asio::ip::address& peer) noexcept;
  std::uint32_t connections() const;

  const TcpServerOptions options;
  const Log log;
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> calls{0};

 private:
  mutable std::mutex mutex_;
  std::uint32_t connections_ = 0;
  std::map<boost::asio::ip::address, std::uint32_t> peers_;
};

class TcpConnection;

/// What the connections of one address share on one thread.
struct TcpPeer {
  TcpPeer(transport::Budget& all_bulk, transport::Budget& all_records) : bulk(all_bulk), records(all_records) {}

  AddressShare bulk;
  AddressShare records;
  std::size_t connections = 0;
};

/// One thread's connections. On that thread, but for what it is made of.
class TcpPart : public std::enable_shared_from_this<TcpPart> {
 public:
  TcpPart(TcpWorker w, std::shared_ptr<TcpShared> s);

  /// For a connection from there, until leave().
  TcpPeer& enter(const boost::asio::ip::address& address);
  void leave(const boost::asio::ip::address& address) noexcept;
  void add(TcpConnection& connection) { connections_.insert(&connection); }
  void remove(TcpConnection& connection) noexcept;
  /// Lets calls being served end; `handler` runs when there is no connection any more.
  void drain(UniqueFunction<void()> handler);
  /// Ends all connections.
  void cut() noexcept;
  bool draining() const noexcept { return draining_; }
  /// A connection is at work: from now on looks whether some are in the way of others.
  void watch();

  const TcpWorker worker;
  const std::shared_ptr<TcpShared> shared;
  RecordStore records;  ///< for those that are counted

 private:
  std::unordered_set<TcpConnection*> connections_;
  void look_again(std::shared_ptr<boost::asio::steady_timer> timer);
  bool on_look();

  bool draining_ = false;
  UniqueFunction<void()> on_empty_;
  bool watching_ = false;
  bool was_at_work_ = false;
  transport::Budget bulk_;
  transport::Budget all_records_;
  std::map<boost::asio::ip::address, TcpPeer> peers_;
};

}  // namespace rpcrdma::rpc
