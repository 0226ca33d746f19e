// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <list>
#include <map>
#include <set>

#include "plan.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "trace.hpp"

namespace rpcrdma::sim {

/// The names of the invariants.
namespace invariant {
inline constexpr std::string_view kOnce = "a call completes exactly once";
inline constexpr std::string_view kExecutedOnce = "a non-idempotent call is executed once";
inline constexpr std::string_view kInvalidated = "exposed memory is invalidated before its call completes";
inline constexpr std::string_view kNothingLeft = "nothing is left";
inline constexpr std::string_view kBytes = "every byte matches the model";
inline constexpr std::string_view kAlive = "calls complete and succeed once faults have ended";
inline constexpr std::string_view kCredits = "no message without a receive";
}  // namespace invariant

/// The state that all parts of a run share. It outlives them.
struct Stage {
  boost::asio::io_context& context;
  fabric::LoopbackNetwork& network;
  const Plan& plan;
  Trace& trace;
  Log log;
  fabric::Endpoint endpoint;
  bool faults_over = false;
  std::uint32_t server_lives = 0;               ///< servers started so far
  std::map<std::uint64_t, std::uint32_t> runs;  ///< token -> executions by the present server
  std::set<std::uint64_t> ever_run;             ///< tokens executed by any server

  const Setup& setup() const noexcept { return plan.setup; }
};

/// Lets handlers wait; end() ends the waits early.
class Waits {
 public:
  explicit Waits(boost::asio::io_context& context) : context_(context) {}

  boost::asio::awaitable<void> wait(std::chrono::milliseconds time);
  /// Ends all waits. Later waits end at once.
  void end() noexcept;

 private:
  boost::asio::io_context& context_;
  std::list<boost::asio::steady_timer*> waiting_;
  bool ended_ = false;
};

/// Tells when the event loop has run the handlers that were ready at start(), and those that these handlers posted,
/// directly or through up to three further handlers. The object must exist until over() returns true.
class Drain {
 public:
  explicit Drain(boost::asio::io_context& context) : context_(context) {}
  void start() { round(4); }
  bool over() const noexcept { return over_; }

 private:
  void round(int left);

  boost::asio::io_context& context_;
  bool over_ = false;
};

}  // namespace rpcrdma::sim
