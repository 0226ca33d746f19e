// SPDX-License-Identifier: BSD-3-Clause
// Operation: disconnect() of an established connection sends all posted work, then each side closes its direction.
// Every other end is immediate. The wait for the peer ends after IwarpOptions::close_timeout, but goes on as long as
// posted work is outstanding and bytes are written.
// Ownership: after the end nothing refers to the user's memory: the rest of a partly written frame is copied.
// Error handling: only the first error counts [5040-7.1-c].
#include "framing/terminate_frame.hpp"
#include "rpcrdma/base/log_reason.hpp"
#include "stream/farewell.hpp"
#include "stream/stream.hpp"

namespace rpcrdma::fabric::iwarp {

void Stream::disconnect() {
  if (state_.after(Event::disconnect) == StreamState::Name::closed) return abort();
  if (!state_.enter(Event::disconnect)) return;
  timer_.cancel();
  sends_.submit();
  arm_close_timer();
  transmit();
  wake();
}

void Stream::abort() {
  end(BaseError::cancelled, Parting::reset);
  wake();
}

void Stream::quiesce() noexcept {
  dispatcher_.quiesce();
  // A connection that is idle, or whose sending direction has ended, is not reset: a reset could destroy data that the
  // peer has not read yet.
  const bool orderly = state_.name() == StreamState::Name::shut_down || (state_.transmits() && drained());
  end(BaseError::cancelled, !orderly ? Parting::reset : is_quiet(socket_) ? Parting::close : Parting::farewell);
}

void Stream::end(error_code why, Parting parting, std::vector<std::byte> last_words) noexcept {
  if (!state_.enter(Event::end)) return;
  log_.limited(fabric_->stream_lines).debug("the stream ended: {}", Reason{why});
  timer_.cancel();
  reader_.stop();  // [5041-7.1-c] later segments are dropped
  if (initiator_) std::exchange(initiator_, nullptr)->cancel();
  request_.reset();
  part(parting, std::move(last_words));
  flush();
  // [5040-7.1-a] reports the end to the user
  dispatcher_.disconnect(why, why == FabricError::rejected ? &info_ : nullptr);
}

void Stream::part(Parting parting, std::vector<std::byte> last_words) noexcept {
  error_code ignored;
  retransmissions_ = retransmissions();
  switch (parting) {
    case Parting::close: socket_.close(ignored); break;
    case Parting::reset: reset(socket_); break;
    case Parting::farewell:
      socket_.cancel(ignored);  // stops reads into the user's memory
      say_farewell(std::move(socket_), std::move(last_words), fabric_->options.close_timeout);
      socket_ = Socket(fabric_->context);
      break;
  }
}

// [5040-7.1-b] [5040-6.2.1-a] [5044-8-d] [5041-6.2.2-a] [5041-6.2.2-c] [5041-8.3-c] sends a Terminate, if this side may
// already send, and ends the connection
void Stream::violate(const TerminateCode& error, FabricError why) noexcept {
  if (state_.over()) return;
  if (log_.enabled(LogLevel::warn))
    log_.limited(fabric_->stream_lines)
        .warn("data from the peer violates the iWARP protocol: {}; connection closed", describe(error));
  Terminate message;
  message.code = error;
  // [5040-4.8-d] [5041-7.1-d] The Terminate contains the length and the headers of the segment that caused the error.
  // A Terminate for an error of MPA contains neither.
  if (error.layer != terminate::kMpaLayer) {
    message.has_length = true;
    message.segment_length = reader_.ulpdu_length();
    message.ddp_header = reader_.raw_header();
    const bool of_read = segment_.header.opcode == static_cast<std::uint8_t>(Opcode::read_request);
    if (error.layer == terminate::kRdmapLayer && error.type == terminate::kRemoteProtection && of_read)
      message.read_request = Octets(control_).first(ReadRequest::kSize);
  }
  // [5040-5.4-a] [5040-5.4-c] [5040-7-a] The Terminate is the last frame. If a frame is partly written, its rest is
  // sent before the Terminate. Frames of which nothing has been written are dropped.
  std::vector<std::byte> last_words = writer_.cut();
  // [5044-7.1.2-h] [5041-7.1-e] A responder must not send before it has received a valid FPDU. If the error is not one
  // of MPA, MPA has found no fault in the FPDU that contains the faulty segment, so this side may send.
  if (may_transmit_ || error.layer != terminate::kMpaLayer) {
    append(writer_, message);
    const std::vector<std::byte> frame = writer_.drain();
    last_words.insert(last_words.end(), frame.begin(), frame.end());
    ++fabric_->counters.frames_sent;
  }
  end(why, Parting::farewell, std::move(last_words));
}

/// Starts the timer of the orderly end. When the timer expires, after IwarpOptions::close_timeout, the connection ends
/// with ETIMEDOUT. Exception: if posted work is outstanding and bytes have been written since the timer was started,
/// the timer is started again.
void Stream::arm_close_timer() {
  timer_.expires_after(fabric_->options.close_timeout);
  timer_.async_wait([weak = weak_from_this(), before = writer_.written()](error_code error) {
    const auto self = weak.lock();
    if (error || !self || !self->state_.ending()) return;
    if (!self->sends_.empty() && self->writer_.written() != before) return self->arm_close_timer();
    self->end(make_error_code(boost::system::errc::timed_out));
    self->progress();
  });
}

}  // namespace rpcrdma::fabric::iwarp
