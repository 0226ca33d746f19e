// SPDX-License-Identifier: BSD-3-Clause
#include "socket.hpp"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace rpcrdma::fabric::iwarp {

void keep_alive(int socket, std::chrono::seconds after) noexcept {
  const int on = 1;
  const int probes = 6;
  const int idle_seconds = static_cast<int>(std::clamp<std::int64_t>(after.count(), 1, 10'000));
  const int interval_seconds = std::max(1, idle_seconds / probes);
  const unsigned unanswered_milliseconds = 1000u * static_cast<unsigned>(idle_seconds + probes * interval_seconds);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof interval_seconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  // TCP sends no keepalive probes while sent bytes are unacknowledged. This timeout ends the connection in that case.
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_milliseconds, sizeof unanswered_milliseconds);
}

error_code prepare(Acceptor& acceptor, std::chrono::seconds keepalive) noexcept {
  error_code error;
  // [5044-5.1-a] this side writes whole FPDUs, which TCP must not delay
  acceptor.set_option(boost::asio::ip::tcp::no_delay(true), error);
  if (!error) acceptor.non_blocking(true, error);
  if (!error) keep_alive(acceptor.native_handle(), keepalive);
  return error;
}

void limit_send_buffer(Socket& socket, int bytes) noexcept {
  error_code ignored;
  socket.set_option(boost::asio::socket_base::send_buffer_size(bytes), ignored);
}

std::size_t write_some(int socket, std::span<iovec> vectors, error_code& error) noexcept {
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = vectors.size();
  for (;;) {
    const ssize_t n = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      error = {};
      return static_cast<std::size_t>(n);
    }
    if (errno == EINTR) continue;
    error.assign(errno, boost::system::system_category());
    return 0;
  }
}

error_code write_all(int socket, Octets octets) noexcept {
  iovec vector{const_cast<std::byte*>(octets.data()), octets.size()};
  error_code error;
  const std::size_t n = write_some(socket, {&vector, 1}, error);
  if (!error && n != octets.size()) error = make_error_code(boost::system::errc::no_buffer_space);
  return error;
}

bool is_quiet(Socket& socket) noexcept {
  int unacknowledged = 0;
  error_code failed;
  return ::ioctl(socket.native_handle(), SIOCOUTQ, &unacknowledged) == 0 && unacknowledged == 0 &&
         socket.available(failed) == 0 && !failed;
}

void reset(Socket& socket) noexcept {
  error_code ignored;
  socket.set_option(boost::asio::socket_base::linger(true, 0), ignored);
  socket.close(ignored);
}

error_code take_error(Socket& socket) noexcept {
  int pending = 0;
  socklen_t length = sizeof pending;
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_ERROR, &pending, &length) != 0) pending = errno;
  return {pending, boost::system::system_category()};
}

std::uint32_t segment_size(Socket& socket) noexcept {
  int size = 0;
  socklen_t length = sizeof size;
  if (::getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_MAXSEG, &size, &length) != 0) return 0;
  return static_cast<std::uint32_t>(std::max(size, 0));
}

std::uint32_t retransmissions(Socket& socket) noexcept {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return 0;
  return info.tcpi_total_retrans;
}

}  // namespace rpcrdma::fabric::iwarp
