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

/// A call being served. The object is used again for later calls, so that its lists keep their capacity.
///
///     state      awaits                                                       next
///     idle       nothing                                                      queued
///     queued     a send credit for its reply                                  pulling, delivered, replying
///     pulling    memory for a long call, then the RDMA Reads of this call     delivered, replying
///     delivered  the answer of the handler                                    replying
///     replying   the RDMA Reads in progress, then send credits for RDMA       idle
///                Writes, then the completion of the Send of the reply
///
/// When the connection is lost, a call in the state `delivered` still awaits the answer of its handler. A call in any
/// other state ends.
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
  /// How the call ends when its RDMA Reads in progress have completed: by a reply, by an RDMA_ERROR, or without an
  /// answer. `none` while this is not decided.
  enum class Ending : std::uint8_t { none, reply, error, silence };

  /// Waits for bytes of a budget on behalf of a call, and runs `Function` of the call when the budget has granted them.
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
  ConnectionPtr connection_;     // shares ownership: the Connection must exist as long as the call
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

  SendUnits reply_unit_;  // the entry of the send queue for the reply, reserved before the call is checked
  SendUnits push_units_;
  PayloadBuilder builder_;
  Outgoing message_;
  ReplyPlan plan_;
  Splitter splitter_;
  std::size_t next_push_ = 0;
  // The result of Connection::plan_made(), from the planning of a version-two reply until that reply is posted.
  std::optional<std::uint8_t> open_plan_;
  WriteOperation write_;
  // The reply, as far as it was built when write_ahead() was last called. splitter_ refers to this list while it
  // divides these bytes into RDMA Writes.
  GatherList ahead_stream_;
  std::uint32_t ahead_ = 0;  // bytes of the reply that write_ahead() has begun to write
  Handler ahead_handler_;
  bool wrote_ = false;
  // The fingerprint of this call, set by post_reply() if RDMA Writes have been posted for the call. It covers the
  // inline message of the call, so post_reply() computes it before it releases the receive buffer.
  CallFingerprint written_;
  wire::ErrorKind error_kind_ = wire::ErrorKind::chunk;
  error_code refusal_;  // the reason that the caller of refuse() gave, for the log
  Handler handler_;
  MemberWork<CallImpl, &CallImpl::on_sent> send_work_{*this};
  MemberWork<CallImpl, &CallImpl::on_written> write_work_{*this};
};

}  // namespace rpcrdma::transport
