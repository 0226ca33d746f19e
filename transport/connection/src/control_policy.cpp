// SPDX-License-Identifier: BSD-3-Clause
// Operation. The policy asks the peer for larger receives when many calls are long. It asks for the first size
// when no call needs a larger one, or when there are no calls. It asks for the size that the peer offers when the peer
// is short of memory. The peer replaces a receive only after a message has consumed it; on an idle connection, empty
// requests therefore consume the large receives one by one.
#include "control.hpp"

namespace rpcrdma::transport {

std::uint32_t Control::first_size() const noexcept { return connection_.first_receive_size_; }

void Control::on_own_call(std::uint64_t size) {
  ++own_calls_;
  if (to_replace_ != 0) --to_replace_;
  if (lost_ || phase_ != ExchangePhase::active || !options_.adaptive || growth_asked_ || requests_refused_) return;
  const std::uint32_t limit = connection_.thresholds_.send;
  const auto wanted = growth_.on_call(size, limit);
  if (!wanted || !requests_.empty()) return;
  if (*wanted > limit)
    ask_for(*wanted, "many calls are longer than the peer's present receives", counted_.grown);
  else
    ask_for(*wanted, "no call needs larger receives", counted_.shrunk_unused);
}

void Control::ask_for(std::uint32_t size, const char* why, std::uint64_t& counter) {
  connection_.log().debug("asking the peer for receives of {} bytes: {}", size, why);
  ++counter;
  growth_asked_ = true;
  CharacteristicChange change;
  change.receive_buffer_size = size;
  request(change, {});
}

/// Returns whether shrink() may ask the peer for smaller receives. On a server it may not: a server sends no calls of
/// the forward direction, and so cannot find out that the peer's receives are too large.
bool Control::may_shrink() const noexcept {
  return connection_.role() == Role::client && !lost_ && phase_ == ExchangePhase::active && options_.adaptive &&
         !requests_refused_ && connection_.thresholds_.send > growth_.least();
}

void Control::shrink(std::uint32_t size, const char* why, std::uint64_t& counter) {
  size = std::max(size, growth_.least());
  if (!may_shrink() || growth_asked_ || !requests_.empty() || size >= connection_.thresholds_.send) return;
  shrinking_ = true;
  ask_for(size, why, counter);
}

/// Starts the idle timer if may_shrink() is true and the timer is not running. When the timer expires, its handler
/// calls this function again.
void Control::watch_idleness() {
  if (watching_ || !may_shrink()) return;
  watching_ = true;
  idle_since_ = own_calls_;
  idle_.expires_after(options_.idle_shrink);
  idle_.async_wait(connection_.guard_.wrap([](Connection& connection, error_code cancelled) {
    Control& self = *connection.control_;
    if (cancelled || self.lost_) return;
    self.watching_ = false;
    if (self.own_calls_ == self.idle_since_)
      self.shrink(self.growth_.least(), "there are no calls", self.counted_.shrunk_idle);
    self.watch_idleness();
  }));
}

void Control::on_offer(std::uint32_t size) {
  growth_.pause();
  peer_offer_ = size;
  take_offer();
}

void Control::take_offer() {
  if (peer_offer_ == 0 || growth_asked_ || !requests_.empty()) return;
  shrink(std::exchange(peer_offer_, 0), "the peer is short of memory", counted_.shrunk_pressed);
}

bool Control::may_offer_smaller_receives() const noexcept {
  const bool raised = own_.receive_buffer_size > first_size() && !raising_;
  return !lost_ && phase_ == ExchangePhase::active && raised && !offered_;
}

void Control::offer_smaller_receives() {
  offered_ = true;
  connection_.log().debug("memory is short: telling the peer that this side's receives may shrink to {} bytes",
                          first_size());
  offer_due_ = true;
  pump();
}

}  // namespace rpcrdma::transport
