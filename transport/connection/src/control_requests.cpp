// SPDX-License-Identifier: BSD-3-Clause
// Operation. Requests of the program and of the policy (control_policy.cpp) are sent one after the other. Before this
// side asks for smaller receives, it limits its own Sends to the new size, or to 4096 bytes if that is more.
// Ownership. A request keeps its handler until the peer has answered, the deadline has passed or the connection has
// ended.
// Errors. If the peer does not support REQ_XCHAR, every request counts as rejected [xchar-3-b]. In an active
// exchange, a response that matches no request is ignored. A malformed response ends its request with bad_reply, unless
// the request has timed out.
#include <algorithm>

#include "control.hpp"

namespace rpcrdma::transport {
namespace {

using wire::v2::CharacteristicId;

/// The maximum number of requests whose handlers have not run. Requests that have not been sent yet count too. The
/// draft sets no limit.
constexpr std::size_t kMaxRequests = 16;

bool valid(const CharacteristicChange& change) noexcept {
  return !change.backward_request_support || *change.backward_request_support <= BackwardSupport::general;
}

ChangeOutcome all(const CharacteristicChange& wanted, Disposition disposition) noexcept {
  ChangeOutcome out;
  if (wanted.receive_buffer_size) out.receive_buffer_size = disposition;
  if (wanted.requester_remote_invalidation) out.requester_remote_invalidation = disposition;
  if (wanted.backward_request_support) out.backward_request_support = disposition;
  return out;
}

Disposition disposition_of(const wire::v2::ResponseOption& response, std::size_t position) noexcept {
  if (response.done.contains(position)) return Disposition::done;
  return response.pending.contains(position) ? Disposition::pending : Disposition::rejected;
}

/// [xchar-4.3-c] Whether each value of the request is in exactly one of the three sets, and the sets contain nothing
/// else.
bool is_partition(const wire::v2::ResponseOption& response, std::size_t count) noexcept {
  for (std::size_t i = 0; i < wire::v2::kMaxCharacteristics; ++i) {
    const int sets = (response.done.contains(i) ? 1 : 0) + (response.rejected.contains(i) ? 1 : 0) +
                     (response.pending.contains(i) ? 1 : 0);
    if (sets != (i < count ? 1 : 0)) return false;
  }
  return true;
}

}  // namespace

void Control::request(const CharacteristicChange& wanted, Handler handler) {
  if (!valid(wanted)) return handler(BaseError::invalid_argument, {});
  if (lost_) return handler(TransportError::connection_lost, {});
  if (phase_ != ExchangePhase::active) return handler(TransportError::no_characteristics, {});
  if (wanted.receive_buffer_size.value_or(0) > largest_send()) return handler(BaseError::invalid_argument, {});
  if (requests_refused_) return handler({}, all(wanted, Disposition::rejected));
  if (requests_.size() >= kMaxRequests) return handler(BaseError::out_of_memory, {});
  requests_.push_back({wanted, std::move(handler), std::chrono::steady_clock::now() + options_.request_timeout});
  arm(requests_.back().deadline);
  pump();
}

/// [xchar-3.1-d] To be called before the first request in `requests_` is sent. If the request asks for receives that
/// are smaller than this side's Sends may be, limits the Sends to the requested size, but not below the default of
/// version two. Further calls for the same request have no effect.
void Control::prepare_request() {
  if (std::exchange(prepared_, true)) return;
  const auto& size = requests_.front().wanted.receive_buffer_size;
  if (!size || *size >= connection_.thresholds_.send) return;
  lowered_ = std::max(*size, wire::kVersionTwoThreshold);
  limit_sends();
  connection_.begin_plans();
}

std::uint32_t Control::largest_send() const noexcept {
  const std::uint32_t wanted = std::max(connection_.options().send_size, options_.max_send_size);
  return std::max(connection_.buffer_size(), std::min(wanted, wire::kMaxThreshold));
}

void Control::limit_sends() noexcept {
  connection_.thresholds_.send = std::min(peer_.receive_buffer_size, largest_send());
  if (lowered_) connection_.thresholds_.send = std::min(connection_.thresholds_.send, *lowered_);
  connection_.highest_send_ = std::max(connection_.highest_send_, connection_.thresholds_.send);
  watch_idleness();
}

void Control::on_response(const wire::Header& header) {
  if (!take(ExchangeEvent::response, header.xid)) return;
  wire::v2::ResponseOption response;
  // [xchar-4.3-b] This side ignores a response that does not belong to the request in transit, and does not answer it.
  if (!request_xid_ || header.xid != *request_xid_) {
    ++counted_.refused;
    return;
  }
  const bool sound =
      wire::v2::decode(header.option, response).has_value() && is_partition(response, fence_ ? 0 : wanted_.size());
  const bool fence = fence_, late = overdue_;
  answered();
  if (!sound) ++counted_.refused;
  if (!fence && sound) {
    const ChangeOutcome outcome = settle(response);
    if (!late) end_request({}, outcome);
  } else if (!fence && !late) {
    doubt();
    end_request(TransportError::bad_reply, {});
  }
  pump();
}

/// Called when the request in transit has been answered, or is known to have arrived. Then earlier messages have
/// arrived too.
void Control::answered() noexcept {
  request_xid_.reset();
  init_xid_.reset();
  fence_ = overdue_ = unproven_ = false;
}

/// Called when it is unknown whether the peer has made the changes in `wanted_`. From now on this side sends only
/// messages that both the old and the new values allow.
void Control::doubt() {
  doubtful_ = doubtful_ || lowered_.has_value();
  for (const wire::v2::Characteristic& value : wanted_) {
    const bool less = value.id == static_cast<std::uint32_t>(CharacteristicId::backward_request_support)
                          ? value.value < static_cast<std::uint32_t>(peer_.backward_request_support)
                          : value.value == 0;
    if (less && value.id != static_cast<std::uint32_t>(CharacteristicId::receive_buffer_size)) apply(value);
  }
}

ChangeOutcome Control::settle(const wire::v2::ResponseOption& response) {
  ChangeOutcome outcome;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const Disposition disposition = disposition_of(response, i);
    settle(wanted_[i].id, wanted_[i].value, disposition);
    switch (CharacteristicId{wanted_[i].id}) {
      case CharacteristicId::receive_buffer_size: outcome.receive_buffer_size = disposition; break;
      case CharacteristicId::requester_remote_invalidation: outcome.requester_remote_invalidation = disposition; break;
      case CharacteristicId::backward_request_support: outcome.backward_request_support = disposition; break;
    }
  }
  return outcome;
}

