// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <utility>

#include "rpcrdma/base/recycler.hpp"
#include "tcp_call.hpp"
#include "tcp_record.hpp"
#include "tcp_worker_state.hpp"

namespace rpcrdma::rpc {

/// Measures how long a peer has made no progress although progress was expected. The user calls look() repeatedly. Each
/// call returns the time that has passed since the last progress was seen, or since progress was not expected.
class Standstill {
 public:
  using Clock = std::chrono::steady_clock;
  /// `expected`: the peer is expected to make progress. `progress`: any value that changes when the peer makes
  /// progress.
  Clock::duration look(bool expected, std::uint64_t progress, Clock::time_point now) noexcept {
    const bool still = std::exchange(expected_, expected) && expected && progress == seen_;
    seen_ = progress;
    if (!still) since_ = now;
    return now - since_;
  }
  /// The time from which look() measures: the argument `now` of the latest look() that returned zero.
  Clock::time_point since() const noexcept { return since_; }

 private:
  bool expected_ = false;
  std::uint64_t seen_ = 0;
  Clock::time_point since_;
};

/// A TCP connection of a server. It reads records one after the other and passes each call to the handler. It writes
/// the replies in the order in which the handler makes them. Several replies that are ready at the same time are
/// written with one system call, up to a limit, or up to one that has data in a pipe. The connection does not begin to
/// read the next record while the calls in progress have reached TcpServerOptions::max_calls in number or
/// max_call_bytes in size. The outstanding operations and the calls in progress share the ownership of this object.
class TcpConnection final : public TcpCallOwner,
                            public std::enable_shared_from_this<TcpConnection>,
                            private BudgetWaiter {
 public:
  /// The caller must have counted the connection with TcpShared::enter(). When the connection is closed, shut() calls
  /// TcpShared::leave(), so that it is no longer counted.
  TcpConnection(std::shared_ptr<TcpWorkerState> worker, boost::asio::ip::tcp::socket socket, fabric::Endpoint peer);
  ~TcpConnection() override;

  void start();
  std::uint64_t calls_taken() const noexcept { return calls_taken_; }
  transport::ConnectionReport report(std::chrono::steady_clock::time_point now) const;
  /// Reads no more calls, and closes the connection once the calls being served have been answered.
  void drain() noexcept;
  /// Ends the connection for a reason that is no fault of the peer.
  void close() noexcept { end({}); }
  /// Ends the connection, and writes `why` to the log. If `why` is no error, or the end of the stream between two
  /// records, the log reports an orderly end.
  void end(error_code why) noexcept;

  void end_because(const char* why) noexcept override;

  const fabric::ConnectionInfo& info() const noexcept override { return info_; }
  transport::ConnectionStatistics statistics() const noexcept override {
    if (!open_) return {};
    return {calls_taken_, serving_, 0, reply_share_.used()};
  }
  boost::asio::io_context& context() noexcept override { return worker_->context(); }
  memory::Pool& pool() noexcept override { return worker_->pool(); }
  void write(TcpCall& call) noexcept override;
  void ended(TcpCall& call) noexcept override;
  void reserve(TcpCall& call, std::uint32_t bytes, transport::IncomingCall::Handler handler) override;

 private:
  LogAbout end_log() const noexcept { return log_.limited(worker_->end_lines); }
  void shut() noexcept;
  void read_next();
  void on_read(error_code status);
  void await_room();
  void on_budget(std::size_t bytes) noexcept override;
  std::uint64_t acknowledged() noexcept;
  void on_record();
  void part() noexcept;
  void discard(std::shared_ptr<std::array<std::byte, 16384>> buffer);
  void flush_soon();
  void flush();
  std::size_t send_replies(error_code& status);
  bool may_read() const noexcept;
  void watch();
  void on_tick();

  std::shared_ptr<TcpWorkerState> worker_;
  PeerTable<TcpPeer>::Ref peer_;
  BudgetShare reply_share_;
  BudgetShare record_share_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  fabric::ConnectionInfo info_;
  Log log_;  // about this connection
  RecordReader reader_;
  bool open_ = true;
  bool draining_ = false;
  // True after part(): all replies are written, and this side waits for a short time until the peer closes its side.
  bool parting_ = false;
  bool reading_ = false;
  bool writing_ = false;  // waits until the socket takes more bytes
  // True while on_read() passes the received calls to the handler. on_read() then flushes the replies that the handler
  // has already given, all at once.
  bool receiving_ = false;
  bool flushing_ = false;  // flush() runs; it may end calls, so that others reply
  bool flush_posted_ = false;
  // True if timer_ expires at the idle timeout, because the connection is idle. Otherwise timer_ expires at the shorter
  // interval of the checks for progress.
  bool sleeps_ = false;
  const std::chrono::steady_clock::time_point accepted_at_ = std::chrono::steady_clock::now();
  std::uint64_t calls_taken_ = 0;
  std::uint64_t received_ = 0;  // bytes of calls
  std::uint32_t serving_ = 0;
  std::size_t serving_bytes_ = 0;
  std::size_t record_reserved_ = 0;             // bytes reserved for the record that is being read
  std::shared_ptr<TcpConnection> awaits_room_;  // keeps this object alive while it waits for budget for a record
  Standstill reading_stands_;
  Standstill writing_stands_;
  Standstill idle_;
  std::uint64_t written_ = 0;      // bytes written to the socket
  std::size_t front_written_ = 0;  // bytes of the first reply that are written
  Recycler<TcpCall> calls_;
  std::deque<TcpCall*> replies_;
  std::vector<std::span<const std::byte>> gather_;
};

}  // namespace rpcrdma::rpc
