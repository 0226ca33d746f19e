// SPDX-License-Identifier: BSD-3-Clause
// Operation: disconnect() sends what was posted, then each side ends its direction; everything else ends at once.
// A peer that does not take what was posted is waited for no longer than for its end.
// Ownership: at the end nothing refers to the user's memory any more: a frame that is half out goes on as a copy.
// Error handling: only the first error counts [5040-7.1-c].
#include "farewell.hpp"
#include "stream.hpp"
#include "terminate_frame.hpp"

namespace rpcrdma::fabric::iwarp {

void Stream::disconnect() {
  if (state_ == State::closed || state_ == State::closing) return;
  if (state_ != State::established) return abort();
  timer_.cancel();
  submitted_ = works_.tail();
  state_ = State::closing;
  arm_close_timer();
  transmit();
  wake();
}

void Stream::abort() {
  end(BaseError::cancelled, Parting::reset);
  wake();
}

void Stream::destroy() noexcept {
  destroyed_ = true;
  // What an orderly end has sent shall not be lost to a reset.
  end(BaseError::cancelled, shut_down_ ? Parting::farewell : Parting::reset);
  ready_.clear();
  disconnected_.reset();
}

void Stream::end(error_code why, Parting parting, std::vector<std::byte> last_words) noexcept {
  if (state_ == State::closed) return;
  fabric_->log.debug("iwarp {}: ended: {}", number_, why ? why.message() : "closed in good order");
  state_ = State::closed;
  timer_.cancel();
  // [5041-7.1-c]
  reader_.stop();
  if (initiator_) std::exchange(initiator_, nullptr)->cancel();
  request_.reset();
  part(parting, std::move(last_words));
  flush();
  established_pending_ = false;
  // [5040-7.1-a]
  disconnected_ = why;
}

void Stream::part(Parting parting, std::vector<std::byte> last_words) noexcept {
  error_code ignored;
  switch (parting) {
    case Parting::close: socket_.close(ignored); break;
    case Parting::reset: reset(socket_); break;
    case Parting::farewell:
      socket_.cancel(ignored);  // from here on nothing is read into the user's memory
      say_farewell(std::move(socket_), std::move(last_words), fabric_->options.close_timeout);
      socket_ = Socket(fabric_->context);
      break;
  }
}

// [5040-7.1-b] [5040-6.2.1-a] [5044-8-d] [5041-6.2.2-a] [5041-6.2.2-c] [5041-8.3-c]
void Stream::violate(const TerminateCode& error, FabricError why) noexcept {
  if (state_ == State::closed) return;
  fabric_->log.warn("iwarp {}: {} broke the protocol: {}", number_, info_.peer.address().to_string(), describe(error));
  Terminate message;
  message.code = error;
  // [5040-4.8-d] [5041-7.1-d] MPA's errors say nothing of headers
  if (error.layer != terminate::kMpaLayer) {
    message.has_length = true;
    message.segment_length = reader_.ulpdu_length();
    message.ddp_header = reader_.raw_header();
    const bool of_read = segment_.opcode == static_cast<std::uint8_t>(Opcode::read_request);
    if (error.layer == terminate::kRdmapLayer && error.type == terminate::kRemoteProtection && of_read)
      message.read_request = Octets(control_).first(ReadRequest::kSize);
  }
  // [5040-5.4-a] [5040-5.4-c] [5040-7-a] the frame that is half out is finished, the Terminate follows, and nothing
  // else
  std::vector<std::byte> last_words = writer_.cut();
  // [5044-7.1.2-h] [5041-7.1-e] a responder that has seen no good FPDU may not send one
  if (may_transmit_ || error.layer != terminate::kMpaLayer) {
    append(writer_, message);
    const std::vector<std::byte> frame = writer_.drain();
    last_words.insert(last_words.end(), frame.begin(), frame.end());
  }
  end(why, Parting::farewell, std::move(last_words));
}

/// The peer may take its time over what was posted, but not stand still.
void Stream::arm_close_timer() {
  timer_.expires_after(fabric_->options.close_timeout);
  timer_.async_wait([weak = weak_from_this(), before = writer_.written()](error_code error) {
    const auto self = weak.lock();
    if (error || !self || self->state_ != State::closing) return;
    if (!self->works_.empty() && self->writer_.written() != before) return self->arm_close_timer();
    self->end(make_error_code(boost::system::errc::timed_out));
    self->progress();
  });
}

}  // namespace rpcrdma::fabric::iwarp
