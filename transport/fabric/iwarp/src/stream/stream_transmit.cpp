// SPDX-License-Identifier: BSD-3-Clause
// Operation: frames are gathered into a batch, and the batch is written at once. Bytes that the socket does not accept
// are written when it is writable again. The next batch is made when this batch has been written.
// Ownership: payload is sent from the user's memory, or copied if the peer requested markers. Work requests hold their
// buffers, and Responses pin their windows, until the batch is written.
// Error handling: after a write error nothing is sent. A Terminate with the reason may still arrive, so the connection
// does not end until reading fails or ends too or, after disconnect(), the close timer expires.
#include <boost/asio/bind_allocator.hpp>
#include <utility>

#include "stream/stream.hpp"

namespace rpcrdma::fabric::iwarp {

namespace {

/// The send buffer within the host, once it has been full.
constexpr int kSendBufferOnceFull = 384 * 1024;

}  // namespace

void Stream::transmit() {
  if (!state_.transmits()) return;
  sends_.skip_invalidations();
  retire();
  // [5044-7.1.2-h] a responder does not send before the first FPDU has arrived
  while (may_transmit_ && !writable_awaited_ && !write_error_) {
    if (writer_.empty()) {
      source_.fill(writer_);
      if (writer_.empty()) break;
    }
    const std::size_t count = write_some(socket_.native_handle(), writer_.pending(), write_error_);
    if (count != 0) ++fabric_->counters.socket_writes;
    writer_.advance(count);
    if (writer_.empty()) {
      batch_written();
    } else if (write_error_ == boost::system::errc::operation_would_block || !write_error_) {
      write_error_ = {};
      await_writable();
    }
  }
  shut_down_if_drained();
}

void Stream::await_writable() {
  writable_awaited_ = true;
  // Probably the connection carries several large messages at a time. A smaller buffer keeps the data that waits there
  // in the processor's cache until the peer on the same host reads it.
  if (!std::exchange(has_waited_, true) && within_host()) limit_send_buffer(socket_, kSendBufferOnceFull);
  auto handler = [self = shared_from_this()](error_code error) {
    self->writable_awaited_ = false;
    if (error || self->state_.over()) return;
    self->progress();
  };
  socket_.async_wait(Socket::wait_write,
                     boost::asio::bind_allocator(PostAllocator<void>(write_memory_), std::move(handler)));
}

/// Called when all frames made so far have been written.
void Stream::batch_written() noexcept {
  fabric_->counters.copied += writer_.take_copied();
  fabric_->counters.frames_sent += writer_.take_frames();
  sends_.written();
  responder_.written();
  retire();
}

/// True if the send queue is empty, all Reads of the peer are answered, and all frames are written.
bool Stream::drained() const noexcept { return sends_.empty() && responder_.empty() && writer_.empty(); }

/// If disconnect() has been called and drained() is true, ends this side's direction of the connection. If the peer has
/// also ended its direction, the whole connection ends.
void Stream::shut_down_if_drained() {
  const StreamState::Name next = state_.after(Event::drained);
  if (next == state_.name() || !drained()) return;
  if (next == StreamState::Name::closed) return end({});
  state_.enter(Event::drained);
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  arm_close_timer();
}

}  // namespace rpcrdma::fabric::iwarp
