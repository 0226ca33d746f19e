// SPDX-License-Identifier: BSD-3-Clause
// Operation. Forwards requests of the layers above to Control, which processes the optional messages of version two.
#include "control.hpp"

namespace rpcrdma::transport {

Characteristics Connection::characteristics() const noexcept {
  if (control_) return control_->characteristics();
  Characteristics out;
  out.version = version_;
  return out;
}

CharacteristicsExchange* Connection::exchange() noexcept { return control_.get(); }

void Connection::request_characteristics(const CharacteristicChange& wanted, CharacteristicsHandler handler) {
  if (!control_) return handler(TransportError::no_characteristics, {});
  control_->request(wanted, std::move(handler));
}

void Connection::change_characteristics(const CharacteristicChange& wanted, CharacteristicsHandler handler) {
  if (!control_) return handler(TransportError::no_characteristics, {});
  control_->change(wanted, std::move(handler));
}

std::uint32_t Connection::held_credits() const noexcept { return control_ ? control_->held_credits() : 0; }

bool Connection::peer_takes_reverse_calls() const noexcept {
  return !control_ || control_->peer_backward_support() != BackwardSupport::none;
}

bool Connection::peer_takes_reverse_chunks() const noexcept {
  return control_ && control_->peer_backward_support() == BackwardSupport::general;
}

bool Connection::may_offer_smaller_receives() const noexcept {
  return control_ && receives_.budget_short() && control_->may_offer_smaller_receives();
}

void Connection::offer_smaller_receives() noexcept { control_->offer_smaller_receives(); }

void Connection::backward_support_changed() noexcept {
  if (control_) control_->on_backward_support();
}

void Connection::note_own_call(std::uint64_t size) noexcept {
  if (control_) control_->on_own_call(size);
}

void Connection::plan_posted(std::uint8_t epoch) noexcept {
  if (--open_plans_[epoch] == 0 && control_) control_->pump();
}

}  // namespace rpcrdma::transport
