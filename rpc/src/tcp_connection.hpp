// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_set>

#include "rpcrdma/rpc/tcp_server.hpp"
#include "tcp_call.hpp"
#include "tcp_record.hpp"

namespace rpcrdma::rpc {

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

/// One thread's connections. On that thread, but for what it is made of.
class TcpPart {
 public:
  TcpPart(TcpWorker w, std::shared_ptr<TcpShared> s) : worker(w), shared(std::move(s)) {}

  void add(TcpConnection& connection) { connections_.insert(&connection); }
  void remove(TcpConnection& connection) noexcept;
  /// Lets calls being served end; `handler` runs when there is no connection any more.
  void drain(UniqueFunction<void()> handler);
  /// Ends all connections.
  void cut() noexcept;
  bool draining() const noexcept { return draining_; }
  /// Runs `handler` when `octets` of the budget are free, in order of asking; perhaps at once.
  void reserve(std::uint32_t octets, transport::IncomingCall::Handler handler);
  void release(std::uint32_t octets) noexcept;

  const TcpWorker worker;
  const std::shared_ptr<TcpShared> shared;

 private:
  std::unordered_set<TcpConnection*> connections_;
  struct Waiting {
    std::uint32_t octets = 0;
    transport::IncomingCall::Handler handler;
  };

  bool fits(std::uint32_t octets) const noexcept { return octets <= shared->options.bulk_budget - bulk_; }

  bool draining_ = false;
  UniqueFunction<void()> on_empty_;
  std::size_t bulk_ = 0;
  std::deque<Waiting> waiting_;
  bool serving_waiting_ = false;
};

/// Reads one record after the other and hands it to the handler; replies are written in the order in which they come.
/// Reading stops while as many calls as allowed are being served. Shared by its outstanding operations and its calls.
class TcpConnection final : public TcpCallOwner, public std::enable_shared_from_this<TcpConnection> {
 public:
  /// `peer` has entered; it leaves when the connection is closed.
  TcpConnection(std::shared_ptr<TcpPart> part, boost::asio::ip::tcp::socket socket, fabric::Endpoint peer);
  ~TcpConnection() override { close(); }

  void start();
  /// No more calls: those being served are answered, then it is closed.
  void drain() noexcept;
  void close() noexcept;

  const fabric::ConnectionInfo& info() const noexcept override { return info_; }
  boost::asio::io_context& context() noexcept override { return *part_->worker.context; }
  memory::Pool& pool() noexcept override { return *part_->worker.pool; }
  void write(TcpCall& call) noexcept override;
  void ended(TcpCall& call) noexcept override;
  void reserve(TcpCall& call, std::uint32_t octets, transport::IncomingCall::Handler handler) override;

 private:
  void read_next();
  void on_read(error_code status);
  void on_record();
  void write_next();
  bool may_read() const noexcept;
  void watch();
  void on_tick();

  std::shared_ptr<TcpPart> part_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  fabric::ConnectionInfo info_;
  RecordReader reader_;
  bool open_ = true;
  bool draining_ = false;
  bool reading_ = false;
  bool writing_ = false;
  std::uint32_t serving_ = 0;
  std::size_t serving_octets_ = 0;
  std::uint64_t written_ = 0;        // replies
  std::uint64_t seen_progress_ = 0;  // at the last tick
  std::chrono::steady_clock::time_point last_progress_;
  std::vector<std::unique_ptr<TcpCall>> calls_;
  std::vector<TcpCall*> rest_;
  std::deque<TcpCall*> replies_;
  std::vector<std::span<const std::byte>> gather_;
  std::vector<boost::asio::const_buffer> buffers_;
};

}  // namespace rpcrdma::rpc
