// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <vector>

#include "call_access.hpp"
#include "call_slot.hpp"
#include "rpcrdma/base/recycler.hpp"
#include "rpcrdma/base/weak_guard.hpp"
#include "rpcrdma/connection/credits.hpp"
#include "xid_table.hpp"

namespace rpcrdma::transport {

struct RequesterSetup {
  boost::asio::io_context* context = nullptr;
  std::uint32_t credits = 1;  ///< the maximum number of calls in flight, which is also the number requested of the peer
  /// The number of receives to post for messages of the other direction, in addition to one receive for each reply.
  std::uint32_t other_credits = 0;
  std::uint32_t max_long_call = 1u << 20;
  std::uint32_t max_waiting = 1u << 16;
  std::chrono::milliseconds silence{10000};
  /// If calls that were given up hold all credits, the connection is aborted when this time has passed since the last
  /// call was given up. If 0, it is aborted as soon as the timer of the requester finds this state.
  std::chrono::milliseconds patience{0};
  std::chrono::milliseconds grace{
      1000};  ///< the time that the peer has to stop using the memory of a call that was given up
  bool may_use_chunks = true;
  /// Whether calls on the wire are sent again on the next connection when their connection is lost. If false, they
  /// fail. A server sets it to false for its reverse calls, because a server cannot connect to its client.
  bool resends = true;
  Log log;
};

/// Implements Requester for either direction. Uses one connection at a time.
class RequesterCore final : public Requester {
 public:
  /// `want_connection` runs when submit() queues a call and there is no connection.
  RequesterCore(const RequesterSetup& setup, UniqueFunction<void()> want_connection);
  ~RequesterCore() override;

  void submit(Call& call) override;
  void cancel(Call& call) override;
  std::uint32_t next_xid() noexcept override;
  Counters counters() const noexcept override;
  Traffic traffic() const noexcept override;

  /// Makes `connection` the one that carries calls, and sends waiting calls as pump() does. Until detach(), the caller
  /// must forward the events of the connection to this object.
  void attach(ConnectionPtr connection);
  /// To be called when the connection has ended. If RequesterSetup::resends is true and shut() has not been called, the
  /// calls on the wire return to the front of the waiting calls, in their order. Otherwise they fail.
  void detach();
  /// Ends every call submitted so far: done() of each call runs within this function, with `why` unless the outcome of
  /// the call is already known. No connection may be attached afterwards. A call that is submitted later
  /// fails, and its done() runs from the io_context.
  void shut(error_code why);
  /// True if any call is not over.
  bool has_calls() const noexcept { return !waiting_.empty() || calls_on_wire_ != 0 || !failed_.empty(); }
  bool has_waiting() const noexcept { return !waiting_.empty(); }
  /// Ends every waiting call; done() runs from the io_context.
  void fail_waiting(error_code why);
  /// Fails `call`, which must not have been submitted, with `why`. Call::done() does not run within this function, but
  /// later from the io_context.
  void refuse(Call& call, error_code why) { fail_later(call, why); }

  /// To be called when a message shows that the peer is alive.
  void heard() noexcept { heard_at_ = time(); }
  void on_reply(Received& message);
  void on_peer_error(Received& message);
  /// Counts and logs a received message that is dropped without an answer. `why` describes the message in the log.
  void discard(std::uint32_t xid, const char* why) noexcept {
    count_discarded();
    if (connection_) connection_->message_log(xid).debug("message discarded: {}", why);
  }
  void count_discarded() noexcept {
    ++counters_.discarded_replies;
    if (connection_) ++connection_->counted().discarded;
  }
  bool proven() const noexcept { return proven_; }  ///< a call of this connection was answered
  bool expects(std::uint32_t xid) const noexcept { return table_.find(xid) != nullptr; }
  /// Sends waiting calls, as far as credits, memory and the send queue allow.
  void pump();

  /// A function that the owner sets, for example to check whether has_calls() has become false. The function runs from
  /// the io_context after calls have ended outside of the events of a connection. It does not run for calls that end
  /// within such an event, because the owner receives the event itself. May be empty.
  UniqueFunction<void()> on_idle;

  // For the slots.
  Connection* connection() const noexcept { return connection_.get(); }
  const RequesterSetup& setup() const noexcept { return setup_; }
  const Credits& credits() const noexcept { return credits_; }
  Counters& mutable_counters() noexcept { return counters_; }
  void note_latency(Call& call) noexcept;
  void call_over() noexcept { --calls_on_wire_; }
  void answered(CallSlot& slot) noexcept;
  void recycle(CallSlot& slot) noexcept { slots_.give_back(slot); }
  void defer(CallSlot& slot);
  /// Puts `call`, which is no longer on the wire, at the front of the waiting calls.
  void send_again(Call& call);
  /// The time at which the connection is aborted if a call that is given up now has still not ended.
  std::chrono::steady_clock::time_point grace_from_now();

 private:
  std::chrono::steady_clock::time_point time() const noexcept {
    return connection_ ? connection_->batch_time() : std::chrono::steady_clock::now();
  }
  CallSlot& take_slot();
  CallSlot::Start start(Call& call);
  void fail_later(Call& call, error_code why);
  void schedule_deferred();
  void run_deferred();
  void arm(std::chrono::steady_clock::time_point deadline);
  void on_timer();
  void expire(Call& call);
  void break_if_stuck();
  bool refuses_version(const wire::Header& error) const noexcept;

  RequesterSetup setup_;
  UniqueFunction<void()> want_connection_;
  ConnectionPtr connection_;
  Credits credits_;
  CallQueue waiting_;
  CallQueue failed_;
  Recycler<CallSlot> slots_;
  error_code start_failure_;  // why start() last returned Start::wait or Start::failed
  std::vector<CallSlot*> deferred_;
  XidTable table_;
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point armed_for_ = std::chrono::steady_clock::time_point::max();
  WeakGuard<RequesterCore> guard_{*this};
  std::chrono::steady_clock::time_point heard_at_;
  std::chrono::steady_clock::time_point gave_up_at_;  // when a call on the wire last timed out or was cancelled
  std::uint64_t sequence_ = 0;
  std::uint32_t next_xid_;
  std::uint32_t calls_on_wire_ = 0;
  Counters counters_;
  Traffic ended_traffic_;  // the sum over connections that have ended
  bool stalled_ = false;   // a call has lacked memory or send credits, and no call has been sent since
  bool pumping_ = false;
  bool deferred_scheduled_ = false;
  bool proven_ = false;
  error_code shut_;  // set by shut(): the error of later calls
};

}  // namespace rpcrdma::transport
