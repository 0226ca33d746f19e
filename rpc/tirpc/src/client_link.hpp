// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>

#include "address.hpp"
#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/requester/client.hpp"

namespace rpcrdma::tirpc {

struct LinkOptions {
  fabric::Provider provider = fabric::Provider::automatic;
  std::chrono::milliseconds connect_timeout{10'000};
  transport::VersionChoice version = transport::VersionChoice::one;
  Polling poll;
  std::uint32_t max_call = 0;
  std::uint32_t max_reply = 0;
  Log log;
};

/// A connection to a server, with its own event loop. The event loop runs only inside the functions of this class that
/// handle events, such as run_until() and poll(), on the thread that calls them. Two threads must not use the object at
/// the same time.
class ClientLink {
 public:
  /// Connects. Fails with the error of the fabric or of the connection.
  static Result<std::unique_ptr<ClientLink>> open(const fabric::Endpoint& server, const LinkOptions& options);

  /// Closes the connection, waiting briefly for posted calls.
  ~ClientLink();
  ClientLink(const ClientLink&) = delete;
  ClientLink& operator=(const ClientLink&) = delete;

  transport::Requester& requester() noexcept { return client_->requester(); }
  memory::Pool& pool() noexcept { return *pool_; }
  int descriptor() noexcept;
  bool connected() const noexcept { return client_->connected(); }
  /// Handles pending events, and connects if there is no connection. Returns false on failure; error() is the reason.
  bool ensure_connected();
  error_code error() const noexcept { return client_->last_error(); }

  /// Handles events until `done()`, called before the first event and after each event, returns true.
  template <class Done>
  void run_until(Done done) {
    while (!done()) runner_.run_one();
  }
  /// As run_until() above, but at most until the time `until`. Returns false if `done()` is still false then.
  template <class Done>
  bool run_until(Done done, std::chrono::steady_clock::time_point until) {
    if (done()) return true;
    passed_ = false;
    timer_.expires_at(until);
    timer_.async_wait(
        [this, turn = ++turn_](error_code cancelled) { passed_ = passed_ || (!cancelled && turn == turn_); });
    while (!done() && !passed_) runner_.run_one();
    timer_.cancel();
    return done();
  }
  /// Waits for the next event, and handles it.
  void run_one() { runner_.run_one(); }
  /// Handles the events that are ready, without waiting.
  void poll() { context_.poll(); }

 private:
  explicit ClientLink(const LinkOptions& options)
      : connect_timeout_(options.connect_timeout), runner_(context_, options.poll) {}

  std::chrono::milliseconds connect_timeout_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{context_.get_executor()};
  Runner runner_;
  boost::asio::steady_timer timer_{context_};
  std::uint64_t turn_ = 0;  // number of the last timed run_until(); handlers of earlier timers have no effect
  bool passed_ = false;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::unique_ptr<memory::Pool> pool_;
  std::unique_ptr<transport::Client> client_;
};

}  // namespace rpcrdma::tirpc
