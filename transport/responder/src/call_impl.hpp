// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/container/small_vector.hpp>

#include "faulty_calls.hpp"
#include "rpcrdma/base/budget.hpp"
#include "rpcrdma/chunks/outgoing.hpp"
#include "rpcrdma/chunks/read_list.hpp"
#include "rpcrdma/chunks/reply_plan.hpp"
#include "rpcrdma/chunks/split.hpp"
#include "rpcrdma/connection/connection.hpp"
#include "rpcrdma/connection/work.hpp"
#include "rpcrdma/responder/responder.hpp"

namespace rpcrdma::transport {

class PullJob;
class Service;
class ServingLink;

/// A call being served. Pooled: its lists keep their capacity.
///
///     state      awaits                                        next
///     idle       nothing                                       queued
///     queued     a send credit for its reply                   pulling, delivered, replying
///     pulling    memory for a long call, then its Reads        delivered, replying
///     delivered  the handler                                   replying
///     replying   pulls; credits for RDMA Writes; the Send      idle
///
///     When the connection is lost, a delivered call waits for its handler; every other call ends.
class CallImpl final : public IncomingCall, private UnitWaiter {
 public:
  explicit CallImpl(Service& service) noexcept : service_(service) {}
  CallImpl(const CallImpl&) = delete;
  CallImpl& operator=(const CallImpl&) = delete;

  /// To be called when a call has arrived and its header has been decoded.
  void arrive(ServingLink& link, Connection& connection, Received& message, ChunkKinds kinds);
  /// To be called for a message that is to be answered by RDMA_ERROR.
  void refuse(ServingLink& link, Connection& connection, Received& message, wire::ErrorKind kind, error_code why);
  /// The connection has ended: no work of this call is posted any more.
  void lost();
  void pulled(PullJob& job, error_code status);
  Connection& transport() noexcept { return *connection_; }

  std::uint32_t xid() const noexcept override { return header_.xid; }
  const Payload& payload() const noexcept override { return payload_; }
  const fabric::ConnectionInfo& connection() const noexcept override { return connection_->info(); }
  boost::asio::io_context& context() noexcept override { return connection_->context(); }
  memory::Pool& pool() noexcept override { return connection_->pool(); }
  std::span<const std::uint32_t> write_chunks() const noexcept override { return write_sizes_; }
  void reserve_bulk(std::uint32_t octets, Handler handler) override;
  void pull(std::size_t index, std::span<const BufferRef> destination, Handler handler) override;
  void pull_rest(std::uint32_t offset, std::span<const BufferRef> destination, Handler handler) override;
  PayloadBuilder& reply() noexcept override;
  bool may_write_ahead(std::uint32_t length) const noexcept override;
  void write_ahead(Handler handler) override;
  void send(Handler handler) override;
  void discard() override;
  void fail() override;
  std::shared_ptr<ReverseRequester> reverse() override;
  ConnectionStatistics statistics() const noexcept override;
  void measure(CallStatistics& statistics) noexcept override;
  CharacteristicsExchange* exchange() noexcept override {
    return link_ != nullptr && !link_is_lost() ? connection_->exchange() : nullptr;
  }

 private:
  enum class State : std::uint8_t { idle, queued, pulling, delivered, replying };
  /// How a call ends after its pulls.
  enum class Ending : std::uint8_t { none, reply, error, silence };

  /// A call's request for bytes of a budget.
  template <void (CallImpl::*Function)() noexcept>
  class Request final : public BudgetWaiter {
   public:
    explicit Request(CallImpl& call) noexcept : call_(call) {}
    void on_budget(std::size_t) noexcept override { (call_.*Function)(); }

   private:
    CallImpl& call_;
  };

  void take(ServingLink& link, Connection& connection, Received& message);
  void reserve_place();
  void on_units(SendUnits units) noexcept override;
  void open_call();
  void pull_long_call() noexcept;
  void deliver(BufferRef stream);
  void bulk_granted() noexcept;
  bool link_is_lost() const noexcept;
  void note_wait();
  bool is_message(BufferRef stream) const noexcept;
  CallFingerprint fingerprint() const noexcept;

  void end(Ending how, Handler handler);
  void end_if_ready();
  void send_reply();
  void reply_too_long();
  void send_error(wire::ErrorKind kind, const char* why);
  bool settle_push();
  void push_or_wait();
  void push(SendUnits first);
  void on_written(const fabric::Completion& completion) noexcept;
  void written_ahead();
  void post_reply();
  std::optional<std::uint32_t> handle_to_invalidate() const noexcept;
  void on_sent(const fabric::Completion& completion) noexcept;
  void drop_jobs();
  void leave_link();
  void over(error_code status);
  void tell_later(Handler handler, error_code status);

  Service& service_;
  State state_ = State::idle;
  Ending ending_ = Ending::none;
  ServingLink* link_ = nullptr;  // null while idle, and after lost()
  ConnectionPtr connection_;     // keeps the connection's memory
  wire::Header header_;
  std::chrono::steady_clock::time_point arrived_;
  Histogram* latency_ = nullptr;  // counts the time that the call takes
  ChunkKinds kinds_ = 0;
  ReceiveLease lease_;
  BufferRef inline_payload_;
  ReadList reads_;
  Payload payload_;
  boost::container::small_vector<std::uint32_t, 2> write_sizes_;
  memory::RegisteredBuffer long_call_;
  std::size_t long_call_octets_ = 0;  // bytes held of the budget for long calls
  std::size_t bulk_ = 0;              // bytes held of the bulk budget
  std::size_t bulk_asked_ = 0;        // bytes requested from a budget and not yet granted
  Handler bulk_handler_;
  Request<&CallImpl::bulk_granted> bulk_request_{*this};
  Request<&CallImpl::pull_long_call> long_call_request_{*this};
  boost::container::small_vector<PullJob*, 2> jobs_;

  SendUnits reply_unit_;  // reserved before the call is checked
  SendUnits push_units_;
  PayloadBuilder builder_;
  Outgoing message_;
  ReplyPlan plan_;
  Splitter splitter_;
  std::size_t next_push_ = 0;
  std::optional<std::uint8_t> open_plan_;  // the result of plan_made(), for a reply that is not posted yet
  WriteOperation write_;
  GatherList ahead_stream_;  // the reply, as far as it was built at the last write_ahead()
  std::uint32_t ahead_ = 0;  // bytes of the reply that write_ahead() has begun to write
  Handler ahead_handler_;
  bool wrote_ = false;
  CallFingerprint written_;  // the call's fingerprint, if its reply has RDMA Writes
  wire::ErrorKind error_kind_ = wire::ErrorKind::chunk;
  error_code refusal_;  // why refuse() was called
  Handler handler_;
  MemberWork<CallImpl, &CallImpl::on_sent> send_work_{*this};
  MemberWork<CallImpl, &CallImpl::on_written> write_work_{*this};
};

}  // namespace rpcrdma::transport
