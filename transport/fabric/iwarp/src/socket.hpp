// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <sys/uio.h>

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <utility>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/base/error.hpp"

namespace rpcrdma::fabric::iwarp {

using Socket = boost::asio::ip::tcp::socket;

/// A file descriptor that is closed with this object. Belongs to no io_context.
class Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  int get() const noexcept { return number_; }
  int release() noexcept { return std::exchange(number_, -1); }
  explicit operator bool() const noexcept { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// What every connection's socket needs: no waiting for more to send, no blocking, an eye on a silent peer.
error_code prepare(Socket& socket, std::chrono::seconds keepalive) noexcept;
/// One non-blocking write. Gives the octets taken; would_block and other errors in `error`.
std::size_t write_some(int socket, std::span<iovec> vectors, error_code& error) noexcept;
/// Likewise, of a few octets on a connection that is new: all or an error.
error_code write_all(int socket, Octets octets) noexcept;
/// Closes so that the peer sees a reset.
void reset(Socket& socket) noexcept;
/// The TCP segment size of the path now; 0 if unknown.
std::uint32_t segment_size(Socket& socket) noexcept;

}  // namespace rpcrdma::fabric::iwarp
