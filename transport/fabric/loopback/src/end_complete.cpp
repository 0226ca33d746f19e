// SPDX-License-Identifier: BSD-3-Clause
// Operation: what is ready runs as one batch, then on_batch_end; on_disconnected comes last of all.
// Ownership: any callback may destroy the queue pair: after each, destroyed_ is looked at.
// Error handling: outstanding work of a connection that ended completes as flushed, in order.
#include "end.hpp"

namespace rpcrdma::fabric::loopback {

void End::dispatch() {
  const auto self = shared_from_this();
  if (established_pending_ && !destroyed_) {
    established_pending_ = false;
    events_->on_established(info_);
  }
  bool any = false;
  for (std::size_t left = ready_.size(); left > 0 && !destroyed_; --left) {
    Ready ready = ready_.front();
    ready_.pop_front();
    send_slots_ -= ready.send_slots;
    receive_slots_ -= ready.receive_slots;
    if (!ready.completion.status) {
      if (const error_code error = fabric_->faults.next(LoopbackOperation::completion)) {
        ready.completion = {error, 0, {}};
        violation(error, FabricError::remote_terminated);
      }
    }
    any = true;
    ++fabric_->counters.completions;
    ready.context->on_completion(ready.completion);
  }
  if (any && !destroyed_) {
    ++fabric_->counters.batches;
    events_->on_batch_end();
  }
  if (!destroyed_ && disconnected_ && ready_.empty()) {
    const error_code why = *disconnected_;
    disconnected_.reset();
    events_->on_disconnected(why);
  }
}

void End::flush() noexcept {
  for (const Work& work : work_) {
    if (work.window) work.window->invalidating = false;
    if (work.context != nullptr) ready_.push_back({work.context, {FabricError::flushed, 0, {}}, 0, 0});
  }
  work_.clear();
  submitted_ = transmitted_ = 0;
  reads_out_ = 0;
  for (const Receive& receive : receives_)
    if (receive.context != nullptr) ready_.push_back({receive.context, {FabricError::flushed, 0, {}}, 0, 0});
  receives_.clear();
}

void End::die(error_code why) noexcept {
  if (state_ == State::closed) return;
  state_ = State::closed;
  timer_.cancel();
  // From here on nothing touches exposed memory.
  incoming_.clear();
  reads_in_.clear();
  std::erase_if(core_->windows(), [this](const auto& entry) {
    if (entry.second->owner != this) return false;
    entry.second->bound = false;
    --fabric_->bound_windows;
    return true;
  });
  flush();
  established_pending_ = false;
  disconnected_ = why;
  core_->schedule();
}

bool End::busy() const noexcept {
  if (destroyed_) return false;
  if (established_pending_ || !ready_.empty() || disconnected_) return true;
  if (state_ != State::established && state_ != State::closing) return false;
  const LoopbackPause paused = core_->paused();
  if (paused == LoopbackPause::none && (!incoming_.empty() || !reads_in_.empty())) return true;
  if (paused == LoopbackPause::half_placed && !incoming_.empty() && incoming_.front().due > core_->turn()) return true;
  if (state_ == State::closing && !close_sent_ && work_.empty()) return true;
  return transmitted_ < submitted_ && work_[transmitted_].kind != Work::Kind::read;
}

}  // namespace rpcrdma::fabric::loopback
