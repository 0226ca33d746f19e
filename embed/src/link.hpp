// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Connects a client's calls with its requester, which is made when it is first needed.
#include <boost/asio/steady_timer.hpp>
#include <vector>

#include "rpcrdma/base/unique_function.hpp"
#include "rpcrdma/base/weak_guard.hpp"
#include "rpcrdma/requester/requester.hpp"

namespace rpcrdma::embed {

/// Holds calls until there is a requester, and then forwards them to the requester. Used on the client's thread.
class Link final : public transport::Requester {
 public:
  /// `open` starts to make the requester; opened() or failed() reports the outcome.
  Link(boost::asio::io_context& context, UniqueFunction<void()> open);

  void submit(transport::Call& call) override;
  void cancel(transport::Call& call) override;
  std::uint32_t next_xid() noexcept override;
  Counters counters() const noexcept override;
  transport::Traffic traffic() const noexcept override;

  /// `handler` runs when there is a requester, perhaps at once. If opening fails or the link is closed, it runs with
  /// the error.
  void when_open(UniqueFunction<void(error_code), 256> handler);
  void opened(transport::Requester& target);
  /// Fails the waiting calls; the next call tries again.
  void failed(error_code why);
  /// Cancels the waiting calls, and drops the requester for good: no other is made.
  void close();

 private:
  using Timer = boost::asio::steady_timer;
  enum class State : std::uint8_t { idle, opening, open, closed };
  void need();
  void finish(transport::Call& call, error_code status);
  void await_deadline();
  void deadline_passed();

  boost::asio::io_context& context_;
  UniqueFunction<void()> open_;
  State state_ = State::idle;
  transport::Requester* target_ = nullptr;
  std::vector<transport::Call*> waiting_;
  std::vector<UniqueFunction<void(error_code), 256>> openers_;
  Timer deadline_;  // expires no later than the earliest deadline of the waiting calls
  std::uint32_t next_xid_;
  WeakGuard<Link> guard_{*this};
};

}  // namespace rpcrdma::embed
