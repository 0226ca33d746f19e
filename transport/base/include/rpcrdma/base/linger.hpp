// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/io_context.hpp>
#include <type_traits>

#include "rpcrdma/base/export.hpp"

namespace rpcrdma {

class Runner;

/// Waits for the next message of a connection within the handler that has processed the last one. The message is then
/// found by reading the connection itself, without the turn of the event loop that a message otherwise costs: one
/// system call to learn that there is something to read, and another one to learn that there is nothing more.
///
/// Other handlers of the io_context run only after the wait. Therefore a connection waits only while no other
/// connection is active, at most a few times per handler, and less often if its waits find no messages. A Runner must
/// run the io_context, and its WaitPolicy must allow it to poll.
///
/// Belongs to one connection. Used by the thread that runs the io_context.
class RPCRDMA_EXPORT Linger {
 public:
  /// For a connection whose handlers `context` runs. `context` must outlive this object.
  explicit Linger(boost::asio::io_context& context);

  /// A handler of the connection begins.
  void begin() noexcept;
  /// Calls `poll` again and again until it returns true, which means that it has found a message, or until waiting does
  /// not pay any more. Returns whether a message was found.
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
  unsigned left_ = 0;  // waits that this handler may still make
  unsigned rest_ = 0;  // number of handlers that do not wait after the last wait that found nothing
  unsigned skip_ = 0;  // how many of them are still to come
};

}  // namespace rpcrdma
