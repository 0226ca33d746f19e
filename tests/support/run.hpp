// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>

namespace rpcrdma::test {

/// Runs `context` until `done()` returns true; returns false if the deadline passes first. Blocks while no handler is
/// ready.
template <class Predicate>
bool run_until(boost::asio::io_context& context, Predicate done,
               std::chrono::steady_clock::duration deadline = std::chrono::minutes(5)) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  const auto guard = boost::asio::make_work_guard(context);
  context.restart();
  while (!done()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    context.run_one_until(end);
  }
  return true;
}

/// Runs handlers until none is ready. For fabrics without I/O.
inline void run_ready(boost::asio::io_context& context) {
  context.restart();
  while (context.poll() != 0) context.restart();
}

}  // namespace rpcrdma::test
