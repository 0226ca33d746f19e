// SPDX-License-Identifier: BSD-3-Clause
// Operation: reads the Request's header, then its private data, within one time limit.
// Ownership: the handlers keep the object; the socket returns to the listener, with a complete Request or to be closed.
// Error handling: a Request that is malformed, late or too long closes the connection without a Reply.
#include "setup/half_open.hpp"

#include <boost/asio/read.hpp>

namespace rpcrdma::fabric::iwarp {

void HalfOpen::start(std::chrono::milliseconds timeout, ListenerState::HalfOpens::iterator place) {
  place_ = place;
  // [5044-7.1.2-j] one time limit for the whole Request
  timer_.expires_after(timeout);
  timer_.async_wait([self = shared_from_this()](error_code error) {
    if (!error) self->finish(false, "no complete MPA Request in time");
  });
  read_header();
}

void HalfOpen::read_header() {
  boost::asio::async_read(socket_, boost::asio::buffer(octets_.data(), kStartupHeaderSize),
                          [self = shared_from_this()](error_code error, std::size_t) {
                            if (error) return self->finish(false, "closed by the peer");
                            std::size_t size = 0;
                            bool enhanced = false;
                            // [5044-7.1.2-c] [5044-8-b] a malformed Request closes the connection
                            if (decode_startup_header(self->octets_, StartupFrame::Kind::request, self->request_, size,
                                                      enhanced) != StartupError::none)
                              return self->finish(false, "malformed request");
                            if (!acceptable(self->request_)) return self->finish(false, "unknown revision");
                            self->read_data(size, enhanced);
                          });
}

void HalfOpen::read_data(std::size_t size, bool enhanced) {
  boost::asio::async_read(socket_, boost::asio::buffer(octets_.data() + kStartupHeaderSize, size),
                          [self = shared_from_this(), size, enhanced](error_code error, std::size_t) {
                            if (error) return self->finish(false, "closed by the peer");
                            const Octets data = Octets(self->octets_).subspan(kStartupHeaderSize, size);
                            if (decode_startup_data(data, enhanced, self->request_) != StartupError::none)
                              return self->finish(false, "malformed request");
                            error_code ignored;
                            // The peer may not send stream data before the Reply.
                            if (self->socket_.available(ignored) != 0)
                              return self->finish(false, "the peer sent data before the reply");
                            self->finish(true, "");
                          });
}

void HalfOpen::finish(bool good, const char* why) {
  if (finished_) return;
  finished_ = true;
  timer_.cancel();
  if (const auto listener = listener_.lock()) {
    if (!good) {
      error_code ignored;
      listener->fabric().log.debug("iwarp: closed the connection from {} before its MPA setup was complete: {}",
                                   socket_.remote_endpoint(ignored).address().to_string(), why);
    }
    return listener->half_open_ended(place_, std::move(socket_), good ? &request_ : nullptr);
  }
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace rpcrdma::fabric::iwarp
