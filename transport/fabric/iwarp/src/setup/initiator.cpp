// SPDX-License-Identifier: BSD-3-Clause
// Operation: connects, sends the Request in one write, reads the Reply, and evaluates it.
// Ownership: the handlers keep the object alive until finish() or cancel(); the socket is moved into the outcome
// or, if this side refuses the terms of the Reply, into a farewell.
// Error handling: one timer covers all steps; a failure closes the socket and, unless the initiator tries again without
// RFC 6581, is reported once.
#include "setup/initiator.hpp"

#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <cerrno>

#include "framing/terminate_frame.hpp"
#include "stream/farewell.hpp"

namespace rpcrdma::fabric::iwarp {

Initiator::Initiator(std::shared_ptr<FabricState> fabric, const Endpoint& peer, const QueuePairOptions& options,
                     Log log, Handler handler)
    : fabric_(std::move(fabric)),
      peer_(peer),
      wanted_(options),
      log_(std::move(log)),
      handler_(std::move(handler)),
      socket_(fabric_->context),
      timer_(fabric_->context),
      enhanced_(fabric_->options.enhanced) {}

void Initiator::start() {
  connect();
  // [5044-7.1.2-j] one time limit for the whole set-up. The timer is set after connect(), so that the SYN and, within a
  // host, the Request need not wait for it.
  timer_.expires_after(wanted_.handshake_timeout);
  timer_.async_wait([self = shared_from_this()](error_code error) {
    if (!error) self->finish(FabricError::handshake_timeout);
  });
}

void Initiator::cancel() noexcept {
  handler_.reset();
  timer_.cancel();
  error_code ignored;
  socket_.close(ignored);
}

void Initiator::connect() {
  error_code failed;
  socket_.open(peer_.protocol(), failed);
  if (!failed) socket_.non_blocking(true, failed);
  if (const auto& source = fabric_->options.source; source && !failed) socket_.bind({*source, 0}, failed);
  if (!failed && ::connect(socket_.native_handle(), peer_.data(), static_cast<socklen_t>(peer_.size())) != 0 &&
      errno != EINPROGRESS)
    failed.assign(errno, boost::system::system_category());
  if (failed) return boost::asio::post(fabric_->context, [self = shared_from_this(), failed] { self->finish(failed); });
  await_connection();
}

// Within a host, connect() has usually established the connection although it has returned EINPROGRESS. The Request is
// then sent at once, without a turn of the event loop.
void Initiator::await_connection() {
  error_code not_connected;
  socket_.remote_endpoint(not_connected);
  if (!not_connected) return send_request();
  socket_.async_wait(Socket::wait_write, [self = shared_from_this()](error_code error) {
    if (!self->handler_) return;
    if (!error) error = take_error(self->socket_);
    if (error) return self->finish(error);
    self->await_connection();
  });
}

void Initiator::send_request() {
  error_code ignored;
  local_ = socket_.local_endpoint(ignored);
  wishes_ = fabric_->wishes(wanted_, local_, peer_);
  wishes_.enhanced = enhanced_;
  request_ = make_request(wishes_, wanted_.private_data);
  // [5044-7.1.2-a] sends the Request in one write: some responders fail if it arrives in pieces
  if (write_all(socket_.native_handle(), encode(request_)))
    return boost::asio::post(fabric_->context, [self = shared_from_this()] {
      if (self->handler_) self->closed_by_peer();
    });
  // [5044-5.1-a] this side writes whole FPDUs, which TCP must not delay
  socket_.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
  reply_ = ArrivingFrame(StartupFrame::Kind::reply);
  read_reply();
}

void Initiator::read_reply() {
  socket_.async_read_some(reply_.room(), [self = shared_from_this()](error_code error, std::size_t count) {
    if (!self->handler_) return;
    if (error) return self->reply_.has_header() ? self->finish(FabricError::handshake_failed) : self->closed_by_peer();
    const ArrivingFrame::State state = self->reply_.add(count);
    if (state == ArrivingFrame::State::incomplete) return self->read_reply();
    // [5044-7.1.2-f] [5044-7.1.2-i] fails on a malformed Reply, and on the Request of another initiator
    if (state == ArrivingFrame::State::malformed) return self->finish(FabricError::handshake_failed);
    self->conclude(state == ArrivingFrame::State::followed);
  });
}

void Initiator::conclude(bool followed) {
  const Conclusion conclusion = iwarp::conclude(request_, reply_.frame, wishes_);
  switch (conclusion.outcome) {
    case Conclusion::Outcome::rejected: return finish(FabricError::rejected);  // [5044-7.1.2-g] the peer has set R
    case Conclusion::Outcome::malformed: return finish(FabricError::handshake_failed);
    case Conclusion::Outcome::terminate: return refuse(conclusion.error, conclusion.agreement);
    case Conclusion::Outcome::agreed: break;
  }
  // [5044-7.1.2-h] the responder must not send before the initiator does: bytes after its Reply are a violation
  if (followed) return finish(FabricError::handshake_failed);
  finish({}, conclusion.agreement);
}

void Initiator::refuse(const TerminateCode& error, const Agreement& agreement) {
  if (log_.enabled(LogLevel::warn))
    log_.limited(fabric_->setup_lines)
        .warn("the peer accepted the connection on terms that this side cannot meet: {}", describe(error));
  FpduWriter writer;
  writer.start(agreement.crc, agreement.send_markers);
  Terminate message;
  message.code = error;
  append(writer, message);
  say_farewell(std::move(socket_), writer.drain(), fabric_->options.close_timeout);
  socket_ = Socket(fabric_->context);
  finish(error == terminate::kReadDepth ? FabricError::too_many_reads : FabricError::handshake_failed);
}

/// Called if the connection fails before the header of the Reply has arrived. A responder that supports only RFC 5044
/// closes the connection when it receives an enhanced Request, whose revision it does not support.
void Initiator::closed_by_peer() {
  error_code ignored;
  socket_.close(ignored);
  // [6581-10-e] tries again on a new TCP connection
  if (enhanced_ && fabric_->options.fall_back) {
    log_.limited(fabric_->setup_lines)
        .info("the peer closed the connection after an enhanced MPA request; retrying without RFC 6581");
    enhanced_ = false;
    return connect();
  }
  finish(FabricError::handshake_failed);
}

void Initiator::finish(error_code error, const Agreement& agreement) {
  if (!handler_) return;
  Outcome outcome{error, std::move(socket_), agreement, {}};
  error_code ignored;
  if (!error || error == FabricError::rejected) {
    outcome.info.local = local_;
    outcome.info.peer = peer_;
    outcome.info.private_data = std::move(reply_.frame.private_data);
    outcome.info.inbound_reads = agreement.inbound_reads;
    outcome.info.outbound_reads = agreement.outbound_reads;
    outcome.info.peer_reads = peer_reads(reply_.frame);
  }
  if (error) outcome.socket.close(ignored);
  timer_.cancel();
  Handler handler = std::move(handler_);
  handler(std::move(outcome));
}

}  // namespace rpcrdma::fabric::iwarp
