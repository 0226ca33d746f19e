// SPDX-License-Identifier: BSD-3-Clause
// Operation. Calls wait in one queue. They are sent in order, as soon as there are a connection, a credit, memory and
// room in the send queue. done() never runs inside submit() or cancel(): calls that end there complete from the
// io_context.
// Ownership. Calls belong to the layer above; slots belong to a pool of this object.
// Errors. A call that cannot be sent fails; the calls after it are still sent.
#include "requester_core.hpp"

#include <algorithm>

#include "rpcrdma/base/random_number.hpp"
#include "rpcrdma/connection/probe.hpp"

namespace rpcrdma::transport {

RequesterCore::RequesterCore(const RequesterSetup& setup, UniqueFunction<void()> want_connection)
    : setup_(setup),
      want_connection_(std::move(want_connection)),
      credits_(setup.credits),
      table_(setup.credits),
      timer_(*setup.context),
      next_xid_(random_number()) {}

RequesterCore::~RequesterCore() {
  do shut(BaseError::cancelled);
  while (!failed_.empty());
}

std::uint32_t RequesterCore::next_xid() noexcept {
  while (table_.find(next_xid_) != nullptr) ++next_xid_;  // [8167-2.4-a] XIDs in flight are unique
  return next_xid_++;
}

void RequesterCore::submit(Call& call) {
  ++counters_.calls;
  RPCRDMA_PROBE(call_queued, this, call.xid, waiting_.size());
  CallAccess::was_sent(call) = false;
  CallAccess::submitted(call) = time();
  if (shut_) return fail_later(call, shut_);
  if (waiting_.size() >= setup_.max_waiting) return fail_later(call, BaseError::out_of_memory);
  CallAccess::state(call) = CallAccess::State::waiting;
  if (connection_ && credits_.available() <= connection_->held_credits()) ++connection_->counted().credit_waits;
  waiting_.push_back(call);
  const auto deadline = call.deadline;
  if (connection_)
    pump();
  else
    want_connection_();
  // A connection request that want_connection_() has sent need not wait for the system call of the timer.
  if (deadline != std::chrono::steady_clock::time_point::max()) arm(deadline);
}

void RequesterCore::cancel(Call& call) {
  switch (CallAccess::state(call)) {
    case CallAccess::State::waiting:
      waiting_.erase(waiting_.iterator_to(call));
      return fail_later(call, BaseError::cancelled);
    case CallAccess::State::on_wire:
      gave_up_at_ = std::chrono::steady_clock::now();
      arm(gave_up_at_ + (setup_.patience.count() != 0 ? setup_.patience : setup_.silence));  // for break_if_stuck()
      return static_cast<CallSlot*>(CallAccess::slot(call))->give_up(BaseError::cancelled);
    default: return;
  }
}

void RequesterCore::pump() {
  if (pumping_ || !connection_ || !connection_->connected()) return;
  pumping_ = true;
  // [8166-3.3.1-a] [8166-3.3.3-a] [8166-8.1.4-b] sends no more calls than there are credits
  while (credits_.available() > connection_->held_credits() && !waiting_.empty() && connection_->connected()) {
    Call& call = waiting_.front();
    const CallSlot::Start started = start(call);
    if (started == CallSlot::Start::sent) {
      stalled_ = false;
      continue;
    }
    if (started == CallSlot::Start::wait && !std::exchange(stalled_, true)) {
      Traffic& counted = connection_->counted();
      ++(start_failure_ == fabric::FabricError::queue_full ? counted.send_queue_waits : counted.memory_waits);
    }
    // If memory or send credits are missing, the call stays in the queue while calls on the wire, or work of the other
    // direction, can release some. Otherwise nothing would release any, and the call fails.
    if (started == CallSlot::Start::wait && (slots_.in_use() != 0 || connection_->has_work())) break;
    waiting_.pop_front();
    fail_later(call, started == CallSlot::Start::wait ? error_code(BaseError::out_of_memory) : start_failure_);
  }
  pumping_ = false;
}

CallSlot::Start RequesterCore::start(Call& call) {
  if (table_.find(call.xid) != nullptr) {
    start_failure_ = BaseError::invalid_argument;
    return CallSlot::Start::failed;
  }
  CallSlot& slot = take_slot();
  const CallSlot::Start started = slot.begin(call, sequence_++);
  if (started != CallSlot::Start::sent) {
    start_failure_ = slot.failure();
    recycle(slot);
    return started;
  }
  waiting_.pop_front();
  CallAccess::state(call) = CallAccess::State::on_wire;
  CallAccess::slot(call) = &slot;
  if (std::exchange(CallAccess::was_sent(call), true)) {
    ++counters_.resent;
    connection_->message_log(call.xid).debug("call sent again");
  }
  table_.insert(slot.xid(), slot);
  credits_.call_sent();
  ++calls_on_wire_;
  return started;
}

CallSlot& RequesterCore::take_slot() {
  if (CallSlot* const idle = slots_.try_take()) return *idle;
  CallSlot& slot = slots_.add(std::make_unique<CallSlot>(*this));
  deferred_.reserve(slots_.size());
  return slot;
}

void RequesterCore::answered(CallSlot& slot) noexcept {
  table_.erase(slot.xid());
  credits_.call_answered();
}

void RequesterCore::fail_later(Call& call, error_code why) {
  CallAccess::state(call) = CallAccess::State::failed;
  CallAccess::failure(call) = why;
  failed_.push_back(call);
  schedule_deferred();
}

void RequesterCore::send_again(Call& call) {
  CallAccess::state(call) = CallAccess::State::waiting;
  waiting_.push_front(call);
}

void RequesterCore::fail_waiting(error_code why) {
  while (!waiting_.empty()) {
    Call& call = waiting_.front();
    waiting_.pop_front();
    fail_later(call, why);
  }
}

void RequesterCore::defer(CallSlot& slot) {
  deferred_.push_back(&slot);
  schedule_deferred();
}

void RequesterCore::schedule_deferred() {
  if (deferred_scheduled_) return;
  deferred_scheduled_ = true;
  guard_.post(*setup_.context, [](RequesterCore& self) { self.run_deferred(); });
}

void RequesterCore::run_deferred() {
  deferred_scheduled_ = false;
  // Iterates by index: done() may submit and cancel calls, which may append to the list and move it. New entries wait
  // for the next run.
  std::size_t due = deferred_.size();
  for (std::size_t i = 0; i < std::min(due, deferred_.size()); ++i) deferred_[i]->complete();
  due = std::min(due, deferred_.size());
  deferred_.erase(deferred_.begin(), deferred_.begin() + static_cast<std::ptrdiff_t>(due));
  for (std::size_t left = failed_.size(); left != 0 && !failed_.empty(); --left) {
    Call& call = failed_.front();
    failed_.pop_front();
    CallAccess::state(call) = CallAccess::State::over;
    RPCRDMA_PROBE(call_completed, this, call.xid, CallAccess::failure(call).value());
    call.done(CallAccess::failure(call), nullptr);
  }
  pump();
  if (on_idle) on_idle();
}

Traffic RequesterCore::traffic() const noexcept {
  Traffic sum = ended_traffic_;
  if (connection_) sum += connection_->traffic();
  return sum;
}

/// Records the latency of a call whose reply has just arrived. heard_at_ must be the time of this arrival.
void RequesterCore::note_latency(Call& call) noexcept {
  if (call.statistics == nullptr) return;
  const auto spent = std::chrono::nanoseconds(heard_at_ - CallAccess::submitted(call)).count();
  call.statistics->latency.add(static_cast<std::uint64_t>(std::max<std::int64_t>(spent, 0)));
}

Requester::Counters RequesterCore::counters() const noexcept {
  Counters out = counters_;
  out.in_flight = calls_on_wire_;
  out.waiting = static_cast<std::uint32_t>(waiting_.size());
  out.granted = connection_ ? credits_.granted() : 0;
  return out;
}

}  // namespace rpcrdma::transport
