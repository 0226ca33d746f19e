// SPDX-License-Identifier: BSD-3-Clause
#include "stream/receive_side.hpp"

namespace rpcrdma::fabric::iwarp {

ReceiveSide::ReceiveSide(FabricState& fabric, CompletionDispatcher& dispatcher, std::uint32_t depth)
    : fabric_(fabric), dispatcher_(dispatcher), depth_(depth) {
  receives_.reserve(depth);
}

error_code ReceiveSide::post(BufferRef buffer, WorkContext* context) {
  if (slots_ >= depth_ || receives_.full()) return FabricError::queue_full;
  ++slots_;
  ++fabric_.counters.work_requests;
  Receive& receive = receives_.push();
  receive = {};
  receive.buffer = buffer;
  receive.context = context;
  return {};
}

// [5041-7.1-a] [5041-5.3-d] Checks a segment of a Send before any of its payload is placed, and returns where to place
// it. Segments arrive in the order of the messages and of their offsets; a segment out of order is refused.
Placement ReceiveSide::place(const DdpHeader& header, std::uint32_t payload) noexcept {
  if (header.msn != expected_msn_) return refused(terminate::kMsn);
  if (placing_ == receives_.tail()) return refused(terminate::kNoBuffer, FabricError::no_receive);
  const Receive& receive = receives_[placing_];
  // [5041-4.3-c] segments are contiguous, from offset 0
  if (header.offset != placed_) return refused(terminate::kMessageOffset);
  // [5040-5.3-c] a Send must not be longer than its Receive
  if (payload > receive.buffer.size - placed_) return refused(terminate::kTooLong, FabricError::message_too_long);
  if (payload == 0) return {};
  return {receive.buffer.data + placed_};
}

// [5040-5.3-a] [5040-5.3-b] [5041-5.4-b] [5041-4.1-d] [5041-5.4-a] delivers messages in the order of their segments
void ReceiveSide::delivered(Exposure* revoked, std::uint32_t stag) noexcept {
  Receive& receive = receives_[placing_++];
  receive.length = std::exchange(placed_, 0u);
  expected_msn_ = next_msn(expected_msn_);
  if (revoked == nullptr) return;
  receive.invalidated = stag;
  receive.exposure = revoked;
}

void ReceiveSide::complete(WorkContext* context, const Completion& completion) noexcept {
  if (context == nullptr)
    --slots_;
  else
    dispatcher_.add(*context, completion, &slots_);
}

// [5040-5.5-i] A receive completes without waiting for Responses to earlier Reads of the peer. Exception: a receive
// that invalidates a window, and all later receives, wait until no Response needs the window.
void ReceiveSide::retire() noexcept {
  for (; receives_.head() != placing_; receives_.pop()) {
    const Receive& receive = receives_.front();
    if (receive.exposure != nullptr && receive.exposure->pins != 0) break;
    complete(receive.context, {{}, receive.length, receive.invalidated});
  }
}

void ReceiveSide::forget(const Exposure& exposure) noexcept {
  for (std::uint64_t i = receives_.head(); i != placing_; ++i)
    if (receives_[i].exposure == &exposure) receives_[i].exposure = nullptr;
}

void ReceiveSide::flush() noexcept {
  for (; !receives_.empty(); receives_.pop()) complete(receives_.front().context, {FabricError::flushed, 0, {}});
  placing_ = receives_.tail();
}

}  // namespace rpcrdma::fabric::iwarp
