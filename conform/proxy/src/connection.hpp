// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>

#include "counters.hpp"
#include "plan.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/log.hpp"

namespace rpcrdma::proxy {

using Tcp = boost::asio::ip::tcp;

/// A connection that the proxy accepted from a client, and its own connection to the server. The coroutines
/// keep the object alive.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket client, std::uint32_t number, Director& director, Counters& counters, Log log);

  /// Connects to the server and relays until both directions have ended; then calls `ended`.
  void start(const Tcp::endpoint& server, std::function<void()> ended);
  /// Ends both connections, by a reset if `reset`.
  void close(bool reset) noexcept;

 private:
  using Time = std::chrono::milliseconds;

  /// One direction of the relay. To bound the memory that it uses, a read begins only after the whole frames of the
  /// previous read have been written. Only join() begins one more read before that.
  struct Half {
    Half(Side its_side, boost::asio::io_context& context);
    Side side;
    FrameReader frames;
    std::vector<std::byte> input;  // the buffer of reads; its first `held` bytes have been read and not passed on yet
    std::size_t held = 0;
    std::vector<std::byte> output;  // bytes to write next
    std::uint64_t passed = 0;       // bytes written
    boost::asio::steady_timer timer;
    // If set, a hold of this direction ends when `passed` of the other direction reaches this number.
    std::optional<std::uint64_t> release;
    Time join{0};
    // Faults of the current message, set at its first frame.
    std::optional<Fault> cut, split;
    std::size_t cut_in = 0;  // bytes of the message that still pass before the cut
  };
  enum class More { yes, no };

  boost::asio::awaitable<void> run(Tcp::endpoint server);
  boost::asio::awaitable<void> forward(Half& half);
  boost::asio::awaitable<void> join(Half& half);
  boost::asio::awaitable<More> receive(Half& half);
  boost::asio::awaitable<void> pass_frames(Half& half);
  boost::asio::awaitable<void> pass(Half& half, Frame frame, MutableOctets bytes);
  boost::asio::awaitable<void> apply(Half& half, Fault fault, const Frame& frame, MutableOctets bytes);
  boost::asio::awaitable<bool> wait(Half& half, Time time);
  boost::asio::awaitable<void> hold(Half& half, const Rule& rule);
  boost::asio::awaitable<void> cut(Half& half, const Frame& frame, Octets bytes);
  boost::asio::awaitable<void> write_pieces(Half& half, const Frame& frame, Octets bytes);
  boost::asio::awaitable<void> flush(Half& half);
  boost::asio::awaitable<void> write(Half& half, Octets bytes);

  void note_start_up(const Half& half, const Frame& frame);
  void unframe(Half& half, std::string_view why);
  std::string flip(Fault& fault, const Frame& frame, MutableOctets bytes);
  std::string lower(const Fault& fault, const Frame& frame, MutableOctets bytes);
  bool uses_crc() const noexcept;
  void report(const Half& half, const Frame& frame, const Fault& fault, const std::string& what);
  Tcp::socket& source(const Half& half) noexcept { return half.side == Side::to_server ? client_ : server_; }
  Tcp::socket& sink(const Half& half) noexcept { return half.side == Side::to_server ? server_ : client_; }
  Half& other(const Half& half) noexcept { return half.side == Side::to_server ? to_client_ : to_server_; }

  Tcp::socket client_, server_;
  std::uint32_t number_;
  Plan plan_;
  Counters& counters_;
  Log log_;
  Half to_server_, to_client_;
  bool closed_ = false;
  unsigned running_ = 0;  // the number of directions whose coroutine forward() has not ended
  std::function<void()> ended_;
};

}  // namespace rpcrdma::proxy
