// SPDX-License-Identifier: BSD-3-Clause
// Operation: finished work leaves its queue in order of posting and waits in ready_; dispatch() runs what is there as
// one batch, then on_batch_end. It runs from the io_context only: at the end of a handler of ours, or posted.
// Ownership: any callback may destroy the queue pair: after each, destroyed_ is looked at.
// Error handling: outstanding work of a connection that ended completes as flushed, in order; on_disconnected is last.
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/post.hpp>

#include "stream.hpp"

namespace rpcrdma::fabric::iwarp {
namespace {

/// Batches in one go, before others on the io_context have their turn.
constexpr int kMaxBatches = 4;

}  // namespace

void Stream::unpin(Exposure* exposure) noexcept {
  if (exposure != nullptr) --exposure->pins;
}

void Stream::ready(WorkContext* context, const Completion& completion, bool receive) noexcept {
  if (context == nullptr) {
    --(receive ? receive_slots_ : send_slots_);
    return;
  }
  Ready& out = ready_.push();
  out.context = context;
  out.completion = completion;
  out.receive = receive;
}

/// [5040-5.5-f] [5040-5.5-a] in order of posting, each queue by itself.
void Stream::retire() noexcept {
  for (; works_.head() != cursor_; works_.pop()) {
    Work& work = works_.front();
    if (work.kind == Work::Kind::invalidate) {
      // [5041-8.3.1-e] complete only when no frame names it any more
      if (work.exposure != nullptr && work.exposure->pins != 0) break;
      if (work.exposure != nullptr) work.exposure->invalidating = false;
      work.done = true;
    }
    if (!work.done) break;
    if (work.holds_slot) ready(work.context, {}, false);
  }
  // [5040-5.5-i]
  for (; receives_.head() != placing_; receives_.pop()) {
    const Receive& receive = receives_.front();
    if (receive.exposure != nullptr && receive.exposure->pins != 0) break;
    ready(receive.context, {{}, receive.length, receive.invalidated}, true);
  }
}

/// [5041-6.2.2-b] [5040-5.4-e]
void Stream::flush() noexcept {
  if (placement_ != nullptr) unpin(placement_);
  placement_ = nullptr;
  for (; !reads_in_.empty(); reads_in_.pop()) unpin(reads_in_.front().exposure);
  for (Exposure* exposure : exposures_) unbind(*exposure);
  retire();
  for (; !works_.empty(); works_.pop()) {
    const Work& work = works_.front();
    if (work.kind == Work::Kind::invalidate && work.exposure != nullptr) work.exposure->invalidating = false;
    if (work.holds_slot) ready(work.context, {FabricError::flushed, 0, {}}, false);
  }
  for (; !receives_.empty(); receives_.pop()) ready(receives_.front().context, {FabricError::flushed, 0, {}}, true);
  reads_out_.clear();
  sent_ = cursor_ = submitted_ = works_.tail();
  placing_ = receives_.tail();
  response_cursor_ = reads_in_.tail();
}

bool Stream::dispatch_ready() {
  for (std::size_t left = ready_.size(); left > 0; --left) {
    const Ready out = ready_.front();
    ready_.pop();
    --(out.receive ? receive_slots_ : send_slots_);
    ++fabric_->counters.completions;
    out.context->on_completion(out.completion);
    if (destroyed_) return false;
  }
  ++fabric_->counters.batches;
  events_->on_batch_end();
  return !destroyed_;
}

void Stream::dispatch() {
  if (destroyed_ || dispatching_) return;
  dispatching_ = true;
  bool alive = true;
  if (established_pending_) {
    established_pending_ = false;
    events_->on_established(info_);
    alive = !destroyed_;
  }
  for (int batch = 0; alive && batch < kMaxBatches && !ready_.empty(); ++batch) alive = dispatch_ready();
  if (alive && ready_.empty() && disconnected_) {
    const error_code why = *disconnected_;
    disconnected_.reset();
    if (why == FabricError::rejected) events_->on_rejected(info_);  // [6581-9.1-a]
    if (!destroyed_) events_->on_disconnected(why);
  }
  dispatching_ = false;
}

/// Makes sure that what is ready is dispatched soon.
void Stream::wake() {
  if (destroyed_ || dispatching_ || dispatch_posted_) return;
  if (ready_.empty() && !established_pending_ && !disconnected_) return;
  dispatch_posted_ = true;
  auto handler = [self = shared_from_this()] {
    self->dispatch_posted_ = false;
    self->progress();
  };
  boost::asio::post(fabric_->context,
                    boost::asio::bind_allocator(PostAllocator<void>(wake_memory_), std::move(handler)));
}

/// The end of every handler of ours.
void Stream::progress() {
  dispatch();
  transmit();
  wake();
}

}  // namespace rpcrdma::fabric::iwarp
