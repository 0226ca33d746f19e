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

/// Measures for how long a peer has not made the expected progress, by repeated calls of look().
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
  /// The time of the last look() that returned zero.
  Clock::time_point since() const noexcept { return since_; }

 private:
  bool expected_ = false;
  std::uint64_t seen_ = 0;
  Clock::time_point since_;
};

/// Reads records one after the other and passes each to the handler. Writes the replies in the order in which the
/// handler makes them, several of them with one system call if they are ready at the same time. Stops reading while the
/// connection has reached its limit of calls or of bytes of calls. Its outstanding operations and its calls share
/// ownership.
class TcpConnection final : public TcpCallOwner,
                            public std::enable_shared_from_this<TcpConnection>,
                            private BudgetWaiter {
 public:
  /// TcpShared has counted the connection for `peer`; shut() calls TcpShared::leave().
  TcpConnection(std::shared_ptr<TcpWorkerState> worker, boost::asio::ip::tcp::socket socket, fabric::Endpoint peer);
  ~TcpConnection() override;

  void start();
  std::uint64_t calls_taken() const noexcept { return calls_taken_; }
  transport::ConnectionReport report(std::chrono::steady_clock::time_point now) const;
  /// Reads no more calls, and closes the connection once the calls being served have been answered.
  void drain() noexcept;
  /// Ends the connection for a reason that is no fault of the peer.
  void close() noexcept { end({}); }
  /// Ends the connection; `why` is for the log.
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
  bool parting_ = false;  // all replies are written; waits for the peer to close its side
  bool reading_ = false;
  bool writing_ = false;    // waits until the socket takes more bytes
  bool receiving_ = false;  // hands records to the handler: their replies are flushed together afterwards
  bool flush_posted_ = false;
  bool sleeps_ = false;  // true if the timer waits for the idle timeout
  const std::chrono::steady_clock::time_point accepted_at_ = std::chrono::steady_clock::now();
  std::uint64_t calls_taken_ = 0;
  std::uint64_t received_ = 0;  // bytes of calls
  std::uint32_t serving_ = 0;
  std::size_t serving_bytes_ = 0;
  std::size_t record_reserved_ = 0;             // bytes reserved for the record that is being read
  std::shared_ptr<TcpConnection> awaits_room_;  // keeps this object alive while it waits for room
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
