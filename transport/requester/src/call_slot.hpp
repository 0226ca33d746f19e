// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "reply_check.hpp"
#include "rpcrdma/chunks/outgoing.hpp"
#include "rpcrdma/connection/connection.hpp"
#include "rpcrdma/connection/work.hpp"
#include "rpcrdma/requester/requester.hpp"

namespace rpcrdma::transport {

class RequesterCore;

/// One call on the wire, from its Send until its last resource is released. Pooled: its lists keep their capacity.
///
///     state     awaits                                      holds
///     idle      nothing                                     nothing
///     on_wire   the reply                                   call, credit, XID, windows, memory
///     ending    invalidation (and the Send's completion)    as on_wire; the outcome is known
///     orphan    a late reply: the call is over              credit, XID (and the send buffer until the Send completes)
///     draining  the Send's completion: the call is          the send buffer
///               answered and over
///
///     idle -> on_wire -> ending -> idle | draining | orphan;  orphan -> idle | draining;  draining -> idle
///     Loss of the connection: any -> idle, but `ending` only by complete().
class CallSlot {
 public:
  enum class State : std::uint8_t { idle, on_wire, ending, orphan, draining };
  enum class Start : std::uint8_t {
    sent,    ///< the slot has taken the call, which is on the wire or ending
    wait,    ///< a shortage at present: of send credits if failure() is FabricError::queue_full, otherwise of memory
    failed,  ///< the call cannot be sent: see failure()
  };

  explicit CallSlot(RequesterCore& core) noexcept : core_(core) {}
  CallSlot(const CallSlot&) = delete;
  CallSlot& operator=(const CallSlot&) = delete;

  State state() const noexcept { return state_; }
  Call* call() const noexcept { return call_; }
  std::uint32_t xid() const noexcept { return xid_; }
  std::uint64_t sequence() const noexcept { return sequence_; }
  bool answered() const noexcept { return answered_; }
  std::uint32_t version() const noexcept { return plan_.header.version; }
  error_code failure() const noexcept { return status_; }
  /// True if the end of the call waits for the peer.
  bool held_up() const noexcept {
    return state_ == State::ending && (invalidate_pending_ || (needs_send_ && send_pending_));
  }
  /// If the call was given up and its end waits for the peer: the time at which the connection is aborted unless the
  /// call has ended. Otherwise time_point::max().
  std::chrono::steady_clock::time_point over_by() const noexcept { return over_by_; }

  /// Encodes, plans, exposes and posts the call. The slot stays idle unless the result is `sent`.
  Start begin(Call& call, std::uint64_t sequence);
  /// To be called when the reply has arrived. Takes the header out of `message` by a swap.
  void answer(Received& message);
  void answer_error(error_code status);
  /// To be called when the server does not support the version of the call. The call is sent again once its memory is
  /// no longer exposed.
  void answer_version_refused();
  /// Ends a call that is on the wire without a reply; its credit stays in use until a reply arrives. A call that is
  /// ending already keeps its outcome, but is not sent again. If the end must wait for the peer, limits that wait.
  void give_up(error_code status);
  /// To be called when the reply of an orphan has arrived, or the reply of a call that is ending by give_up().
  void answer_late();
  /// To be called when the connection has ended, and with it every exposure. Returns the call if it was on the wire,
  /// for the caller to send again or to end. A call that is ending remains in the slot, for complete().
  Call* lost();
  /// If the call is in the state `ending` and waits for no invalidation: runs done(). After answer_version_refused(),
  /// queues the call again instead, unless it has been given up since.
  void complete();

 private:
  Start build(Call& call);
  Start expose();
  Start lacks_send_credits() noexcept;
  Start post();
  error_code bind_all();
  BufferRef reply_memory() const noexcept;
  error_code bind(BufferRef memory, fabric::Access access, Segment& out);
  Start bind_failed(error_code why);
  void end(error_code status, bool deferred);
  bool invalidate_windows();
  void forget_connection() noexcept;
  void finish_call();
  void let_go();
  void recycle();
  void on_send(const fabric::Completion& completion) noexcept;
  void on_invalidated(const fabric::Completion& completion) noexcept;

  RequesterCore& core_;
  State state_ = State::idle;
  bool answered_ = false;
  bool send_pending_ = false;
  bool invalidate_pending_ = false;
  bool needs_send_ = false;  // the Send may gather from memory of the caller
  bool send_again_ = false;  // the call is to be sent again, in another version
  Call* call_ = nullptr;
  std::chrono::steady_clock::time_point over_by_;
  std::uint32_t xid_ = 0;
  std::uint64_t sequence_ = 0;
  error_code status_;
  PayloadBuilder builder_;
  Outgoing message_;
  CallPlan plan_;
  memory::RegisteredBuffer reply_memory_;
  boost::container::small_vector<fabric::Window*, 4> windows_;
  std::size_t plan_bound_ = 0;  // the number of windows that were bound
  SendUnits send_units_;        // for the Send and the binds, until the Send has completed
  SendUnits invalidate_units_;  // one per window
  wire::Header reply_header_;
  BufferRef reply_inline_;
  ReceiveLease reply_lease_;
  Payload reply_;
  MemberWork<CallSlot, &CallSlot::on_send> send_work_{*this};
  MemberWork<CallSlot, &CallSlot::on_invalidated> invalidate_work_{*this};
};

}  // namespace rpcrdma::transport
