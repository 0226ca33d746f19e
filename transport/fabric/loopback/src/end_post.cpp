// SPDX-License-Identifier: BSD-3-Clause
// Operation: posting checks the work, takes a slot for it, and queues it; submit() permits its transmission.
// Ownership: buffers, windows and contexts belong to the poster; the queue refers to them.
// Error handling: work that cannot be posted is refused at once and changes nothing.
#include <algorithm>

#include "end.hpp"

namespace rpcrdma::fabric::loopback {

End::End(std::shared_ptr<Core> core, std::shared_ptr<FabricState> fabric, QueuePairOptions options,
         QueuePairEvents& events)
    : core_(std::move(core)),
      fabric_(std::move(fabric)),
      options_(std::move(options)),
      dispatcher_(core_->context(), events, fabric_->counters, nullptr),
      timer_(core_->context()) {
  const std::uint32_t limit = fabric_->capabilities.max_read_depth;
  options_.inbound_reads = std::min(options_.inbound_reads, limit);
  options_.outbound_reads = std::min(options_.outbound_reads, limit);
  dispatcher_.reserve(std::size_t{options_.send_depth} + options_.receive_depth);
}

error_code End::may_post(LoopbackOperation operation) noexcept {
  if (state_ != State::established) return FabricError::not_connected;
  if (send_slots_ >= options_.send_depth) return FabricError::queue_full;
  return fabric_->faults.next(operation);
}

error_code End::check_gather(std::span<const BufferRef> gather, std::uint32_t& length) const noexcept {
  if (state_ == State::closed) return FabricError::not_connected;
  if (gather.size() > fabric_->capabilities.max_gather) return BaseError::invalid_argument;
  std::uint64_t sum = 0;
  for (const BufferRef& buffer : gather) {
    if (buffer.size != 0 && fabric_->region_of(buffer) == nullptr) return BaseError::invalid_argument;
    sum += buffer.size;
  }
  if (sum > fabric_->capabilities.max_message) return BaseError::invalid_argument;
  length = static_cast<std::uint32_t>(sum);
  return {};
}

End::Work& End::add_work(Work::Kind kind, WorkContext* context) {
  ++send_slots_;
  ++fabric_->counters.work_requests;
  Work& work = work_.emplace_back();
  work.kind = kind;
  work.context = context;
  return work;
}

error_code End::post_receive(BufferRef buffer, WorkContext* context) {
  if (state_ == State::closed) return FabricError::not_connected;
  if (receive_slots_ >= options_.receive_depth) return FabricError::queue_full;
  if (buffer.size != 0 && fabric_->region_of(buffer) == nullptr) return BaseError::invalid_argument;
  if (const error_code error = fabric_->faults.next(LoopbackOperation::post_receive)) return error;
  ++receive_slots_;
  ++fabric_->counters.work_requests;
  receives_.push_back({buffer, context});
  return {};
}

error_code End::post_send(std::span<const BufferRef> gather, const SendOptions& options, WorkContext* context) {
  std::uint32_t length = 0;
  if (const error_code error = check_gather(gather, length)) return error;
  if (options.invalidate && !fabric_->capabilities.remote_invalidation) return FabricError::unsupported;
  if (const error_code error = may_post(LoopbackOperation::post_send)) return error;
  Work& work = add_work(Work::Kind::send, context);
  work.gather.assign(gather.begin(), gather.end());
  work.length = length;
  work.options = options;
  return {};
}

error_code End::post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                           WorkContext* context) {
  std::uint32_t length = 0;
  if (const error_code error = check_gather(gather, length)) return error;
  if (wraps(offset, length)) return BaseError::invalid_argument;
  if (const error_code error = may_post(LoopbackOperation::post_write)) return error;
  Work& work = add_work(Work::Kind::write, context);
  work.gather.assign(gather.begin(), gather.end());
  work.length = length;
  work.handle = handle;
  work.offset = offset;
  return {};
}

error_code End::post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset, WorkContext* context) {
  std::uint32_t length = 0;
  if (const error_code error = check_gather({&sink, 1}, length)) return error;
  if (state_ == State::established && info_.outbound_reads == 0) return FabricError::unsupported;
  if (wraps(offset, length)) return BaseError::invalid_argument;
  if (const error_code error = may_post(LoopbackOperation::post_read)) return error;
  if (++unanswered_reads_ > info_.outbound_reads) ++read_waits_;
  Work& work = add_work(Work::Kind::read, context);
  work.gather.push_back(sink);
  work.length = length;
  work.handle = handle;
  work.offset = offset;
  return {};
}

Result<Segment> End::bind(const std::shared_ptr<WindowState>& window, BufferRef memory, Access access) {
  if (window->owner != this || window->bound || window->invalidating || window->pins != 0 || memory.size == 0)
    return make_error_code(BaseError::invalid_argument);
  if (state_ == State::closed) return make_error_code(FabricError::not_connected);
  const MutableOctets* region = fabric_->region_around(memory);
  if (region == nullptr) return make_error_code(BaseError::invalid_argument);
  if (const error_code error = may_post(LoopbackOperation::bind)) return error;
  add_work(Work::Kind::bind, nullptr);
  window->memory = memory;
  window->region = *region;
  window->access = access;
  window->segment = {core_->new_handle(), memory.size, core_->new_offset()};
  window->bound = true;
  core_->windows().emplace(window->segment.handle, window);
  ++fabric_->bound_windows;
  return window->segment;
}

error_code End::invalidate(const std::shared_ptr<WindowState>& window, WorkContext* context) {
  if (window->owner != this || window->invalidating) return BaseError::invalid_argument;
  if (const error_code error = may_post(LoopbackOperation::invalidate)) return error;
  add_work(Work::Kind::invalidate, context).window = window;
  window->invalidating = true;
  return {};
}

void End::unbind(WindowState& window) noexcept {
  if (!window.bound) return;
  window.bound = false;
  --fabric_->bound_windows;
  core_->windows().erase(window.segment.handle);
}

void End::submit() {
  submitted_ = work_.size();
  core_->schedule();
}

LoopbackWindow::~LoopbackWindow() {
  state_->destroyed = true;
  if (const auto end = end_.lock()) end->unbind(*state_);
}

}  // namespace rpcrdma::fabric::loopback
