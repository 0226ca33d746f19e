// SPDX-License-Identifier: BSD-3-Clause
// Operation: posting checks the work, takes its slot and queues it; the wire sees it after submit().
// Ownership: buffers, windows and contexts belong to the poster; the queues refer to them.
// Error handling: what cannot be posted is refused at once and leaves no trace.
#include <algorithm>
#include <limits>

#include "stream.hpp"

namespace rpcrdma::fabric::iwarp {

Stream::Stream(std::shared_ptr<FabricState> fabric, QueuePairOptions options, QueuePairEvents& events)
    : fabric_(std::move(fabric)),
      options_(std::move(options)),
      number_(fabric_->next_stream++),
      dispatcher_(fabric_->context, events, fabric_->counters, this),
      socket_(fabric_->context),
      timer_(fabric_->context) {
  works_.reserve(options_.send_depth + 1);  // and the ready-to-receive indication
  receives_.reserve(options_.receive_depth);
  dispatcher_.reserve(std::size_t{options_.send_depth} + options_.receive_depth);
}

error_code Stream::may_post() const noexcept {
  if (state_ != State::established) return FabricError::not_connected;  // [5041-6.2-c]
  if (send_slots_ >= options_.send_depth || works_.full()) return FabricError::queue_full;
  return {};
}

Work& Stream::add_work(Work::Kind kind, WorkContext* context) noexcept {
  ++send_slots_;
  ++fabric_->counters.work_requests;
  Work& work = works_.push();
  work.kind = kind;
  work.done = false;
  work.holds_slot = true;
  work.context = context;
  work.pieces = work.length = work.sent = work.piece = work.piece_offset = 0;
  work.options = {};
  return work;
}

error_code Stream::add_gather(std::span<const BufferRef> gather, Work::Kind kind, WorkContext* context,
                              Work** work) noexcept {
  std::uint64_t length = 0;
  for (const BufferRef& buffer : gather) length += buffer.size;
  // [5041-5.2-b] a message is shorter than 2^32
  if (gather.size() > kMaxWorkGather || length > std::numeric_limits<std::uint32_t>::max())
    return BaseError::invalid_argument;
  if (const error_code error = may_post()) return error;
  *work = &add_work(kind, context);
  for (const BufferRef& buffer : gather)
    if (buffer.size != 0) (*work)->gather[(*work)->pieces++] = buffer;
  (*work)->length = static_cast<std::uint32_t>(length);
  return {};
}

error_code Stream::post_receive(BufferRef buffer, WorkContext* context) {
  if (state_ == State::closed) return FabricError::not_connected;
  if (receive_slots_ >= options_.receive_depth || receives_.full()) return FabricError::queue_full;
  ++receive_slots_;
  ++fabric_->counters.work_requests;
  Receive& receive = receives_.push();
  receive = {};
  receive.buffer = buffer;
  receive.context = context;
  return {};
}

error_code Stream::post_send(std::span<const BufferRef> gather, const SendOptions& options, WorkContext* context) {
  Work* work = nullptr;
  if (const error_code error = add_gather(gather, Work::Kind::send, context, &work)) return error;
  work->options = options;
  return {};
}

error_code Stream::post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                              WorkContext* context) {
  Work* work = nullptr;
  if (const error_code error = add_gather(gather, Work::Kind::write, context, &work)) return error;
  work->handle = handle;
  work->offset = offset;
  return {};
}

error_code Stream::post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset, WorkContext* context) {
  if (state_ == State::established && agreement_.outbound_reads == 0) return FabricError::unsupported;
  Work* work = nullptr;
  if (const error_code error = add_gather({&sink, 1}, Work::Kind::read, context, &work)) return error;
  work->handle = handle;
  work->offset = offset;
  return {};
}

// [5041-8.3-a] [5041-8.3-b] [5041-8.2-b] an exact range, for this stream alone
Result<Segment> Stream::bind(Exposure& exposure, BufferRef memory, Access access) {
  if (exposure.owner != this || exposure.bound || exposure.invalidating || exposure.pins != 0 || memory.size == 0)
    return make_error_code(BaseError::invalid_argument);
  if (fabric_->region_of(memory) == nullptr) return make_error_code(BaseError::invalid_argument);
  if (state_ != State::established) return make_error_code(FabricError::not_connected);
  exposure.memory = memory;
  exposure.access = access;
  exposure.segment = {fabric_->stags.insert(exposure), memory.size, fabric_->stags.draw_offset()};
  exposure.bound = true;
  return exposure.segment;
}

error_code Stream::invalidate(Exposure& exposure, WorkContext* context) {
  if (exposure.owner != this || exposure.invalidating) return BaseError::invalid_argument;
  if (const error_code error = may_post()) return error;
  add_work(Work::Kind::invalidate, context).exposure = &exposure;
  exposure.invalidating = true;
  unbind(exposure);  // [5041-8.3.1-e] from here on new frames are refused
  return {};
}

void Stream::unbind(Exposure& exposure) noexcept {
  if (!exposure.bound) return;
  exposure.bound = false;
  fabric_->stags.erase(exposure.segment.handle);
}

void Stream::submit() {
  if (state_ != State::established) return;
  submitted_ = works_.tail();
  transmit();
  wake();
}

void Stream::adopt(Exposure& exposure) {
  exposure.owner = this;
  exposures_.push_back(&exposure);
}

/// Its window is destroyed. While a frame names it, only the connection's end keeps the memory from being touched.
void Stream::forget(Exposure& exposure) noexcept {
  if (exposure.pins != 0) {
    end(BaseError::cancelled, Parting::reset);
    wake();
  }
  unbind(exposure);
  for (std::uint64_t i = works_.head(); i != works_.tail(); ++i)
    if (works_[i].kind == Work::Kind::invalidate && works_[i].exposure == &exposure) works_[i].exposure = nullptr;
  std::erase(exposures_, &exposure);
}

}  // namespace rpcrdma::fabric::iwarp
