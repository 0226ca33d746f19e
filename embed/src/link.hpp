// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The requester to which an embedded client submits its calls. The requester of the transport is made when it is first
// needed; see Link.
#include <boost/asio/steady_timer.hpp>
#include <vector>

#include "rpcrdma/base/unique_function.hpp"
#include "rpcrdma/base/weak_guard.hpp"
#include "rpcrdma/requester/requester.hpp"

namespace rpcrdma::embed {

/// Holds calls until there is a requester, and then forwards them to the requester. Used on the client's thread.
class Link final : public transport::Requester {
 public:
  /// This object calls `open` when it first needs the requester. `open` starts to make the requester. The outcome must
  /// then be reported with opened() or failed().
  Link(boost::asio::io_context& context, UniqueFunction<void()> open);

  void submit(transport::Call& call) override;
  void cancel(transport::Call& call) override;
  std::uint32_t next_xid() noexcept override;
  Counters counters() const noexcept override;
  transport::Traffic traffic() const noexcept override;

  /// Calls `handler` with success when there is a requester, perhaps before this function returns. If the requester
  /// cannot be made, or if this object is closed, calls `handler` with the error instead. Calls `open` unless the
  /// requester exists or is being made, or this object is closed.
  void when_open(UniqueFunction<void(error_code), 256> handler);
  void opened(transport::Requester& target);
  /// Reports that the requester could not be made. The waiting calls end with `why`, which the handlers of when_open()
  /// also receive. The next submit() or when_open() calls `open` again.
  void failed(error_code why);
  /// Cancels the waiting calls and forgets the requester. Later calls are cancelled too, because this object makes no
  /// other requester.
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
