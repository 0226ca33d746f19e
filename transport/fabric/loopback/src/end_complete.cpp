// SPDX-License-Identifier: BSD-3-Clause
// Operation: completions are passed to the dispatcher, which runs one batch of them in each turn.
// Error handling: outstanding work of a connection that ended completes as flushed, in order. A completion that
// fail_nth() makes fail ends the connection on both sides.
#include "end.hpp"

namespace rpcrdma::fabric::loopback {

void End::complete(WorkContext& context, Completion completion, std::uint32_t& slots, std::uint32_t count) noexcept {
  const error_code fault = fabric_->faults.next(LoopbackOperation::completion);
  if (fault) completion = {fault, 0, {}};
  dispatcher_.add(context, completion, &slots, count);
  if (fault) violation(fault, FabricError::remote_terminated);
}

void End::flush() noexcept {
  for (const Work& work : work_) {
    if (work.window) work.window->invalidating = false;
    if (work.context != nullptr) dispatcher_.add(*work.context, {FabricError::flushed, 0, {}});
  }
  work_.clear();
  submitted_ = transmitted_ = 0;
  reads_out_ = unanswered_reads_ = 0;
  for (const Receive& receive : receives_)
    if (receive.context != nullptr) dispatcher_.add(*receive.context, {FabricError::flushed, 0, {}});
  receives_.clear();
}

void End::die(error_code why) noexcept {
  if (state_ == State::closed) return;
  state_ = State::closed;
  timer_.cancel();
  // Drops the frames and the Reads of the peer, so that they no longer access posted or exposed memory of this side.
  incoming_.clear();
  reads_in_.clear();
  std::erase_if(core_->windows(), [this](const auto& entry) {
    if (entry.second->owner != this) return false;
    entry.second->bound = false;
    --fabric_->bound_windows;
    return true;
  });
  flush();
  dispatcher_.disconnect(why);
  core_->schedule();
}

bool End::busy() const noexcept {
  if (dispatcher_.pending()) return true;
  if (state_ != State::established && state_ != State::closing) return false;
  const LoopbackPause paused = core_->paused();
  if (paused == LoopbackPause::none && (!incoming_.empty() || !reads_in_.empty())) return true;
  if (paused == LoopbackPause::half_placed && !incoming_.empty() && incoming_.front().due > core_->turn()) return true;
  if (state_ == State::closing && !close_sent_ && work_.empty()) return true;
  return transmitted_ < submitted_ && work_[transmitted_].kind != Work::Kind::read;
}

}  // namespace rpcrdma::fabric::loopback
