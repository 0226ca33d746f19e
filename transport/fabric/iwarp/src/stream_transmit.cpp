// SPDX-License-Identifier: BSD-3-Clause
// Operation: frames are gathered into a batch, and the batch is written at once; what the socket does not take is
// written when it is writable. A new batch is made when the last one is out. Works go out in order of posting
// [5040-5.5-d] [5040-5.1-b] [5041-5.3-a], Responses in order of their Requests [5040-5.5-h]; the two take turns message
// by message. Ownership: payload is sent from where it lies: works hold their buffers, Responses pin their windows
// until the batch is out. Error handling: a write error ends the sending; the reading side finds out why, since a
// Terminate may be on its way.
#include <algorithm>
#include <boost/asio/bind_allocator.hpp>

#include "stream.hpp"

namespace rpcrdma::fabric::iwarp {

void Stream::transmit() {
  if (state_ != State::established && state_ != State::closing) return;
  // Ends of exposures need nothing on the wire.
  while (cursor_ != submitted_ && works_[cursor_].kind == Work::Kind::invalidate) ++cursor_;
  retire();
  // [5044-7.1.2-h] a responder stays silent until the first FPDU
  while (may_transmit_ && !writable_awaited_ && !write_error_) {
    if (writer_.empty()) {
      while (writer_.has_room() && add_frame()) {
      }
      if (writer_.empty()) break;
    }
    const std::size_t count = write_some(socket_.native_handle(), writer_.pending(), write_error_);
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
  auto handler = [self = shared_from_this()](error_code error) {
    self->writable_awaited_ = false;
    if (error || self->state_ == State::closed) return;
    self->progress();
  };
  socket_.async_wait(Socket::wait_write,
                     boost::asio::bind_allocator(PostAllocator<void>(write_memory_), std::move(handler)));
}

// [5040-6.1-a]
bool Stream::add_frame() noexcept {
  if (empty_write_due_ && sending_ == Sending::nothing) {
    add_empty_write();
    return true;
  }
  if (sending_ == Sending::nothing) choose();
  switch (sending_) {
    case Sending::nothing: return false;
    case Sending::work: add_work_frame(works_[cursor_]); return true;
    case Sending::response: add_response_frame(); return true;
  }
  return false;
}

/// Whose message is next: works and Responses take turns.
void Stream::choose() noexcept {
  while (cursor_ != submitted_ && works_[cursor_].kind == Work::Kind::invalidate) ++cursor_;
  bool work = cursor_ != submitted_;
  // [5040-6.1-b] a Read beyond ORD waits, and what stands behind it
  if (work && works_[cursor_].kind == Work::Kind::read)
    work = reads_out_.size() < std::max(agreement_.outbound_reads, 1u);
  const bool response = response_cursor_ != reads_in_.tail();
  if (work && !(response && work_was_last_))
    sending_ = Sending::work;
  else if (response)
    sending_ = Sending::response;
  work_was_last_ = sending_ == Sending::work;
}

void Stream::add_empty_write() noexcept {
  empty_write_due_ = false;
  DdpHeader header;
  header.tagged = true;
  header.opcode = static_cast<std::uint8_t>(Opcode::write);
  writer_.begin(header, {}, 0);
  writer_.end();
}

void Stream::add_work_frame(Work& work) noexcept {
  switch (work.kind) {
    case Work::Kind::send: add_send_frame(work); break;
    case Work::Kind::write: add_write_frame(work); break;
    case Work::Kind::read: add_read_frame(work); break;
    case Work::Kind::invalidate: break;
  }
}

// [5041-4.1-c] [5041-5.3-b] in order, the last segment last; [5044-3-c] [5044-4.5-d] each as large as the MULPDU allows
void Stream::add_send_frame(Work& work) noexcept {
  DdpHeader header;
  const bool solicited = work.options.solicited;
  // [5040-5.3-d]
  Opcode opcode = solicited ? Opcode::send_solicited : Opcode::send;
  if (work.options.invalidate) {  // [5040-4.1-d]
    opcode = solicited ? Opcode::send_solicited_invalidate : Opcode::send_invalidate;
    header.stag = *work.options.invalidate;
  }
  // [5041-5.2-a] [5041-4.1-b] [5041-4.3-d] [5041-5.2-c]
  const std::uint32_t count =
      std::min(work.length - work.sent, mulpdu_ - static_cast<std::uint32_t>(kUntaggedHeaderSize));
  header.opcode = static_cast<std::uint8_t>(opcode);
  // [5041-5.2-d] an empty message is one segment
  header.last = work.sent + count == work.length;
  header.queue = kSendQueue;
  header.msn = send_msn_;
  header.offset = work.sent;
  writer_.begin(header, {}, count);
  add_payload(work, count);
  writer_.end();
  if (header.last) {
    send_msn_ = next_msn(send_msn_);
    ++cursor_;
    sending_ = Sending::nothing;
  }
}

void Stream::add_write_frame(Work& work) noexcept {
  DdpHeader header;
  const std::uint32_t count =
      std::min(work.length - work.sent, mulpdu_ - static_cast<std::uint32_t>(kTaggedHeaderSize));
  header.tagged = true;
  header.opcode = static_cast<std::uint8_t>(Opcode::write);
  header.last = work.sent + count == work.length;
  header.stag = work.handle;  // [5041-4.2-b]
  header.offset = work.offset + work.sent;
  writer_.begin(header, {}, count);
  add_payload(work, count);
  writer_.end();
  if (header.last) {
    ++cursor_;
    sending_ = Sending::nothing;
  }
}

// [5040-5.2.1-a] [5040-5.2-a] one Request, whole in one segment
void Stream::add_read_frame(Work& work) noexcept {
  work.sink_stag = fabric_->stags.draw();
  std::array<std::byte, ReadRequest::kSize> octets;
  Writer out(octets);
  encode(ReadRequest{work.sink_stag, 0, work.length, work.handle, work.offset}, out);
  DdpHeader header;
  header.opcode = static_cast<std::uint8_t>(Opcode::read_request);
  header.queue = kReadQueue;
  header.msn = std::exchange(read_msn_, next_msn(read_msn_));
  writer_.begin(header, out.written(), 0);
  writer_.end();
  reads_out_.push() = cursor_++;
  sending_ = Sending::nothing;
}

void Stream::add_payload(Work& work, std::uint32_t count) noexcept {
  work.sent += count;
  while (count != 0) {
    const BufferRef& buffer = work.gather[work.piece];
    const std::uint32_t n = std::min(count, buffer.size - work.piece_offset);
    writer_.payload({buffer.data + work.piece_offset, n});
    count -= n;
    work.piece_offset += n;
    if (work.piece_offset == buffer.size) {
      ++work.piece;
      work.piece_offset = 0;
    }
  }
}

// [5040-5.2.2-a] [5040-4.4-b]
void Stream::add_response_frame() noexcept {
  InboundRead& read = reads_in_[response_cursor_];
  const std::uint32_t count = std::min(read.size - read.sent, mulpdu_ - static_cast<std::uint32_t>(kTaggedHeaderSize));
  DdpHeader header;
  header.tagged = true;
  header.opcode = static_cast<std::uint8_t>(Opcode::read_response);
  header.last = read.sent + count == read.size;
  header.stag = read.sink_stag;
  header.offset = read.sink_offset + read.sent;
  writer_.begin(header, {}, count);
  writer_.payload({read.source + read.sent, count});
  writer_.end();
  read.sent += count;
  if (header.last) {
    ++response_cursor_;
    sending_ = Sending::nothing;
  }
}

/// Everything that frames have been made of is out.
void Stream::batch_written() noexcept {
  fabric_->counters.copied += writer_.take_copied();
  for (sent_ = std::max(sent_, works_.head()); sent_ != cursor_; ++sent_) {
    Work& work = works_[sent_];
    if (work.kind == Work::Kind::send || work.kind == Work::Kind::write) work.done = true;  // [5040-5.5-e]
  }
  for (; reads_in_.head() != response_cursor_; reads_in_.pop()) unpin(reads_in_.front().exposure);
  retire();
}

/// After disconnect(): our direction ends when all that was posted is done.
void Stream::shut_down_if_drained() {
  if (state_ != State::closing || shut_down_ || !works_.empty() || !reads_in_.empty() || !writer_.empty()) return;
  shut_down_ = true;
  if (peer_closed_) return end({});
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  arm_close_timer();
}

}  // namespace rpcrdma::fabric::iwarp
