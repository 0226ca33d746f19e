// SPDX-License-Identifier: BSD-3-Clause
// Operation: frames are taken in order once they are due; a Write may be placed in two steps.
// Ownership: data is placed only in memory of a posted receive, a bound or pinned window, or an outstanding Read.
// Error handling: a violation by the peer ends the connection on both sides; nothing more is placed.
#include <cstring>
#include <utility>

#include "end.hpp"

namespace rpcrdma::fabric::loopback {

void End::arrive() {
  while ((state_ == State::established || state_ == State::closing) && !incoming_.empty()) {
    if (core_->paused() == LoopbackPause::before_arrival) return;
    Frame& frame = incoming_.front();
    if (frame.due > core_->turn()) return;
    if (!frame.counted) {
      if (!core_->may_arrive()) {
        const error_code reset = boost::system::errc::make_error_code(boost::system::errc::connection_reset);
        violation(reset, reset);
        return;
      }
      frame.counted = true;
      core_->arrived();
    }
    switch (take(frame)) {
      case Arrival::taken: incoming_.pop_front(); break;
      case Arrival::wait:
      case Arrival::dead: return;
    }
  }
}

End::Arrival End::take(Frame& frame) {
  switch (frame.kind) {
    case Frame::Kind::send: return take_send(frame);
    case Frame::Kind::write: return take_write(frame);
    case Frame::Kind::read_request: return take_read_request(frame);
    case Frame::Kind::read_response: return take_read_response(frame);
    case Frame::Kind::close: return take_close();
  }
  return Arrival::taken;
}

End::Arrival End::violation(error_code ours, error_code peers) noexcept {
  if (const auto peer = peer_.lock()) peer->die(peers);
  die(ours);
  return Arrival::dead;
}

std::shared_ptr<WindowState> End::accessed(const Frame& frame, Access access) const noexcept {
  const auto found = core_->windows().find(frame.handle);
  // [5041-7.1-b] [5040-7.2-c] the STag must be valid, belong to this stream, and grant the access
  if (found == core_->windows().end() || found->second->owner != this) return nullptr;
  const WindowState& window = *found->second;
  if (window.access != access) return nullptr;
  // Without exact window bounds the peer can reach the region around the window.
  std::uint64_t first = window.segment.offset;
  std::uint64_t size = window.memory.size;
  if (!fabric_->capabilities.exact_window_bounds) {
    first -= static_cast<std::uint64_t>(window.memory.data - window.region.data());
    size = window.region.size();
  }
  const std::uint64_t from = frame.offset - first;  // wraps to a large number if the offset is below the range
  if (from > size || frame.length > size - from) return nullptr;
  return found->second;
}

End::Arrival End::take_send(Frame& frame) {
  if (frame.invalidate && !frame.revoked) {
    const auto found = core_->windows().find(*frame.invalidate);
    // [5040-7.2-b] the STag must be valid and belong to this stream
    if (found == core_->windows().end() || found->second->owner != this || !fabric_->capabilities.remote_invalidation)
      return violation(FabricError::protocol_violation, FabricError::remote_terminated);
    frame.revoked = found->second;
    // [5040-5.3-e] the STag becomes invalid before the completion is reported
    unbind(*frame.revoked);
  }
  if (frame.revoked && frame.revoked->pins != 0) return Arrival::wait;
  if (receives_.empty()) core_->count_overrun();
  if (receives_.empty()) return violation(FabricError::no_receive, FabricError::remote_terminated);
  const Receive receive = receives_.front();
  // [5040-5.3-c] a Send must not be longer than its Receive
  if (frame.length > receive.buffer.size) core_->count_overrun();
  if (frame.length > receive.buffer.size)
    return violation(FabricError::message_too_long, FabricError::remote_terminated);
  receives_.pop_front();
  const std::optional<std::uint32_t> invalidated = frame.invalidate;
  if (frame.length != 0) std::memcpy(receive.buffer.data, frame.octets.data(), frame.length);
  const std::uint32_t length = frame.length + std::exchange(fabric_->overstatement, 0u);
  if (receive.context == nullptr)
    --receive_slots_;
  else
    complete(*receive.context, {{}, length, invalidated}, receive_slots_, 1);
  return state_ == State::closed ? Arrival::dead : Arrival::taken;
}

End::Arrival End::take_write(Frame& frame) {
  if (frame.length == 0) return Arrival::taken;  // [5041-5.2-e] an empty Write is not checked
  const std::uint32_t half = frame.length / 2;
  if (!frame.pin) {
    auto window = accessed(frame, Access::remote_write);
    if (window == nullptr) return violation(FabricError::protocol_violation, FabricError::remote_access);
    std::memcpy(window->at(frame.offset), frame.octets.data(), half);
    frame.pin = Pin(std::move(window));
    if (core_->paused() == LoopbackPause::half_placed) return Arrival::wait;
    if (core_->options().max_delay != 0) {
      frame.due = core_->due();
      if (frame.due > core_->turn()) return Arrival::wait;
    }
  }
  if (core_->paused() == LoopbackPause::half_placed) return Arrival::wait;
  if (frame.pin->destroyed) return violation(FabricError::protocol_violation, FabricError::remote_access);
  std::memcpy(frame.pin->at(frame.offset) + half, frame.octets.data() + half, frame.length - half);
  return Arrival::taken;
}

End::Arrival End::take_read_request(Frame& frame) {
  // [5040-6.1-c] Refuses a Read Request if the peer already has as many Reads outstanding as the IRD permits.
  if (reads_in_.size() >= info_.inbound_reads)
    return violation(FabricError::protocol_violation, FabricError::remote_access);
  if (frame.length != 0) {  // [5040-5.2.1-e] an empty Read is not checked
    auto window = accessed(frame, Access::remote_read);
    if (window == nullptr) return violation(FabricError::protocol_violation, FabricError::remote_access);
    frame.pin = Pin(std::move(window));
  }
  frame.due = core_->due();
  reads_in_.push_back(std::move(frame));
  return Arrival::taken;
}

End::Arrival End::take_read_response(Frame& frame) {
  for (Work& work : work_) {
    if (work.kind != Work::Kind::read || work.stage != Work::Stage::waiting) continue;
    if (frame.length != 0) std::memcpy(work.gather.front().data, frame.octets.data(), frame.length);
    work.stage = Work::Stage::done;
    --reads_out_;
    --unanswered_reads_;
    break;
  }
  return Arrival::taken;
}

End::Arrival End::take_close() {
  if (state_ == State::closing) {
    // The close of the peer waits until this side has no outstanding work and has sent its own close.
    if (!close_sent_) return Arrival::wait;
    die({});
    return Arrival::dead;
  }
  Frame frame;
  frame.kind = Frame::Kind::close;
  send_frame(std::move(frame));
  die({});
  return Arrival::dead;
}

}  // namespace rpcrdma::fabric::loopback
