// SPDX-License-Identifier: BSD-3-Clause
// Operation. A reply is matched by XID with the calls of this requester; each direction has its own requester
// [8167-2.4.1-a] [8167-2.4-b]. After the loss of a connection, the calls of a client wait, in order, for the next one.
// Ownership. A reply is moved into the slot of its call; the receive of any other message is reposted at once.
// Errors. Replies that match no call, or whose header is malformed, are counted and dropped [8166-4.5-c].
#include <algorithm>

#include "requester_core.hpp"
#include "rpcrdma/connection/probe.hpp"

namespace rpcrdma::transport {

void RequesterCore::attach(ConnectionPtr connection) {
  connection_ = std::move(connection);
  credits_.restart();  // [8166-3.3.3-a] one credit until the first reply
  heard();
  proven_ = false;
  pump();
}

void RequesterCore::on_reply(Received& message) {
  CallSlot* slot = table_.find(message.header.xid);
  if (slot == nullptr) return discard(message.header.xid, "a reply to no call in progress");
  if (is_broken_header(message.header))
    return discard(message.header.xid, "a reply with a Read list, or an RDMA_NOMSG without a Reply chunk");
  if (slot->answered()) return discard(message.header.xid, "a second reply");
  // [v2-5.3-a] a reply has the version of its call
  if (message.header.version != slot->version())
    return discard(message.header.xid, "a reply in another version than the call");
  // [8167-4.1-a] [8167-4.1-d] a reply to a call of this requester grants credits of this direction
  credits_.grant(message.header.credits);
  connection_->counted().credits_granted += message.header.credits;
  heard();
  proven_ = true;
  if (slot->state() == CallSlot::State::on_wire) {
    connection_->counted().long_replies += message.header.procedure == wire::Procedure::nomsg ? 1 : 0;
    note_latency(*slot->call());
    return slot->answer(message);
  }
  discard(message.header.xid, "a reply to a call that has been given up");
  slot->answer_late();
}

void RequesterCore::on_peer_error(Received& message) {
  CallSlot* slot = table_.find(message.header.xid);
  if (slot == nullptr || slot->answered()) return discard(message.header.xid, "an RDMA_ERROR for no call in progress");
  heard();
  proven_ = true;
  // [8167-4.1-c] The credit word of an RDMA_ERROR is not read.
  if (slot->state() != CallSlot::State::on_wire) {
    discard(message.header.xid, "an RDMA_ERROR for a call that has been given up");
    return slot->answer_late();
  }
  if (refuses_version(message.header)) {
    connection_->fall_back();  // [v2-5.2-a] the call is sent again on the same connection
    return slot->answer_version_refused();
  }
  // [8267-3.1-b] [8267-6.4.2-c] the call fails and is not retried: [8166-4.5-f] the error is permanent
  const bool version = message.header.error == wire::ErrorKind::vers;
  slot->answer_error(version ? TransportError::peer_err_vers : TransportError::peer_err_chunk);
}

bool RequesterCore::refuses_version(const wire::Header& error) const noexcept {
  return !connection_->version_settled() && error.error == wire::ErrorKind::vers &&
         error.lowest_version <= wire::kVersion && error.highest_version >= wire::kVersion;
}

void RequesterCore::detach() {
  if (connection_) ended_traffic_ += connection_->traffic();
  connection_.reset();
  proven_ = false;
  deferred_.clear();  // the loop at the end of this function completes the slots of this list
  std::vector<CallSlot*> active;
  for (const auto& slot : slots_)
    if (slot->state() != CallSlot::State::idle) active.push_back(slot.get());
  // Sorts the slots by descending sequence number, so that the latest call comes first. Below, the calls are pushed to
  // the front of waiting_ one after another, and thus keep their original order there.
  std::sort(active.begin(), active.end(),
            [](const CallSlot* a, const CallSlot* b) { return a->sequence() > b->sequence(); });
  std::erase_if(active, [this](CallSlot* slot) {
    Call* call = slot->lost();
    if (call != nullptr) {
      CallAccess::slot(*call) = nullptr;
      if (setup_.resends && !shut_) {
        CallAccess::state(*call) = CallAccess::State::waiting;
        waiting_.push_front(*call);
      } else {
        fail_later(*call, TransportError::connection_lost);  // [8167-5.4-b] a server does not reconnect
      }
    }
    return slot->state() != CallSlot::State::ending;
  });
  std::reverse(active.begin(), active.end());
  for (CallSlot* slot : active) slot->complete();
  credits_.restart();
}

void RequesterCore::shut(error_code why) {
  if (!shut_) shut_ = why;
  timer_.cancel();
  detach();
  fail_waiting(why);
  // Ends only the calls that are in failed_ now. done() may submit further calls. They are appended to failed_, and
  // run_deferred() ends them. done() may also cause another call of shut(), which ends all calls in failed_.
  for (std::size_t left = failed_.size(); left != 0 && !failed_.empty(); --left) {
    Call& call = failed_.front();
    failed_.pop_front();
    CallAccess::state(call) = CallAccess::State::over;
    // detach() has given the error connection_lost to calls that were on the wire. They end with `why`, as the calls
    // that were waiting do.
    const error_code status = CallAccess::failure(call);
    const error_code reported = status == TransportError::connection_lost ? why : status;
    RPCRDMA_PROBE(call_completed, this, call.xid, reported.value());
    call.done(reported, nullptr);
  }
}

}  // namespace rpcrdma::transport
