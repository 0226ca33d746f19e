// SPDX-License-Identifier: BSD-3-Clause
// Operation. Accepts the calls of a connection and accounts for its credits.
// Ownership. Calls belong to the pool of the Service; this object lists the calls in progress.
// Errors. A header that cannot be processed is answered by RDMA_ERROR, unless the RFC requires a silent discard or this
// side is draining. If it is known which call's chunks broke a server's connection, that call is remembered.
#include "serving_link.hpp"

#include <algorithm>
#include <utility>

#include "call_impl.hpp"
#include "rpcrdma/base/log_reason.hpp"

namespace rpcrdma::transport {
namespace {

wire::ErrorKind kind_of(wire::Answer answer) noexcept {
  switch (answer) {
    case wire::Answer::err_vers: return wire::ErrorKind::vers;
    case wire::Answer::err_option: return wire::ErrorKind::invalid_option;
    default: return wire::ErrorKind::chunk;
  }
}

}  // namespace

ServingLink::~ServingLink() { lost({}); }

/// Posts a receive for each credit that the message requests, up to the limit of this side. Must run before the next
/// reply grants these credits [8166-3.3.1-e]. If memory suffices only for fewer receives, lowers the grant.
void ServingLink::take_request(const wire::Header& header) noexcept {
  const std::uint32_t wanted = std::clamp(header.credits, 1u, credits_);
  // [8167-4.3.2-a] receives for both directions
  const std::uint32_t receives = connection_->provide_receives(wanted + other_credits_);
  // If the new grant is lower than the one before, the receives for the earlier grant stay posted.
  granted_ = std::min(wanted, receives > other_credits_ ? receives - other_credits_ : 1u);
}

std::uint32_t ServingLink::grant() const noexcept {
  // [8166-3.3.1-b] the grant is never 0; [8166-3.3.1-d] it is lower while memory is short
  const bool short_of_memory = service_.short_of_memory() || bulk_.has_waiters() || long_calls_.has_waiters();
  return short_of_memory ? std::max(granted_ / 4, 1u) : granted_;
}

void ServingLink::on_call(Received& message) {
  unproven_writes_ = 0;
  if (draining_) return discard(message.header.xid, "no calls are accepted any more");
  take_request(message.header);
  service_.count(service_.counters.calls);
  const ChunkKinds kinds = connection_->count_call(message.header);
  ++calls_taken_;
  CallImpl& call = service_.take_call();
  active_.push_back(&call);
  call.arrive(*this, *connection_, message, kinds);
}

void ServingLink::on_bad_message(wire::WireError error, Received& message) {
  unproven_writes_ = 0;
  const wire::Answer answer = wire::answered_with(error);
  // [8166-4.5-a] [8166-4.6.2-b] [8166-4.2.4-d] dropped silently
  if (answer == wire::Answer::discard || draining_) {
    count_discarded();
    // A message that is too short may lack the XID.
    const bool known = error != wire::WireError::too_short;
    return connection_->message_log(known ? std::optional(message.header.xid) : std::nullopt)
        .debug("message discarded: {}", Reason{error});
  }
  CallImpl& call = service_.take_call();
  active_.push_back(&call);
  // [8166-4.5-b] [8166-4.5.1-a] [8166-4.5.2-a] [8166-4.6.1-b] answered by RDMA_ERROR
  call.refuse(*this, *connection_, message, kind_of(answer), error);
}

const std::shared_ptr<ReverseRequester>& ServingLink::reverse() {
  if (!reverse_ && connection_ != nullptr && connection_->role() == Role::server)
    reverse_ = ReverseRequester::make(*connection_);
  return reverse_;
}

/// Counts the call in procedures_, which has at most one entry for each procedure that the layer above serves. Moves
/// the entry to the front. If the next call has the same procedure, which is likely, count() need not search for the
/// entry.
void ServingLink::count(const CallStatistics& procedure) {
  if (procedures_.empty() || procedures_.front().first != &procedure) {
    auto same = std::ranges::find(procedures_, &procedure, &ProcedureCount::first);
    if (same == procedures_.end()) same = procedures_.insert(same, {&procedure, 0});
    std::swap(*same, procedures_.front());
  }
  ++procedures_.front().second;
}

std::vector<ProcedureCalls> ServingLink::procedures() const {
  std::vector<ProcedureCalls> out;
  for (const auto& [statistics, calls] : procedures_) out.push_back({statistics->procedure, calls});
  std::ranges::sort(out, std::ranges::greater{}, &ProcedureCalls::calls);
  return out;
}

void ServingLink::remove(CallImpl& call) noexcept {
  const auto at = std::find(active_.begin(), active_.end(), &call);
  if (at == active_.end()) return;
  *at = active_.back();
  active_.pop_back();
}

void ServingLink::wrote(const CallFingerprint& call) noexcept {
  if (unproven_writes_ == 0 || !(unproven_ == call)) ++unproven_writes_;
  unproven_ = call;
}

void ServingLink::pull_failed(const CallFingerprint& call) noexcept {
  if (!failed_pull_) failed_pull_ = call;
}

void ServingLink::lost(error_code why) {
  if (connection_ == nullptr) return;
  if (service_.setup().faulty_calls != nullptr && why == fabric::FabricError::remote_access) {
    // The peer has refused access to a chunk. Stores the call to which the chunk belongs. If a Read has failed, it is
    // the call of the first Read that failed, because Reads complete in order. Otherwise a Write has been refused. The
    // call is then known only if exactly one call has Writes whose success is unknown.
    const auto& peer = connection_->info().peer.address();
    if (failed_pull_)
      service_.setup().faulty_calls->add(peer, *failed_pull_);
    else if (unproven_writes_ == 1)
      service_.setup().faulty_calls->add(peer, unproven_);
  }
  connection_ = nullptr;
  if (reverse_) reverse_->lost();
  while (!active_.empty()) {
    CallImpl* call = active_.back();
    active_.pop_back();
    call->lost();
  }
}

}  // namespace rpcrdma::transport
