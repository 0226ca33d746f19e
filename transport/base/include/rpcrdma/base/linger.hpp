// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <type_traits>

#include "rpcrdma/base/export.hpp"

namespace rpcrdma {

class Runner;

/// Waits for the next message of a connection within the handler that has processed the previous message. The wait
/// reads the connection itself and so avoids a turn of the event loop. Such a turn costs two system calls: one reports
/// that the connection is readable, and the other reports that nothing is left to read.
///
/// No other handler of the io_context runs during the wait. Therefore a connection waits only while no other connection
/// is active, for a limited time per handler, and less often if its waits find no messages. A Runner must run the
/// io_context, and its WaitPolicy must allow it to poll.
///
/// Belongs to one connection. Used by the thread that runs the io_context.
class RPCRDMA_EXPORT Linger {
 public:
  /// For a connection whose handlers `context` runs. `context` must outlive this object.
  explicit Linger(boost::asio::io_context& context);

  /// To be called at the start of each handler of the connection.
  void begin() noexcept;
  /// Calls `poll` repeatedly until the time for the wait is over, or until `poll` returns true because it has found a
  /// message. Returns whether a message was found. If the handler is not allowed to wait, returns false at once.
  template <typename Poll>
  bool wait(Poll&& poll) {
    return allowed() &&
           settle(spin([](void* object) { return (*static_cast<std::remove_reference_t<Poll>*>(object))(); }, &poll));
  }

 private:
  class Service;

  bool allowed() noexcept;
  bool spin(bool (*poll)(void*), void* object);
  bool settle(bool found) noexcept;

  friend Runner;
  static void attach(boost::asio::io_context& context, Runner& runner);
  static void detach(boost::asio::io_context& context, const Runner& runner) noexcept;

  Service& service_;
  unsigned left_ = 0;                           // waits that the current handler may still make
  std::chrono::steady_clock::duration time_{};  // the time that these waits may still take together
  // How many handlers skip the wait after a wait that found nothing. Each wait adjusts this number.
  unsigned rest_ = 0;
  unsigned skip_ = 0;  // how many of these handlers are still to come
};

}  // namespace rpcrdma
