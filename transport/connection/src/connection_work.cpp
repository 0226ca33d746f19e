// SPDX-License-Identifier: BSD-3-Clause
// Operation. Work posted during a batch of completions is submitted at the end of the batch; other work, by a function
// posted to the io_context.
// Errors. A failed post aborts the connection; a range that cannot be exposed fails its call only.
#include "rpcrdma/connection/connection.hpp"

namespace rpcrdma::transport {

error_code Connection::posted(error_code status, const fabric::WorkContext* context) noexcept {
  if (status) {
    if (!aborted_) setup_.log.debug("connection aborted: cannot post a work request: {}", status.message());
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
  guard_.post(context(), [](Connection& self) {
    self.submit_scheduled_ = false;
    self.end_batch();
  });
}

void Connection::on_batch_end() noexcept { end_batch(); }

void Connection::end_batch() noexcept {
  if (ended_) return;
  const ConnectionPtr self(this);  // the user may drop its reference
  in_batch_ = true;                // includes what the waiters post
  reply_queue_.serve();
  send_queue_.serve();
  if (events_ != nullptr) events_->on_batch_end();
  in_batch_ = false;
  if (!ended_ && connected_) queue_pair_->submit();
}

error_code Connection::post_send(std::span<const BufferRef> gather, const fabric::SendOptions& options,
                                 fabric::WorkContext* context) noexcept {
  if (ended_) return fabric::FabricError::not_connected;
  offered_ = offered_ || !version_settled_;
  return posted(queue_pair_->post_send(gather, options, context), context);
}

error_code Connection::post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                                  fabric::WorkContext* context) noexcept {
  if (ended_) return fabric::FabricError::not_connected;
  return posted(queue_pair_->post_write(gather, handle, offset, context), context);
}

error_code Connection::post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset,
                                 fabric::WorkContext* context) noexcept {
  if (ended_) return fabric::FabricError::not_connected;
  const error_code status = queue_pair_->post_read(sink, handle, offset, context);
  // The call fails, not the connection.
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
  return queue_pair_->bind(window, memory, access);
}

error_code Connection::invalidate(fabric::Window& window, fabric::WorkContext* context) noexcept {
  if (ended_) return fabric::FabricError::not_connected;
  return posted(queue_pair_->invalidate(window, context), context);
}

}  // namespace rpcrdma::transport
