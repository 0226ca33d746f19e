// SPDX-License-Identifier: BSD-3-Clause
// Operation: calls wait, at most until their deadlines, while the server's address is resolved and the fabric opened.
// Ownership: calls belong to their callers; none is completed within submit() or cancel().
// Error handling: if resolving or opening fails, the calls that wait complete with the error.
#include "link.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "rpcrdma/base/random_number.hpp"
#include "rpcrdma/base/run_or_else.hpp"

namespace rpcrdma::embed {

Link::Link(boost::asio::io_context& context, UniqueFunction<void()> open)
    : context_(context),
      open_(std::move(open)),
      deadline_(context, Timer::time_point::max()),
      next_xid_(random_number()) {}

void Link::submit(transport::Call& call) {
  if (state_ == State::open) return target_->submit(call);
  if (state_ == State::closed) return finish(call, BaseError::cancelled);
  waiting_.push_back(&call);
  await_deadline();
  need();
}

void Link::cancel(transport::Call& call) {
  if (state_ == State::open) return target_->cancel(call);
  if (std::erase(waiting_, &call) != 0) finish(call, BaseError::cancelled);
}

std::uint32_t Link::next_xid() noexcept { return state_ == State::open ? target_->next_xid() : next_xid_++; }

transport::Requester::Counters Link::counters() const noexcept {
  if (state_ == State::open) return target_->counters();
  Counters counters;
  counters.waiting = static_cast<std::uint32_t>(waiting_.size());
  return counters;
}

transport::Traffic Link::traffic() const noexcept {
  return state_ == State::open ? target_->traffic() : transport::Traffic{};
}

void Link::when_open(UniqueFunction<void(error_code), 256> handler) {
  if (state_ == State::open) return handler({});
  if (state_ == State::closed) return handler(BaseError::cancelled);
  openers_.push_back(std::move(handler));
  need();
}

void Link::need() {
  if (state_ != State::idle) return;
  state_ = State::opening;
  open_();
}

void Link::opened(transport::Requester& target) {
  if (state_ != State::opening) return;
  state_ = State::open;
  target_ = &target;
  deadline_.expires_at(Timer::time_point::max());
  for (transport::Call* call : std::exchange(waiting_, {})) target.submit(*call);
  for (auto& handler : std::exchange(openers_, {})) handler({});
}

void Link::failed(error_code why) {
  if (state_ != State::opening) return;
  state_ = State::idle;
  deadline_.expires_at(Timer::time_point::max());
  for (transport::Call* call : std::exchange(waiting_, {})) finish(*call, why);
  for (auto& handler : std::exchange(openers_, {})) handler(why);
}

void Link::close() {
  deadline_.expires_at(Timer::time_point::max());
  state_ = State::closed;
  target_ = nullptr;
  for (transport::Call* call : std::exchange(waiting_, {})) finish(*call, BaseError::cancelled);
  for (auto& handler : std::exchange(openers_, {})) handler(BaseError::cancelled);
}

void Link::finish(transport::Call& call, error_code status) {
  const auto end = [&call, status] { call.done(status, nullptr); };
  boost::asio::post(context_, RunOrElse(end, end));
}

void Link::await_deadline() {
  const auto first = std::ranges::min_element(waiting_, {}, &transport::Call::deadline);
  if (first == waiting_.end() || deadline_.expiry() == (*first)->deadline) return;
  deadline_.expires_at((*first)->deadline);
  deadline_.async_wait(guard_.wrap([](Link& self, error_code ended) {
    if (!ended) self.deadline_passed();
  }));
}

void Link::deadline_passed() {
  deadline_.expires_at(Timer::time_point::max());
  const auto now = std::chrono::steady_clock::now();
  for (transport::Call* call : std::vector(waiting_)) {
    if (call->deadline > now) continue;
    std::erase(waiting_, call);
    finish(*call, BaseError::deadline_exceeded);
  }
  await_deadline();
}

}  // namespace rpcrdma::embed
