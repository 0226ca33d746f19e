// SPDX-License-Identifier: BSD-3-Clause
// Operation. Each optional message of the peer is processed when it arrives; the table of exchange_phase.hpp determines
// whether this side accepts it.
// Ownership. Only the values of a message are kept.
// Errors. A malformed option is answered by RDMA2_ERR_BAD_HEADER [xchar-2.1-b], an unknown or unsupported option by
// RDMA2_ERR_INVAL_OPTION [v2-3.1-a]. Errors in responses: see control_requests.cpp.
#include <algorithm>
#include <array>

#include "control.hpp"

namespace rpcrdma::transport {

using wire::v2::Characteristic;
using wire::v2::CharacteristicId;

void Control::on_option(const wire::Header& header) {
  switch (wire::v2::OptionType{header.option_type}) {
    case wire::v2::OptionType::init: return on_init(header);
    case wire::v2::OptionType::request: return on_request(header);
    case wire::v2::OptionType::response: return on_response(header);
    case wire::v2::OptionType::update: return on_update(header);
  }
  answer({header.xid, AnswerKind::refused, {}});  // [v2-3.1-a] this side does not know the type
}

bool Control::take(ExchangeEvent event, std::uint32_t xid) {
  const ExchangeTransition next = transition(phase_, event);
  phase_ = next.next;
  switch (next.reaction) {
    case Reaction::take: return true;
    case Reaction::refuse: answer({xid, AnswerKind::refused, {}}); break;
    case Reaction::bad: answer({xid, AnswerKind::bad, {}}); break;
    case Reaction::drop: ++counted_.refused; break;
  }
  return false;
}

void Control::on_init(const wire::Header& header) {
  wire::v2::InitOption option;
  if (phase_ != ExchangePhase::off && !wire::v2::decode(header.option, option)) return on_malformed(header);
  if (phase_ == ExchangePhase::negotiating) peer_.receive_buffer_size = connection_.thresholds_.send;
  if (!take(ExchangeEvent::init, header.xid)) return;
  // This INIT_XCHAR shows that the peer has receives for optional messages. INIT_XCHAR of this side, if it has been
  // sent, therefore needs no call credit any more.
  held_ = false;
  for (const Characteristic& value : option.start) apply(value);  // [xchar-4.1-d] unknown characteristics are ignored
  // The present limit of this side's Sends, which no request has changed yet, becomes the least size that the policy
  // asks for.
  growth_ = InlineGrowth(connection_.thresholds_.send, std::min(options_.max_send_size, wire::kMaxThreshold));
  watch_idleness();
  static constexpr std::array kReverseCalls{"unknown", "none", "without chunks", "all"};
  connection_.log().debug(
      "characteristics of the peer: receives of {} bytes, remote invalidation {}, reverse calls {}",
      peer_.receive_buffer_size, peer_.requester_remote_invalidation,
      kReverseCalls[std::min<std::size_t>(static_cast<std::size_t>(peer_.backward_request_support), 3)]);
  pump();
}

void Control::on_update(const wire::Header& header) {
  wire::v2::UpdateOption option;
  if (phase_ != ExchangePhase::off && !wire::v2::decode(header.option, option)) return on_malformed(header);
  if (!take(ExchangeEvent::update, header.xid)) return;
  ++counted_.updates_received;
  // [xchar-3.1-d] When this side requests smaller receives, it limits its own Sends to `lowered_`. An update of the
  // peer's receive size ends this limit in two cases: the announced size is at most `lowered_`, or the update says that
  // the request is no longer pending.
  if (option.now.id == static_cast<std::uint32_t>(CharacteristicId::receive_buffer_size) && lowered_ &&
      (option.pending_cleared || option.now.value <= *lowered_)) {
    lowered_.reset();
    doubtful_ = false;
  }
  apply(option.now);
  // [xchar-6.2-a] By the experimental characteristic SmallerReceives, the peer offers to make its receives smaller.
  if (const auto size = wire::v2::SmallerReceives::size_in(option.now)) on_offer(*size);
}

void Control::apply(const Characteristic& value) {
  if (!value.known()) return;  // [xchar-2.1-d] an unknown characteristic is ignored
  switch (CharacteristicId{value.id}) {
    case CharacteristicId::receive_buffer_size:
      // [v2-2.3-a] every receiver of version two has receives of at least this size
      peer_.receive_buffer_size = std::max(value.value, wire::kVersionTwoThreshold);
      return limit_sends();
    case CharacteristicId::requester_remote_invalidation:
      peer_.requester_remote_invalidation = value.value != 0;
      // [xchar-3.2-a] [xchar-3.2-b] uses Send with Invalidate only if the peer accepts it
      connection_.thresholds_.remote_invalidation = value.value != 0 && connection_.may_invalidate_remotely();
      return;
    case CharacteristicId::backward_request_support:
      peer_.backward_request_support = BackwardSupport{value.value};
      return;
  }
}

/// [xchar-3.3-b] To be called when a reverse call of the peer has arrived. If the peer's support of the reverse
/// direction is unknown, infers it from the call: with chunks if the call has chunks, otherwise without.
void Control::on_reverse_call(bool has_chunks) noexcept {
  if (phase_ == ExchangePhase::off || peer_.backward_request_support != BackwardSupport::unknown) return;
  peer_.backward_request_support = has_chunks ? BackwardSupport::general : BackwardSupport::size_limited;
}

void Control::on_request(const wire::Header& header) {
  wire::v2::RequestOption option;
  if (phase_ != ExchangePhase::off && !wire::v2::decode(header.option, option)) return on_malformed(header);
  if (!take(ExchangeEvent::request, header.xid)) return;
  ++counted_.requests_received;
  // [xchar-4.2-b] [xchar-4.3-c] each value belongs to exactly one of the sets
  Answer out{header.xid, AnswerKind::response, {}};
  for (std::size_t i = 0; i < option.wanted.size(); ++i) {
    switch (consider(option.wanted[i])) {
      case Disposition::done: out.response.done.insert(i); break;
      case Disposition::pending: out.response.pending.insert(i); break;
      default: out.response.rejected.insert(i); break;
    }
  }
  answer(out);
  // If no receive is smaller than the requested size, on_replaced() ends the raise now, and the new size takes effect.
  if (raising_) on_replaced(true);
}

/// [xchar-3-a] refuses a value that this side does not interpret, or cannot change
Disposition Control::consider(const Characteristic& wanted) {
  if (!wanted.known()) return Disposition::rejected;
  switch (CharacteristicId{wanted.id}) {
    case CharacteristicId::receive_buffer_size: return consider_size(wanted.value);
    case CharacteristicId::requester_remote_invalidation:
      if (wanted.value != 0 && !connection_.may_invalidate_remotely()) return Disposition::rejected;
      own_.requester_remote_invalidation = told_.requester_remote_invalidation = wanted.value != 0;
      if (wanted.value != 0) connection_.expects_invalidation_ = true;
      return Disposition::done;
    case CharacteristicId::backward_request_support:
      return wanted.value == static_cast<std::uint32_t>(told_.backward_request_support) ? Disposition::done
                                                                                        : Disposition::rejected;
  }
  return Disposition::rejected;
}

/// [xchar-3.1-b] [xchar-3.1-c] A larger size takes effect when no smaller receive is left. A smaller size takes effect
/// at once: the peer limited its Sends before it made the request.
Disposition Control::consider_size(std::uint32_t size) {
  if (size < wire::kVersionTwoThreshold) return Disposition::rejected;
  const std::uint32_t current = own_.receive_buffer_size;
  if (size > current) return start_raise(size, true) ? Disposition::pending : Disposition::rejected;
  if (raising_) {
    // Stops replacing receives by larger ones.
    const bool asked = std::exchange(raise_asked_, false);
    cleared_[kReceiveSize] = cleared_[kReceiveSize] || asked;
    raising_ = false;
  }
  connection_.receives_.set_size(size);
  if (size == current) return Disposition::done;
  connection_.events_->on_receive_size(current, size);
  connection_.message_log({}).debug("receives lowered from {} to {} bytes at the peer's request", current, size);
  own_.receive_buffer_size = told_.receive_buffer_size = size;
  offered_ = offer_due_ = false;
  reply_size_ = 0;
  connection_.thresholds_.receive = std::min(connection_.thresholds_.receive, size);
  return Disposition::done;
}

bool Control::start_raise(std::uint32_t size, bool asked) {
  const std::uint32_t most = std::clamp(std::max(options_.max_receive_size, connection_.options().receive_size),
                                        wire::kVersionTwoThreshold, wire::kMaxThreshold);
  const std::uint32_t target = connection_.receives_.size();
  if (size > most || (raising_ && size != target) || !connection_.receives_.has_room(size)) return false;
  raise_asked_ = raise_asked_ || asked;
  if (std::exchange(raising_, true)) return true;
  offered_ = offer_due_ = false;
  connection_.receives_.set_size(size);
  return true;
}

void Control::on_replaced(bool replaced) {
  if (!raising_) return;
  if (replaced && connection_.receives_.smaller() != 0) return;
  raising_ = false;
  const bool asked = std::exchange(raise_asked_, false);
  // [xchar-4.3-e] [xchar-4.4-c] UPD_XCHAR reports that the request is no longer pending
  cleared_[kReceiveSize] = cleared_[kReceiveSize] || asked;
  if (replaced) {
    own_.receive_buffer_size = connection_.receives_.size();
    if (asked) reply_size_ = own_.receive_buffer_size;
    connection_.events_->on_receive_size(told_.receive_buffer_size, own_.receive_buffer_size);
    connection_.message_log({}).debug("receives raised from {} to {} bytes", told_.receive_buffer_size,
                                      own_.receive_buffer_size);
  } else {
    connection_.receives_.set_size(own_.receive_buffer_size);
    connection_.message_log({}).debug("receives not raised beyond {} bytes: memory is short", own_.receive_buffer_size);
  }
  pump();
}

}  // namespace rpcrdma::transport
