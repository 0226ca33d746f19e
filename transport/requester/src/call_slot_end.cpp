// SPDX-License-Identifier: BSD-3-Clause
// Operation. A call that is answered ends in this order: match the reply, invalidate the exposed memory, check the
// reply, done() [8166-8.1.3-b] [8166-4.4.1-a]. Handles that the peer has invalidated are not invalidated again.
// Ownership. The reply stays in its receive buffer, or in the Reply chunk's memory, until done() has returned.
// Errors. The connection is ended first [8166-4.5.4-a], and then the call, in three cases: an invalidation, or the Send
// for which the call waits, fails; the peer delays the end of a call that was given up; or such a call has a window
// that the peer may still invalidate, and the fabric lacks Capabilities::late_invalidation.
#include "call_slot.hpp"
#include "requester_core.hpp"
#include "rpcrdma/connection/probe.hpp"

namespace rpcrdma::transport {

void CallSlot::answer(Received& message) {
  RPCRDMA_PROBE(reply_matched, &core_, xid_, message.payload.size);
  answered_ = true;
  std::swap(reply_header_, message.header);
  reply_inline_ = message.payload;
  reply_lease_ = std::move(message.lease);
  end({}, false);
}

void CallSlot::answer_error(error_code status) {
  answered_ = true;
  end(status, false);
}

void CallSlot::answer_version_refused() {
  answered_ = true;
  send_again_ = true;
  end({}, false);
}

void CallSlot::give_up(error_code status) {
  if (std::exchange(send_again_, false)) status_ = status;
  // [8166-4.4.1-c] [8166-8.1.3-c] The responder can still access the memory of a call that is on the wire. end()
  // invalidates the windows before the caller gets this memory back.
  if (state_ == State::on_wire) end(status, true);
  if (held_up() && over_by_ == std::chrono::steady_clock::time_point::max()) over_by_ = core_.grace_from_now();
}

void CallSlot::answer_late() {
  answered_ = true;
  if (state_ == State::orphan) let_go();
}

/// Ends this transmission of the call with `status`. When the peer can no longer access the memory of the call, and the
/// Send no longer reads it, done() runs or the call is sent again. If `deferred` is true, done() does not run inside
/// this function.
void CallSlot::end(error_code status, bool deferred) {
  state_ = State::ending;
  status_ = status;
  if (invalidate_windows()) return;
  if (needs_send_ && send_pending_) return;  // the Send still reads the caller's memory
  if (deferred) return core_.defer(*this);
  complete();
}

/// Invalidates the windows that are still bound. Returns true if the call must wait for a completion or for the end of
/// the connection: [8166-3.4.5.1-a] the memory is released only after the invalidation is complete.
bool CallSlot::invalidate_windows() {
  Connection* connection = core_.connection();
  std::size_t bound = 0;
  for (fabric::Window* window : windows_) bound += window->bound() ? 1 : 0;
  if (bound != 0 && !answered_ && connection->expects_invalidation() &&
      !connection->fabric().capabilities().late_invalidation) {
    // [8166-4.4.1-c] A late reply may still invalidate the windows by Send with Invalidate. On this fabric, this side
    // must not invalidate a window at the same time. Therefore it ends the connection, which invalidates the windows.
    invalidate_pending_ = true;
    connection->abort(fabric::FabricError::flushed);
    return true;
  }
  Requester::Counters& counters = core_.mutable_counters();
  // [8797-4.1-d] If the call has been answered, the responder's Send with Invalidate has invalidated the windows that
  // were bound for the call and are no longer bound.
  if (answered_) counters.remote_invalidations += plan_bound_ - bound;
  counters.local_invalidations += bound;
  for (fabric::Window* window : windows_) {
    if (!window->bound()) continue;
    // Invalidations complete in order: only the last one needs to report its completion.
    fabric::WorkContext* context = --bound == 0 ? &invalidate_work_ : nullptr;
    invalidate_pending_ = true;
    // [8166-4.5.4-a] A failure of invalidate() has aborted the connection. The call then ends after the connection.
    if (connection->invalidate(*window, context)) return true;
  }
  return invalidate_pending_;
}

void CallSlot::on_invalidated(const fabric::Completion& completion) noexcept {
  Connection& connection = *core_.connection();
  connection.enter_batch();
  // [8166-4.5.4-a] If the invalidation has failed, the peer may still access the memory of the call. Therefore this
  // side aborts the connection, and the call ends only after the connection has ended.
  if (completion.status) return connection.abort(completion.status);
  invalidate_pending_ = false;
  if (needs_send_ && send_pending_) return;
  complete();
}

void CallSlot::on_send(const fabric::Completion& completion) noexcept {
  Connection& connection = *core_.connection();
  connection.enter_batch();
  if (completion.status) return connection.abort(completion.status);
  send_pending_ = false;
  send_units_.release();
  switch (state_) {
    case State::draining: return recycle();
    case State::orphan: return message_.reset();
    case State::ending:
      if (needs_send_ && !invalidate_pending_) complete();
      return;
    default: return;
  }
}

void CallSlot::complete() {
  if (state_ != State::ending || invalidate_pending_) return;
  if (Connection* connection = core_.connection())
    for (fabric::Window* window : windows_) connection->give_window(window);
  windows_.clear();
  plan_bound_ = 0;
  invalidate_units_.release();
  if (!send_pending_) send_units_.release();
  finish_call();
}

void CallSlot::finish_call() {
  Call& call = *call_;
  call_ = nullptr;
  CallAccess::state(call) = CallAccess::State::over;
  CallAccess::slot(call) = nullptr;
  core_.call_over();
  if (send_again_) {
    call.reply_arrival = nullptr;  // the window no longer belongs to the call
    core_.send_again(call);
    return let_go();
  }
  error_code status = status_;
  // done() reads the reply in this memory, also if the connection ends in done() and lost() releases the slot.
  memory::RegisteredBuffer reply_memory = std::move(reply_memory_);
  if (!status) {
    const BufferRef memory = reply_memory ? reply_memory.ref() : call.reply_memory;
    const ReplyContext context{&plan_.header, call.results, memory, reply_inline_, call.max_reply};
    status = accept_reply(context, reply_header_, reply_);
    ++core_.mutable_counters().replies;
  }
  state_ = State::draining;  // keeps the slot in use while done() runs, unless the connection ends meanwhile
  RPCRDMA_PROBE(call_completed, &core_, xid_, status.value());
  call.done(status, status ? nullptr : &reply_);
  // If the connection has ended during done(), lost() has released the slot. It has kept reply_lease_, because the
  // lease holds the receive buffer that done() reads.
  if (state_ != State::draining) return reply_lease_.release();
  reply_memory.reset();
  let_go();
}

/// To be called when the call has left the slot and its memory is no longer exposed [8166-4.4.1-b]. Releases the memory
/// of the reply. The slot keeps the send buffer until the Send has completed. It keeps the credit and the XID until the
/// responder has answered the call, because a late reply may still arrive.
void CallSlot::let_go() {
  reply_lease_.release();
  reply_memory_.reset();
  state_ = State::orphan;
  if (!send_pending_) message_.reset();
  if (!answered_) return;
  core_.answered(*this);
  state_ = State::draining;
  if (!send_pending_) recycle();
}

void CallSlot::recycle() {
  message_.reset();
  state_ = State::idle;
  core_.recycle(*this);
}

void CallSlot::forget_connection() noexcept {
  if (call_ != nullptr) call_->reply_arrival = nullptr;
  windows_.clear();
  plan_bound_ = 0;
  send_units_.forget();
  invalidate_units_.forget();
  send_pending_ = invalidate_pending_ = false;
}

Call* CallSlot::lost() {
  forget_connection();
  if (state_ == State::ending) {
    // The slot need not wait for a late reply, because no reply can arrive any more. With answered_ set, let_go()
    // recycles the slot.
    answered_ = true;
    return nullptr;
  }
  if (state_ == State::idle) return nullptr;
  Call* call = std::exchange(call_, nullptr);
  if (call != nullptr) core_.call_over();
  reply_memory_.reset();
  core_.answered(*this);
  recycle();
  return call;
}

}  // namespace rpcrdma::transport
