// SPDX-License-Identifier: BSD-3-Clause
// Operation. The end of a batch of completions, or of the set-up, submits the work that was posted until then. A
// later handler, or after submit_soon() the end of the present one, submits the work that is posted at other times.
// Errors. A failed post aborts the connection. If a range cannot be exposed, or the sink of a Read exceeds the limit of
// locked memory, only the call fails.
#include "rpcrdma/connection/connection.hpp"

#include <algorithm>

#include "rpcrdma/base/log_reason.hpp"

namespace rpcrdma::transport {
namespace {

std::uint64_t size_of(std::span<const BufferRef> gather) noexcept {
  std::uint64_t sum = 0;
  for (const BufferRef& part : gather) sum += part.size;
  return sum;
}

}  // namespace

error_code Connection::posted(error_code status, const fabric::WorkContext* context) noexcept {
  if (status) {
    if (!aborted_) setup_.log.debug("connection aborted: cannot post a work request: {}", Reason{status});
    abort(status);
  } else {
    if (context != nullptr) ++progress_.posted;
    schedule_submit();
  }
  return status;
}

void Connection::schedule_submit() noexcept {
  if (in_batch_ || submit_scheduled_ || !connected_) return;
  submit_scheduled_ = true;
  guard_.post(context(), [](Connection& self) { self.scheduled_submit(); });
}

void Connection::submit_soon() noexcept {
  if (in_batch_ || submit_scheduled_ || !connected_) return;
  submit_scheduled_ = after_handler_.schedule();
}

void Connection::scheduled_submit() noexcept {
  submit_scheduled_ = false;
  end_batch();
}

void Connection::on_batch_end() noexcept { end_batch(); }

void Connection::end_batch() noexcept {
  if (ended_) return;
  // Keeps this object alive until the function returns: the callbacks below may drop the last other reference to it.
  const ConnectionPtr self(this);
  // Work that the following functions post needs no submission of its own: the submit() below includes it.
  in_batch_ = true;
  reply_queue_.serve();
  send_queue_.serve();
  if (events_ != nullptr) events_->on_batch_end();
  in_batch_ = false;
  if (!ended_ && connected_) queue_pair_->submit();
  note_latencies();
}

std::chrono::steady_clock::time_point Connection::batch_time() noexcept {
  if (!in_batch_) return std::chrono::steady_clock::now();
  if (batch_time_ == std::chrono::steady_clock::time_point()) batch_time_ = std::chrono::steady_clock::now();
  return batch_time_;
}

void Connection::note_latencies() noexcept {
  batch_time_ = {};
  if (replies_.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  for (const PostedReply& reply : replies_) {
    const auto spent = std::chrono::nanoseconds(now - reply.arrived).count();
    reply.latency->add(static_cast<std::uint64_t>(std::max<std::int64_t>(spent, 0)));
  }
  replies_.clear();
}

error_code Connection::post_send(std::span<const BufferRef> gather, const fabric::SendOptions& options,
                                 fabric::WorkContext* context) noexcept {
  if (ended_) return fabric::FabricError::not_connected;
  offered_ = offered_ || !version_settled_;
  ++traffic_.sends;
  traffic_.send_bytes += size_of(gather);
  if (options.invalidate) ++traffic_.sends_with_invalidate;
  return posted(queue_pair_->post_send(gather, options, context), context);
}

error_code Connection::post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                                  fabric::WorkContext* context) noexcept {
  if (ended_) return fabric::FabricError::not_connected;
  ++traffic_.writes;
  traffic_.write_bytes += size_of(gather);
  return posted(queue_pair_->post_write(gather, handle, offset, context), context);
}

error_code Connection::post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset,
                                 fabric::WorkContext* context) noexcept {
  if (ended_) return fabric::FabricError::not_connected;
  const error_code status = queue_pair_->post_read(sink, handle, offset, context);
  if (!status) {
    ++traffic_.reads;
    traffic_.read_bytes += sink.size;
  }
  // With locked_memory only this Read fails; the connection stays.
  return status == fabric::FabricError::locked_memory ? status : posted(status, context);
}

Result<fabric::Window*> Connection::take_window() {
  if (ended_) return make_error_code(fabric::FabricError::not_connected);
  if (fabric::Window* const idle = windows_.try_take()) return idle;
  auto window = queue_pair_->make_window();
  if (!window) return window.error();
  return &windows_.add(std::move(*window));
}

Result<Segment> Connection::bind(fabric::Window& window, BufferRef memory, fabric::Access access) {
  if (ended_) return make_error_code(fabric::FabricError::not_connected);
  schedule_submit();
  Result<Segment> bound = queue_pair_->bind(window, memory, access);
  if (bound) {
    ++traffic_.windows;
    traffic_.window_bytes += memory.size;
  }
  return bound;
}

error_code Connection::invalidate(fabric::Window& window, fabric::WorkContext* context) noexcept {
  if (ended_) return fabric::FabricError::not_connected;
  ++traffic_.local_invalidations;
  return posted(queue_pair_->invalidate(window, context), context);
}

Traffic Connection::traffic() const noexcept {
  Traffic now = traffic_;
  now.send_queue_waits += send_queue_.waits() + reply_queue_.waits();
  if (queue_pair_) {
    now.read_depth_waits = queue_pair_->read_waits();
    now.retransmissions = queue_pair_->retransmissions();
  }
  return now;
}

ChunkKinds Connection::count_call(const wire::Header& header) noexcept {
  ++traffic_.calls;
  traffic_.credits_asked += header.credits;
  const wire::ChunkLists& chunks = header.chunks;
  if (chunks.empty()) {
    ++traffic_.inline_calls;
    return 0;
  }
  unsigned kinds = 0;
  for (const wire::ReadSegment& read : chunks.reads) kinds |= read.position == 0 ? kPositionZero : kReadChunk;
  if (chunks.write_chunk_count() != 0) kinds |= kWriteChunk;
  if (chunks.has_reply_chunk()) kinds |= kReplyChunk;
  traffic_.long_calls += (kinds & kPositionZero) != 0 ? 1 : 0;
  traffic_.read_chunk_calls += (kinds & kReadChunk) != 0 ? 1 : 0;
  traffic_.write_chunk_calls += (kinds & kWriteChunk) != 0 ? 1 : 0;
  traffic_.reply_chunk_calls += (kinds & kReplyChunk) != 0 ? 1 : 0;
  return static_cast<ChunkKinds>(kinds);
}

void Connection::count_error(wire::ErrorKind kind) noexcept {
  switch (kind) {
    case wire::ErrorKind::vers: ++traffic_.version_errors; break;
    case wire::ErrorKind::chunk: ++traffic_.chunk_errors; break;
    default: ++traffic_.other_errors; break;
  }
}

}  // namespace rpcrdma::transport
