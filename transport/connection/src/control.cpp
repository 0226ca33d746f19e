// SPDX-License-Identifier: BSD-3-Clause
// Operation. Sends optional messages, answers first. Only answers are sent while a request of this side is in transit.
// Each message fits the smallest receive [xchar-4.1-c].
// Ownership. Each of a few send buffers is in use until its Send completes; answers wait in a queue for a buffer.
// Errors. If more answers wait for a send buffer than this side may have receives, the connection is aborted.
#include "control.hpp"

#include <algorithm>

#include "rpcrdma/base/random_number.hpp"

namespace rpcrdma::transport {
namespace {

/// The largest optional message. Every peer's receives are at least as large [xchar-4.1-c].
constexpr std::uint32_t kSendSize = wire::kMinThreshold;
/// The largest content of an optional message.
constexpr std::size_t kMaxContent = 512;

}  // namespace

Control::Control(Connection& connection, const CharacteristicOptions& options)
    : connection_(connection),
      options_(options),
      phase_(options.exchange ? ExchangePhase::negotiating : ExchangePhase::off),
      slots_{SendSlot(*this), SendSlot(*this), SendSlot(*this), SendSlot(*this)},
      next_xid_(random_number()),
      deadline_(connection.context()),
      growth_(wire::kVersionTwoThreshold, std::min(options.max_send_size, wire::kMaxThreshold)),
      idle_(connection.context()) {}

error_code Control::prepare() {
  auto memory = connection_.pool().allocate(kSends * kSendSize);
  if (!memory) return memory.error();
  memory_ = std::move(*memory);
  // Sets the values now, because a peer may request other values before this side has announced them.
  own_.receive_buffer_size = connection_.receives_.size();
  // [xchar-3.2-c] a server begins with the default, false
  own_.requester_remote_invalidation = connection_.role() == Role::client && connection_.may_invalidate_remotely();
  std::uint32_t at = 0;
  for (SendSlot& slot : slots_) slot.memory = memory_.ref().slice(kSendSize * at++, kSendSize);
  return {};
}

void Control::on_message(const wire::Header& header) {
  if (request_xid_) note_progress(header);
  const bool error = header.procedure == wire::Procedure::error;
  if (connection_.role() == Role::server) {
    // [v2-5-a] A client must not send a second message before it has received the reply to its first one. This side
    // sends INIT_XCHAR before that reply. The second message therefore shows that INIT_XCHAR has arrived, and the
    // credit that INIT_XCHAR holds becomes free.
    held_ = false;
    if (!error) announce(false);
    return;
  }
  const bool reply = header.procedure != wire::Procedure::optional && header.direction == wire::Direction::reply;
  if (!reply) return;
  held_ = false;  // the reply answers a call that was sent after INIT_XCHAR, which has therefore arrived
  // INIT_XCHAR needs a receive at the peer. A peer that does not know the extension may post receives only for the
  // credits that it grants, and INIT_XCHAR uses one of these receives instead of a call. This side therefore sends
  // INIT_XCHAR only if it can use at least two credits. In the phase `heard`, the peer has sent its own INIT_XCHAR, so
  // it knows the extension and has a receive for this message.
  if (!error && (std::min(header.credits, connection_.call_credits()) > 1 || phase_ == ExchangePhase::heard))
    announce(phase_ == ExchangePhase::heard);
}

/// [xchar-4.1-b] Sends INIT_XCHAR, the first optional message of this side that is not an answer. To be called when
/// version two has been agreed. `known` is true if the peer has shown that it supports the extension. If `known` is
/// false, INIT_XCHAR holds a call credit until it is known to have arrived, or until the peer sends its own INIT_XCHAR.
void Control::announce(bool known) {
  const ExchangeTransition next = transition(phase_, ExchangeEvent::announce);
  if (next.reaction != Reaction::take) return;
  if (own_.requester_remote_invalidation) connection_.expects_invalidation_ = true;
  own_.backward_request_support = connection_.events_->backward_support();
  told_ = own_;
  if (phase_ != ExchangePhase::heard) peer_.receive_buffer_size = connection_.thresholds_.send;
  wire::v2::InitOption option;
  for (const Id id : {kReceiveSize, kInvalidation, kBackward}) option.start.push_back(own_value(id, told_));
  init_xid_ = next_xid_++;
  if (!post_option(option, *init_xid_, wire::Direction::call)) return;
  phase_ = next.next;
  unproven_ = true;
  held_ = !known;
}

Control::SendSlot* Control::idle_slot() noexcept {
  const auto at = std::ranges::find(slots_, false, &SendSlot::busy);
  return at == slots_.end() ? nullptr : &*at;
}

bool Control::post(wire::Header& header) {
  SendSlot* const slot = idle_slot();
  if (slot == nullptr || lost_) return false;
  const auto size = wire::encode(header, slot->memory.octets());
  if (!size) return false;
  slot->busy = true;
  const BufferRef message = slot->memory.slice(0, static_cast<std::uint32_t>(*size));
  return !connection_.post_send({&message, 1}, {}, &slot->work);
}

template <class Option>
bool Control::post_option(const Option& option, std::uint32_t xid, wire::Direction direction) {
  std::array<std::byte, kMaxContent> content;
  const auto size = wire::v2::encode(option, content);
  if (!size) return false;
  wire::Header header;
  header.xid = xid;
  header.version = wire::kVersionTwo;
  // [v2-4.2.2-d] [v2-4.2.2-e] The caller of post_option() passes Direction::reply and the XID of the request for a
  // response. It passes Direction::call and a new XID for every other message. The direction determines the meaning of
  // the credit field: a request for credits, or a grant.
  header.credits =
      direction == wire::Direction::call ? connection_.call_credits() : connection_.events_->granted_credits();
  header.procedure = wire::Procedure::optional;
  header.direction = direction;
  header.option_type = static_cast<std::uint32_t>(Option::kType);
  header.option = Octets(content).first(*size);
  return post(header);
}

bool Control::post_answer(const Answer& answer) {
  // [xchar-4.3-b] the response has the XID of the request
  if (answer.kind == AnswerKind::response) return post_option(answer.response, answer.xid, wire::Direction::reply);
  wire::Header header;
  header.xid = answer.xid;
  header.version = wire::kVersionTwo;
  const std::uint32_t granted = connection_.events_->granted_credits();
  if (answer.kind == AnswerKind::refused)
    wire::make_err_option(header, granted, header);  // [v2-3.1-a] [xchar-4-a] the option is not supported
  else
    wire::make_err_chunk(header, granted, header);
  return post(header);
}

void Control::answer(const Answer& answer) {
  if (answer.kind != AnswerKind::response) ++counted_.refused;
  // Each queued answer belongs to a message of the peer that is still unanswered. A peer that respects the credit grant
  // has at most max_receives() unanswered messages. A longer queue is therefore a violation.
  if (answers_.size() >= connection_.max_receives())
    return connection_.abort(fabric::FabricError::protocol_violation,
                             "the peer sends optional messages faster than it accepts the answers");
  answers_.push_back(answer);
  pump();
}

void Control::pump() {
  if (pumping_ || lost_) return;
  pumping_ = true;
  while (!lost_ && !answers_.empty() && idle_slot() != nullptr) {
    const Answer first = std::move(answers_.front());
    answers_.pop_front();
    if (!post_answer(first)) break;
  }
  // Posts other messages only while at least two slots are idle, so that an idle slot remains for answers.
  while (!lost_ && std::ranges::count(slots_, false, &SendSlot::busy) > 1 && post_next()) {
  }
  pumping_ = false;
}

/// Posts the next message of this side that is not an answer: a request of the program or of the policy, an update, an
/// offer, or the empty request of post_fence(). Returns false if no message is due, or if none may be sent at present.
bool Control::post_next() {
  if (phase_ != ExchangePhase::active || request_xid_) return false;
  if (!requests_.empty()) {
    // prepare_request() may begin a new epoch of reply plans, and the connection counts the open plans of only two
    // epochs. Plans of the previous epoch may still be open if an earlier request was prepared but ended unsent.
    if (!prepared_ && !connection_.old_plans_posted()) return false;
    prepare_request();
    // [xchar-3.1-d] If the request asks for smaller receives, prepare_request() has lowered this side's send limit.
    // Replies that were planned before may exceed the new limit, so they are posted before the request.
    if (!connection_.old_plans_posted()) return false;
    return post_request(requests_.front().wanted);
  }
  const bool news = told_ != own_ || offer_due_ || std::ranges::any_of(cleared_, [](bool due) { return due; });
  if (news) return unproven_ ? post_fence() : post_update();
  if (to_replace_ == 0) return false;
  --to_replace_;
  return post_fence();
}

/// Sends an empty request. Its answer shows that earlier messages have arrived. The request also consumes a receive of
/// the peer, which the peer then replaces by one of the current size.
bool Control::post_fence() {
  fence_ = true;
  request_xid_ = next_xid_++;
  progress_ = 0;
  fence_deadline_ = std::chrono::steady_clock::now() + options_.request_timeout;
  arm(fence_deadline_);
  return post_option(wire::v2::RequestOption(), *request_xid_, wire::Direction::call);
}

bool Control::post_update() {
  for (const Id id : {kReceiveSize, kInvalidation, kBackward}) {
    const wire::v2::UpdateOption update{own_value(id, own_), cleared_[id]};
    if (update.now == own_value(id, told_) && !update.pending_cleared) continue;
    cleared_[id] = false;
    if (id == kReceiveSize) {
      told_.receive_buffer_size = own_.receive_buffer_size;
      // If the peer has requested this size, it may send replies of up to this size inline from now on. Calls with such
      // replies need no Reply chunk.
      connection_.thresholds_.receive = std::max(connection_.thresholds_.receive, std::exchange(reply_size_, 0));
    } else if (id == kInvalidation) {
      told_.requester_remote_invalidation = own_.requester_remote_invalidation;
    } else {
      told_.backward_request_support = own_.backward_request_support;
    }
    unproven_ = true;
    ++counted_.updates_sent;
    return post_option(update, next_xid_++, wire::Direction::call);  // [xchar-4.4-b] an update has an XID of its own
  }
  return offer_due_ && post_offer();
}

bool Control::post_offer() {
  offer_due_ = false;
  unproven_ = true;
  ++counted_.updates_sent;
  const wire::v2::SmallerReceives wanted(first_size());
  return post_option(wire::v2::UpdateOption{wanted.characteristic(), false}, next_xid_++, wire::Direction::call);
}

bool Control::post_request(const CharacteristicChange& wanted) {
  using enum wire::v2::CharacteristicId;
  wanted_.clear();
  if (wanted.receive_buffer_size) wanted_.emplace_back(receive_buffer_size, *wanted.receive_buffer_size);
  if (wanted.requester_remote_invalidation)
    wanted_.emplace_back(requester_remote_invalidation, *wanted.requester_remote_invalidation ? 1u : 0u);
  if (wanted.backward_request_support)
    wanted_.emplace_back(backward_request_support, static_cast<std::uint32_t>(*wanted.backward_request_support));
  fence_ = false;
  request_xid_ = next_xid_++;
  progress_ = 0;
  ++counted_.requests_sent;
  return post_option(wire::v2::RequestOption{wanted_}, *request_xid_, wire::Direction::call);
}

void Control::on_sent(SendSlot& slot, const fabric::Completion& completion) noexcept {
  connection_.enter_batch();
  slot.busy = false;
  if (completion.status) return connection_.abort(completion.status);
  pump();
}

void Control::lost() {
  if (std::exchange(lost_, true)) return;
  deadline_.cancel();
  idle_.cancel();
  answers_.clear();
  while (!requests_.empty()) end_request(TransportError::connection_lost, {});
}

Characteristics Control::characteristics() const noexcept {
  Characteristics out = counted_;
  out.version = connection_.version();
  out.own = told_;
  out.peer = peer_;
  switch (phase_) {
    case ExchangePhase::off: out.state = ExchangeState::none; break;
    case ExchangePhase::negotiating:
    case ExchangePhase::heard: out.state = ExchangeState::negotiating; break;
    case ExchangePhase::announced: out.state = ExchangeState::announced; break;
    case ExchangePhase::active: out.state = ExchangeState::active; break;
    case ExchangePhase::refused: out.state = ExchangeState::refused; break;
  }
  return out;
}

wire::v2::Characteristic Control::own_value(Id id, const CharacteristicValues& from) const noexcept {
  using enum wire::v2::CharacteristicId;
  switch (id) {
    case kReceiveSize: return {receive_buffer_size, from.receive_buffer_size};
    case kInvalidation: return {requester_remote_invalidation, from.requester_remote_invalidation ? 1u : 0u};
    default: return {backward_request_support, static_cast<std::uint32_t>(from.backward_request_support)};
  }
}

}  // namespace rpcrdma::transport
