// SPDX-License-Identifier: BSD-3-Clause
// Operation. One timer serves all calls and is set to the earliest deadline. When it fires, every call is checked. The
// end of a call does not change the timer, since deadlines are far away and calls are short.
// Errors. A call past its deadline ends with deadline_exceeded, or with unreachable if it was never sent and there is
// no connection. If the peer has been silent for long when a call times out, or if calls that were given up hold all
// credits, the connection is aborted, because only a new connection helps. The connection is also aborted if the peer
// does not release the memory of a call that was given up.
#include <algorithm>

#include "requester_core.hpp"

namespace rpcrdma::transport {
namespace {

/// When on_timer() sets the timer to the next deadline, the timer expires after this time at the earliest. One run of
/// on_timer() thus handles several deadlines that lie close together.
constexpr std::chrono::milliseconds kGrain{5};
constexpr auto kNever = std::chrono::steady_clock::time_point::max();

}  // namespace

void RequesterCore::arm(std::chrono::steady_clock::time_point deadline) {
  if (deadline >= armed_for_ || shut_) return;
  armed_for_ = deadline;
  timer_.expires_at(deadline);
  timer_.async_wait(guard_.wrap([](RequesterCore& self, error_code failed) {
    if (!failed) self.on_timer();
  }));
}

void RequesterCore::on_timer() {
  const auto now = std::chrono::steady_clock::now();
  auto next = kNever;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    Call& call = *at++;
    if (call.deadline <= now)
      expire(call);
    else
      next = std::min(next, call.deadline);
  }
  bool timed_out = false;
  bool held_up = false;
  for (const auto& slot : slots_) {
    if (slot->state() != CallSlot::State::on_wire && !slot->held_up()) continue;
    if (slot->call()->deadline <= now) {
      if (slot->state() == CallSlot::State::on_wire) {
        timed_out = true;
        gave_up_at_ = now;
      }
      slot->give_up(BaseError::deadline_exceeded);
    } else {
      next = std::min(next, slot->call()->deadline);
    }
    if (!slot->held_up()) continue;
    held_up = held_up || slot->over_by() <= now;
    next = std::min(next, slot->over_by());
  }
  armed_for_ = kNever;
  if (next != kNever) arm(std::max(next, now + kGrain));
  if (connection_ && (held_up || (timed_out && now - heard_at_ >= setup_.silence)))
    connection_->abort(BaseError::deadline_exceeded);
  else
    break_if_stuck();
}

std::chrono::steady_clock::time_point RequesterCore::grace_from_now() {
  const auto until = std::chrono::steady_clock::now() + setup_.grace;
  arm(until);
  return until;
}

void RequesterCore::expire(Call& call) {
  waiting_.erase(waiting_.iterator_to(call));
  const bool unreachable = !connection_ && !CallAccess::was_sent(call);
  fail_later(call, unreachable ? error_code(TransportError::unreachable) : error_code(BaseError::deadline_exceeded));
}

void RequesterCore::break_if_stuck() {
  if (!connection_ || credits_.available() != 0) return;
  for (const auto& slot : slots_)
    if (slot->state() == CallSlot::State::on_wire) return;
  if (credits_.in_flight() == 0) return;
  const auto until = gave_up_at_ + setup_.patience;
  if (setup_.patience.count() != 0 && std::chrono::steady_clock::now() < until) return arm(until);
  connection_->abort(BaseError::deadline_exceeded);
}

}  // namespace rpcrdma::transport
