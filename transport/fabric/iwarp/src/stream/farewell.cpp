// SPDX-License-Identifier: BSD-3-Clause
// Operation: writes the last words, and then shuts down the sending direction; discards received bytes until the peer
// closes or the timer expires.
// Ownership: the handlers keep the object alive; it is destroyed with its last handler, and then closes the socket.
// Error handling: an error of reading closes the socket; after an error of writing, only reading goes on.
#include "stream/farewell.hpp"

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <memory>

namespace rpcrdma::fabric::iwarp {
namespace {

class Farewell : public std::enable_shared_from_this<Farewell> {
 public:
  Farewell(Socket socket, std::vector<std::byte> last_words)
      : socket_(std::move(socket)), timer_(socket_.get_executor()), last_words_(std::move(last_words)) {}

  void start(std::chrono::milliseconds timeout) {
    timer_.expires_after(timeout);
    timer_.async_wait([self = shared_from_this()](error_code error) {
      error_code ignored;
      if (!error) self->socket_.close(ignored);
    });
    drain();
    if (last_words_.empty()) return shut_down();
    boost::asio::async_write(socket_, boost::asio::buffer(last_words_),
                             [self = shared_from_this()](error_code error, std::size_t) {
                               if (!error) self->shut_down();
                             });
  }

 private:
  void shut_down() {
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
  }

  // [5040-6.2.1-c] closing with unread bytes would make TCP send a reset, which may discard bytes that the peer has not
  // read yet
  void drain() {
    socket_.async_read_some(boost::asio::buffer(dropped_), [self = shared_from_this()](error_code error, std::size_t) {
      if (!error) return self->drain();
      error_code ignored;
      self->timer_.cancel();
      self->socket_.close(ignored);
    });
  }

  Socket socket_;
  boost::asio::steady_timer timer_;
  std::vector<std::byte> last_words_;
  std::array<std::byte, 16384> dropped_;
};

}  // namespace

void say_farewell(Socket socket, std::vector<std::byte> last_words, std::chrono::milliseconds timeout) {
  std::make_shared<Farewell>(std::move(socket), std::move(last_words))->start(timeout);
}

}  // namespace rpcrdma::fabric::iwarp