/// [xchar-4.3-d] a value that the peer reports as done is in effect from now on
void Control::settle(std::uint32_t id, std::uint32_t value, Disposition disposition) {
  if (disposition == Disposition::done) apply({CharacteristicId{id}, value});
  if (id != static_cast<std::uint32_t>(CharacteristicId::receive_buffer_size)) return;
  if (disposition == Disposition::done) doubtful_ = false;
  if (disposition != Disposition::pending && !doubtful_) lowered_.reset();
  limit_sends();
}

void Control::end_request(error_code status, const ChangeOutcome& outcome) {
  Handler handler = std::move(requests_.front().handler);
  requests_.pop_front();
  prepared_ = false;
  if (handler) {
    take_offer();
    return handler(status, outcome);
  }
  // The request has no handler, so the policy (control_policy.cpp) has made it, and not the program.
  growth_asked_ = false;
  if (status || outcome.receive_buffer_size == Disposition::rejected) growth_.pause();
  if (std::exchange(shrinking_, false) && outcome.receive_buffer_size == Disposition::done)
    to_replace_ = connection_.options().credits + connection_.options().reverse_credits + kReceives;
  take_offer();
}

bool Control::on_error(const wire::Header& header) {
  if (request_xid_ && header.xid == *request_xid_) {
    // [xchar-3-b] By RDMA2_ERR_INVAL_OPTION the peer says that it does not support REQ_XCHAR. This side then sends no
    // more requests on this connection, and treats all outstanding and later ones as rejected.
    requests_refused_ = requests_refused_ || header.error == wire::ErrorKind::invalid_option;
    if (requests_refused_) to_replace_ = 0;
    const bool fence = fence_, late = overdue_;
    answered();
    if (!fence) {
      if (!doubtful_) lowered_.reset();
      limit_sends();
      if (!late) end_request({}, all(requests_.front().wanted, Disposition::rejected));
    }
    while (requests_refused_ && !requests_.empty())
      end_request({}, all(requests_.front().wanted, Disposition::rejected));
    pump();
    return true;
  }
  if (!init_xid_ || header.xid != *init_xid_) return false;
  // [xchar-4.1-e] The peer has answered INIT_XCHAR with an error. The connection continues.
  init_xid_.reset();
  unproven_ = held_ = false;
  take(ExchangeEvent::refusal, header.xid);
  connection_.log().debug("the peer does not support transport characteristics");
  pump();
  return true;
}

void Control::change(const CharacteristicChange& wanted, Handler handler) {
  if (!valid(wanted)) return handler(BaseError::invalid_argument, {});
  if (lost_) return handler(TransportError::connection_lost, {});
  if (phase_ != ExchangePhase::active) return handler(TransportError::no_characteristics, {});
  ChangeOutcome outcome;
  if (const auto& size = wanted.receive_buffer_size) {
    const bool same = *size == own_.receive_buffer_size && !raising_;
    const bool raises = *size > own_.receive_buffer_size && start_raise(*size, false);
    outcome.receive_buffer_size = same ? Disposition::done : raises ? Disposition::pending : Disposition::rejected;
  }
  if (const auto& accepts = wanted.requester_remote_invalidation) {
    const bool possible = !*accepts || connection_.may_invalidate_remotely();
    if (possible) own_.requester_remote_invalidation = *accepts;
    if (possible && *accepts) connection_.expects_invalidation_ = true;
    outcome.requester_remote_invalidation = possible ? Disposition::done : Disposition::rejected;
  }
  if (const auto& support = wanted.backward_request_support) {
    // The user may announce less support for reverse calls than this side has, but not more.
    const bool possible = *support <= connection_.events_->backward_support();
    if (possible) own_.backward_request_support = *support;
    outcome.backward_request_support = possible ? Disposition::done : Disposition::rejected;
  }
  on_replaced(true);
  pump();
  handler({}, outcome);
}

void Control::on_backward_support() {
  if (phase_ != ExchangePhase::announced && phase_ != ExchangePhase::active && phase_ != ExchangePhase::refused) return;
  own_.backward_request_support = connection_.events_->backward_support();
  pump();
}

}  // namespace rpcrdma::transport
