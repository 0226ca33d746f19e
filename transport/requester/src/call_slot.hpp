// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "reply_check.hpp"
#include "rpcrdma/chunks/outgoing.hpp"
#include "rpcrdma/connection/connection.hpp"
#include "rpcrdma/connection/work.hpp"
#include "rpcrdma/requester/requester.hpp"

namespace rpcrdma::transport {

class RequesterCore;

/// The resources and the state of one call on the wire, from its Send until its last resource is released. A slot is
/// used for one call after another, so that its lists keep their capacity. The states are:
///
///     state     what the slot waits for                     what the slot holds
///     idle      nothing                                     nothing
///     on_wire   the reply                                   call, credit, XID, windows, memory
///     ending    the invalidation of the windows             as on_wire
///     orphan    a late reply                                credit, XID
///     draining  the completion of the Send                  send buffer
///
/// In the state `ending` the outcome of the call is known. If the Send reads memory of the caller, the slot also waits
/// for the completion of the Send. In the states `orphan` and `draining` the call is over. In the state `orphan` the
/// server has not answered the call, and the slot also holds the send buffer until the Send has completed.
///
///     idle -> on_wire -> ending -> idle | draining | orphan;  orphan -> idle | draining;  draining -> idle
///
/// When the connection is lost, a slot becomes idle at once. Exception: a slot in the state `ending` becomes idle only
/// when complete() is called.
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
  /// True if the call cannot end yet, because an invalidation, or a Send that reads the caller's memory, has not
  /// completed. The peer may delay both completions.
  bool held_up() const noexcept {
    return state_ == State::ending && (invalidate_pending_ || (needs_send_ && send_pending_));
  }
  /// The time limit for the end of a call that was given up and whose end waits for the peer (held_up()). If the call
  /// has not ended at this time, the connection is aborted. time_point::max() if there is no such limit.
  std::chrono::steady_clock::time_point over_by() const noexcept { return over_by_; }

  /// Encodes, plans, exposes and posts the call. The slot stays idle unless the result is `sent`.
  Start begin(Call& call, std::uint64_t sequence);
  /// To be called when the reply has arrived as `message`. Takes the contents of `message`. The header of `message` is
  /// swapped with that of the earlier reply of this slot.
  void answer(Received& message);
  void answer_error(error_code status);
  /// To be called when the server does not support the version of the call. The call is sent again once its memory is
  /// no longer exposed.
  void answer_version_refused();
  /// Gives up the call with `status`. A call that is on the wire ends without a reply. Its credit and XID stay in use
  /// until a reply arrives. A call that is ending keeps its outcome, but a call that was to be sent again ends with
  /// `status` instead. If the end of the call must wait for the peer, over_by() limits the wait.
  void give_up(error_code status);
  /// To be called when a reply or RDMA_ERROR arrives for a call that has been given up. A slot in the state `orphan`
  /// releases its credit and XID now. A slot in the state `ending` does so when the call ends.
  void answer_late();
  /// To be called when the connection has ended, which also ends every exposure. If the slot is in the state `on_wire`,
  /// this function removes the call from the slot and returns it: the caller sends the call again or ends it. If the
  /// slot is in the state `ending`, the call remains in the slot until complete() is called. In this case, as in the
  /// remaining states, the function returns null.
  Call* lost();
  /// If the slot is in the state `ending` and no invalidation is outstanding, ends the call: runs Call::done(). After
  /// answer_version_refused(), returns the call to the queue instead, unless it has been given up since.
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
  bool needs_send_ = false;  // the Send may read the caller's memory: the call must not end before the Send completes
  bool send_again_ = false;  // the server has refused the version of the call: to be sent again in another version
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
  std::size_t plan_bound_ = 0;  // how many windows were bound for the call, including those invalidated since
  SendUnits send_units_;        // send credits of the Send and the binds; released when the Send has completed
  SendUnits invalidate_units_;  // one per window
  wire::Header reply_header_;
  BufferRef reply_inline_;
  ReceiveLease reply_lease_;
  Payload reply_;
  MemberWork<CallSlot, &CallSlot::on_send> send_work_{*this};
  MemberWork<CallSlot, &CallSlot::on_invalidated> invalidate_work_{*this};
};

}  // namespace rpcrdma::transport
