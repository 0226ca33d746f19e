// SPDX-License-Identifier: BSD-3-Clause
// Operation: submitted work becomes frames, in order. A Read beyond ORD waits, and all later work waits behind it.
// Accepted Reads are answered in order. Finished work leaves the queue in order of posting.
// Ownership: a frame in transit has its own copy of the bytes.
// Error handling: an access whose window has been destroyed ends the connection.
#include <algorithm>
#include <cstring>
#include <utility>

#include "end.hpp"

namespace rpcrdma::fabric::loopback {
namespace {

void append(std::vector<std::byte>& out, Octets octets) { out.insert(out.end(), octets.begin(), octets.end()); }

}  // namespace

void End::move_frames() {
  const auto self = shared_from_this();
  arrive();
  serve_reads();
  transmit();
  retire();
}

void End::transmit() {
  if (state_ != State::established && state_ != State::closing) return;
  while (transmitted_ < submitted_ && transmit(work_[transmitted_])) ++transmitted_;
  if (state_ == State::closing && !close_sent_ && work_.empty()) {
    close_sent_ = true;
    Frame frame;
    frame.kind = Frame::Kind::close;
    send_frame(std::move(frame));
  }
}

bool End::transmit(Work& work) {
  if (work.kind == Work::Kind::bind) {
    work.stage = Work::Stage::done;
    return true;
  }
  if (work.kind == Work::Kind::invalidate) {
    unbind(*work.window);
    work.stage = Work::Stage::waiting;  // retire() completes the work when no frame pins the window
    return true;
  }
  // [5040-6.1-b] at most ORD Reads are outstanding
  if (work.kind == Work::Kind::read && reads_out_ >= info_.outbound_reads) return false;
  Frame frame;
  frame.length = work.length;
  frame.handle = work.handle;
  frame.offset = work.offset;
  frame.invalidate = work.options.invalidate;
  work.stage = Work::Stage::done;
  switch (work.kind) {
    case Work::Kind::send: frame.kind = Frame::Kind::send; break;
    case Work::Kind::write: frame.kind = Frame::Kind::write; break;
    default:
      frame.kind = Frame::Kind::read_request;
      work.stage = Work::Stage::waiting;  // for the Read Response
      ++reads_out_;
      break;
  }
  if (frame.kind != Frame::Kind::read_request)
    for (const BufferRef& buffer : work.gather) append(frame.octets, buffer.octets());
  send_frame(std::move(frame));
  return true;
}

void End::send_frame(Frame frame) {
  const auto peer = peer_.lock();
  if (peer == nullptr || peer->state_ == State::closed) return;
  if (core_->tracing()) {
    LoopbackTraceEntry entry;
    entry.kind = frame.kind;
    entry.from = fabric_->label;
    entry.queue_pair = number_;
    entry.length = frame.length;
    entry.handle = frame.handle;
    entry.offset = frame.offset;
    entry.invalidate = frame.invalidate;
    if (frame.kind == Frame::Kind::send) entry.octets = frame.octets;
    core_->record(std::move(entry));
  }
  frame.due = core_->due();
  peer->enqueue(std::move(frame));
  core_->schedule();
}

void End::enqueue(Frame frame) {
  auto at = incoming_.end();
  if (core_->options().reorder && frame.kind == Frame::Kind::write) {
    // [5041-5.3-c] consecutive Writes may be placed in any order
    while (at != incoming_.begin() && std::prev(at)->kind == Frame::Kind::write && !std::prev(at)->pin &&
           core_->chance(2) == 0)
      --at;
  }
  incoming_.insert(at, std::move(frame));
}

void End::serve_reads() {
  while (!reads_in_.empty() && core_->paused() == LoopbackPause::none && reads_in_.front().due <= core_->turn()) {
    Frame& request = reads_in_.front();
    Frame response;
    response.kind = Frame::Kind::read_response;
    response.length = request.length;
    if (request.length != 0) {
      const WindowState& window = *request.pin.operator->();
      if (window.destroyed) {
        violation(FabricError::protocol_violation, FabricError::remote_access);
        return;
      }
      append(response.octets, {window.at(request.offset), request.length});
    }
    reads_in_.pop_front();
    send_frame(std::move(response));
  }
}

/// [5040-5.5-f] work completes in order of posting; a Read completes only after its Response is placed
void End::retire() {
  while (!work_.empty()) {
    Work& work = work_.front();
    if (work.kind == Work::Kind::invalidate && work.stage == Work::Stage::waiting && work.window->pins == 0) {
      work.window->invalidating = false;
      work.stage = Work::Stage::done;
    }
    if (work.stage != Work::Stage::done) return;
    WorkContext* const context = work.context;
    work_.pop_front();
    --submitted_;
    --transmitted_;
    ++silent_slots_;
    if (context != nullptr) complete(*context, {}, send_slots_, std::exchange(silent_slots_, 0));
  }
}

}  // namespace rpcrdma::fabric::loopback
