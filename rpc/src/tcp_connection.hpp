// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <utility>

#include "tcp_call.hpp"
#include "tcp_part.hpp"
#include "tcp_record.hpp"

namespace rpcrdma::rpc {

/// Reads one record after the other and hands it to the handler; replies are written in the order in which they come.
/// Reading stops while as many calls as allowed are being served. Shared by its outstanding operations and its calls.
class TcpConnection final : public TcpCallOwner,
                            public std::enable_shared_from_this<TcpConnection>,
                            private BudgetClaim {
 public:
  /// `peer` has entered; it leaves when the connection is closed.
  TcpConnection(std::shared_ptr<TcpPart> part, boost::asio::ip::tcp::socket socket, fabric::Endpoint peer);
  ~TcpConnection() override;

  void start();
  /// No more calls: those being served are answered, then it is closed.
  void drain() noexcept;
  void close() noexcept override;
  /// Whether its peer does not go on, and for long enough now that others wait for memory that it holds. To be asked
  /// every second or so while it is at_work().
  bool is_in_the_way(std::chrono::steady_clock::time_point now) noexcept;
  /// Serves calls, or holds memory for one.
  bool at_work() const noexcept { return serving_ != 0 || record_reserved_ != 0; }

  const fabric::ConnectionInfo& info() const noexcept override { return info_; }
  boost::asio::io_context& context() noexcept override { return *part_->worker.context; }
  memory::Pool& pool() noexcept override { return *part_->worker.pool; }
  void write(TcpCall& call) noexcept override;
  void ended(TcpCall& call) noexcept override;
  void reserve(TcpCall& call, std::uint32_t octets, transport::IncomingCall::Handler handler) override;

 private:
  using Clock = std::chrono::steady_clock;
  /// How long nothing has moved, as far as looks tell.
  class Standstill {
   public:
    void begin() noexcept { since_ = Clock::now(); }
    Clock::duration look(std::uint64_t progress, Clock::time_point now) noexcept {
      if (std::exchange(seen_, progress) != progress) since_ = std::max(since_, now);
      return now - since_;
    }

   private:
    std::uint64_t seen_ = 0;
    Clock::time_point since_;
  };

  void read_next();
  void on_read(error_code status);
  void await_room();
  void granted(std::size_t octets) noexcept override;
  std::uint64_t taken_by_peer() noexcept;
  void on_record();
  void write_next();
  bool may_read() const noexcept;
  void watch();
  void on_tick();

  std::shared_ptr<TcpPart> part_;
  TcpPeer* peer_;  // of the part
  ConnectionShare bulk_;
  ConnectionShare records_;
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
  std::size_t record_reserved_ = 0;             // for the one that is being read
  std::shared_ptr<TcpConnection> awaits_room_;  // itself, as no operation is outstanding
  Standstill reading_stands_;
  Standstill writing_stands_;
  std::uint64_t written_ = 0;  // octets, of whole replies and of the one that is being written
  std::uint64_t written_before_ = 0;
  std::uint64_t seen_progress_ = 0;  // at the last tick
  Clock::time_point last_progress_;
  std::vector<std::unique_ptr<TcpCall>> calls_;
  std::vector<TcpCall*> rest_;
  std::deque<TcpCall*> replies_;
  std::vector<std::span<const std::byte>> gather_;
  std::vector<boost::asio::const_buffer> buffers_;
};

}  // namespace rpcrdma::rpc
