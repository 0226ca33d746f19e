// SPDX-License-Identifier: BSD-3-Clause
// Operation: reads the Request, within one time limit.
// Ownership: the handlers keep the object alive. At the end the listener, if it still exists, receives the socket and,
// if there was no error, the Request.
// Error handling: a Request that is malformed, late, of an unknown revision or followed by more bytes closes the
// connection without a Reply.
#include "setup/half_open.hpp"

namespace rpcrdma::fabric::iwarp {

void HalfOpen::start(std::chrono::milliseconds timeout, ListenerState::HalfOpens::iterator place) {
  place_ = place;
  // The Request of a peer on the same host has usually arrived already.
  error_code failed;
  const std::size_t count = socket_.read_some(request_.room(), failed);
  if (failed == boost::system::errc::operation_would_block)
    read();
  else
    received(failed, count);
  if (finished_) return;
  // [5044-7.1.2-j] one time limit for the whole Request
  timer_.expires_after(timeout);
  timer_.async_wait([self = shared_from_this()](error_code error) {
    if (!error) self->finish(false, "no complete MPA Request in time");
  });
}

void HalfOpen::read() {
  socket_.async_read_some(request_.room(), [self = shared_from_this()](error_code error, std::size_t count) {
    if (!self->finished_) self->received(error, count);
  });
}

void HalfOpen::received(error_code error, std::size_t count) {
  if (error) return finish(false, "the peer closed the connection, or TCP lost it");
  const ArrivingFrame::State state = request_.add(count);
  // [5044-7.1.2-c] [5044-8-b] a malformed Request closes the connection
  if (state == ArrivingFrame::State::malformed) return finish(false, "malformed MPA Request");
  if (request_.has_header() && !acceptable(request_.frame)) return finish(false, "unknown MPA revision");
  if (state == ArrivingFrame::State::incomplete) return read();
  // The peer must not send stream data before the Reply.
  if (state == ArrivingFrame::State::followed) return finish(false, "the peer sent data before the MPA Reply");
  finish(true, "");
}

void HalfOpen::finish(bool good, const char* why) {
  if (finished_) return;
  finished_ = true;
  timer_.cancel();
  if (const auto listener = listener_.lock()) {
    FabricState& fabric = listener->fabric();
    if (!good)
      fabric.log.about(info_.subject(), &fabric.setup_lines)
          .debug("the connection ended before its MPA setup was complete: {}", why);
    return listener->half_open_ended(place_, std::move(socket_), std::move(info_), good ? &request_.frame : nullptr);
  }
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace rpcrdma::fabric::iwarp
