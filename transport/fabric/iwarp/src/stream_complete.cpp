// SPDX-License-Identifier: BSD-3-Clause
// Operation: finished work leaves its queue in order of posting and is handed to the dispatcher, which runs the
// callbacks from the io_context: at the end of a handler of the stream, or posted.
// Error handling: outstanding work of a connection that ended completes as flushed, in order.
#include "stream.hpp"

namespace rpcrdma::fabric::iwarp {

void Stream::unpin(Exposure* exposure) noexcept {
  if (exposure != nullptr) --exposure->pins;
}

void Stream::complete(WorkContext* context, const Completion& completion, std::uint32_t& slots) noexcept {
  if (context == nullptr)
    --slots;
  else
    dispatcher_.add(*context, completion, &slots);
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
    if (work.holds_slot) complete(work.context, {}, send_slots_);
  }
  for (; receives_.head() != placing_; receives_.pop()) {
    const Receive& receive = receives_.front();
    if (receive.exposure != nullptr && receive.exposure->pins != 0) break;
    complete(receive.context, {{}, receive.length, receive.invalidated}, receive_slots_);
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
    if (work.holds_slot) complete(work.context, {FabricError::flushed, 0, {}}, send_slots_);
  }
  for (; !receives_.empty(); receives_.pop())
    complete(receives_.front().context, {FabricError::flushed, 0, {}}, receive_slots_);
  reads_out_.clear();
  sent_ = cursor_ = submitted_ = works_.tail();
  placing_ = receives_.tail();
  response_cursor_ = reads_in_.tail();
}

/// The end of every handler of the stream.
void Stream::progress() {
  dispatcher_.run();
  transmit();
  wake();
}

void Stream::on_dispatched() noexcept {
  transmit();
  wake();
}

}  // namespace rpcrdma::fabric::iwarp
