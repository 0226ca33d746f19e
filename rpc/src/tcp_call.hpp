// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <vector>

#include "record_store.hpp"
#include "rpcrdma/base/budget.hpp"
#include "rpcrdma/responder/responder.hpp"
#include "rpcrdma/rpc/block_memory.hpp"

namespace rpcrdma::rpc {

class TcpCall;

/// The connection over which a TcpCall was received, as the call sees it. The connection outlives the call.
class TcpCallOwner {
 public:
  virtual ~TcpCallOwner() = default;
  virtual const fabric::ConnectionInfo& info() const noexcept = 0;
  virtual transport::ConnectionStatistics statistics() const noexcept = 0;
  virtual boost::asio::io_context& context() noexcept = 0;
  virtual memory::Pool& pool() noexcept = 0;
  /// Reserves memory for the data of the call's reply, until the call has ended.
  virtual void reserve(TcpCall& call, std::uint32_t bytes, transport::IncomingCall::Handler handler) = 0;
  /// Writes the reply of `call`; TcpCall::written() reports the outcome.
  virtual void write(TcpCall& call) noexcept = 0;
  virtual void ended(TcpCall& call) noexcept = 0;
  /// Closes the connection; `why` is logged.
  virtual void end_because(const char* why) noexcept = 0;
};

/// One call received over TCP: a record in one piece, without reduced items.
class TcpCall final : public transport::IncomingCall, private BudgetWaiter {
 public:
  /// Takes the record; false if it is not a call.
  bool start(std::shared_ptr<TcpCallOwner> owner, Record& record);
  /// Requests `bytes` for the reply data from `share`. `handler` runs when they are granted, perhaps at once, or when
  /// give_up() ends the wait.
  void await(BudgetShare& share, std::uint32_t bytes, Handler handler);
  /// To be called when the connection is lost. If await() still waits, ends the wait: the handler gets
  /// TransportError::connection_lost. Returns the number of bytes for which await() waited, or 0 if it did not wait.
  std::size_t give_up() noexcept;
  /// To be called when the reply has been written to the socket, or when it cannot be written any more. Ends the call,
  /// then runs the handler of send() with `status`.
  void written(error_code status) noexcept;
  /// Appends the parts of the record to `out`: the record mark, then the reply. Leaves out the first `skipped` bytes of
  /// the record. A part without an address is in pipe().
  void gather(std::vector<std::span<const std::byte>>& out, std::size_t skipped);
  /// The pipe given to send_from(); -1 if there is none.
  int pipe() const noexcept { return pipe_; }
  /// Bytes of the reply with its record mark.
  std::size_t reply_size() const noexcept { return sizeof(mark_) + reply_.payload().length; }

  /// `reserved` is the number of bytes that this call holds of the budget for reply data. `record_reserved` is the
  /// number of bytes that it holds of the budget for records.
  std::size_t reserved = 0;
  std::size_t record_reserved = 0;
  std::size_t record_size() const noexcept { return record_.size(); }
  /// The memory that held the record of the last call. To be called only while this object serves no call.
  Record& record() noexcept { return record_; }

  std::uint32_t xid() const noexcept override { return xid_; }
  const Payload& payload() const noexcept override { return message_; }
  const fabric::ConnectionInfo& connection() const noexcept override { return owner_->info(); }
  transport::ConnectionStatistics statistics() const noexcept override { return owner_->statistics(); }
  boost::asio::io_context& context() noexcept override { return owner_->context(); }
  memory::Pool& pool() noexcept override { return owner_->pool(); }
  void measure(transport::CallStatistics& statistics) noexcept override {
    latency_ = &statistics.latency;
    statistics.count(message_.length, 0);
    arrived_ = std::chrono::steady_clock::now();
  }
  bool over_tcp() const noexcept override { return true; }
  std::span<const std::uint32_t> write_chunks() const noexcept override { return {}; }
  void reserve_bulk(std::uint32_t bytes, Handler handler) override {
    owner_->reserve(*this, bytes, std::move(handler));
  }
  void pull(std::size_t, std::span<const BufferRef>, Handler handler) override;
  PayloadBuilder& reply() noexcept override;
  bool send_from(int pipe) noexcept override;
  void send(Handler handler) override;
  void discard() override;
  void fail() override { discard(); }

 private:
  void end() noexcept;
  void on_budget(std::size_t bytes) noexcept override;

  TcpCallOwner* owner_ = nullptr;
  // Keeps the owner alive from start() until the call is answered or discarded. While the reply is being written, the
  // write operation keeps the owner alive instead.
  std::shared_ptr<TcpCallOwner> alive_;
  Histogram* latency_ = nullptr;
  std::chrono::steady_clock::time_point arrived_;
  std::uint32_t xid_ = 0;
  int pipe_ = -1;
  Record record_;
  Payload message_;
  PayloadBuilder reply_;
  BlockMemory memory_;
  std::array<std::byte, 4> mark_{};
  Handler handler_;
  std::size_t awaited_ = 0;
  Handler on_granted_;
};

}  // namespace rpcrdma::rpc
