// SPDX-License-Identifier: BSD-3-Clause
// Operation. Every way to end goes through finish(): deliver what the device has completed, take windows and queue
// pair from the device, complete what is left as flushed, tell the user. disconnect() lets the send queue run empty
// before, because the device drops what is unsent when it disconnects.
// Ownership. After finish() the device has no part of this connection but the rdma_cm id, which stays until the
// destructor: while it lives the kernel repeats the request to disconnect until the peer has answered. If the device is
// gone, that goes too. In the middle of an iWARP handshake, which the kernel waits for before it destroys anything, all
// of it is left to a thread.
// Error handling. Nothing here can fail in a way that matters: the device's objects are gone in any case.
#include "defer.hpp"
#include "error.hpp"
#include "queue_pair.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr std::chrono::milliseconds kLinger{2000};
/// For what was posted before disconnect().
constexpr std::chrono::milliseconds kDrain{30000};

}  // namespace

void VerbsQueuePair::disconnect() {
  if (ending_ || state_ > State::established) return;
  if (state_ != State::established) return abort();
  sends_.require_signal();
  submit();
  if (ending_) return;
  state_ = State::draining;
  arm_timer(kDrain);
  schedule_poll();
}

void VerbsQueuePair::abort() {
  if (ending_ || state_ == State::ended) return;
  // The device stops at once; the callbacks follow from the io_context.
  if (handshake_waits())
    stop_receives();
  else
    rdma_disconnect(id_.get());
  end_later(FabricError::flushed);
}

void VerbsQueuePair::end_later(error_code why) {
  if (ending_ || state_ == State::ended) return;
  ending_ = true;
  defer_to(parts_.context, self_, [why](VerbsQueuePair& self) { self.finish(why); });
}

void VerbsQueuePair::hang_up() {
  state_ = State::hanging_up;
  rdma_disconnect(id_.get());
  arm_timer(kLinger);
}

// The device gave up by itself. On InfiniBand that is a violation by the peer, who will hear of it; on iWARP it may
// be just the end of the TCP connection, which rdma_cm is about to tell: in good order unless work of ours was `lost`.
void VerbsQueuePair::on_flush_unasked(error_code lost) {
  if (!parts_.device->limits().iwarp) {
    if (!fault_) fault_ = FabricError::protocol_violation;
    return;
  }
  if (lost && !fault_) fault_ = lost;
  if (state_ == State::peer_fault) return;
  state_ = State::peer_fault;
  arm_timer(kLinger);
}

// InfiniBand tells the offended side nothing: its queue pair is just found in error when the peer, who was refused,
// disconnects. The query comes before we put the queue pair in error ourselves.
error_code VerbsQueuePair::reason_of_disconnect() const noexcept {
  if (fault_) return *fault_;
  if (state_ == State::hanging_up || parts_.device->limits().iwarp || id_->qp == nullptr) return {};
  ibv_qp_attr attributes{};
  ibv_qp_init_attr unused{};
  if (ibv_query_qp(id_->qp, &attributes, IBV_QP_STATE, &unused) != 0) return {};
  return attributes.qp_state == IBV_QPS_ERR ? error_code(FabricError::protocol_violation) : error_code();
}

void VerbsQueuePair::finish(error_code why) {
  if (state_ == State::ended) return;
  const bool connected = state_ >= State::established;
  const bool waits = handshake_waits();
  state_ = State::ended;
  ending_ = false;
  timer_.cancel();
  keepalive_timer_.cancel();
  nudge_timer_.cancel();
  delivering_ = true;
  const Alive alive(*this);
  if (waits)
    stop_receives();
  else if (connected || role_ == Role::acceptor)
    rdma_disconnect(id_.get());
  deliver_rest();
  if (!alive) return;
  windows_->release_device();
  if (waits)
    leave_to_kernel();
  else
    destroy_queue_pair();
  deliver_rest();
  if (!alive) return;
  const bool unfinished = flush_rest();
  if (!alive) return;
  // A peer that leaves while our work is on its way has not closed in good order.
  if (!why && unfinished) why = FabricError::flushed;
  delivering_ = false;
  end_batch();
  if (!alive) return;
  release_device();
  events_.on_disconnected(why);
}

void VerbsQueuePair::on_device_lost() {
  const Alive alive(*this);
  finish(FabricError::device_lost);
  if (alive) drop_id();
}

void VerbsQueuePair::deliver_rest() {
  const Alive alive(*this);
  ibv_wc completion{};
  while (completions_ && ibv_poll_cq(completions_.get(), 1, &completion) == 1) {
    deliver({&completion, 1});
    if (!alive) return;
    completion.invalidated_rkey = 0;
  }
}

bool VerbsQueuePair::flush_rest() {
  const Alive alive(*this);
  const bool unfinished = !sends_.empty();
  SendQueue::Slot slot;
  while (sends_.take_any(slot)) {
    complete(slot, FabricError::flushed);
    if (!alive) return true;
  }
  WorkContext* context = nullptr;
  while (receives_.take(context)) {
    batch_open_ = true;
    if (context != nullptr) context->on_completion({.status = FabricError::flushed, .length = 0, .invalidated = {}});
    if (!alive) return true;
  }
  return unfinished;
}

bool VerbsQueuePair::handshake_waits() const noexcept {
  return parts_.device->limits().iwarp && (state_ == State::connecting || state_ == State::accepting);
}

// The handshake may yet succeed, and the peer send something, while the buffers are somebody else's again.
void VerbsQueuePair::stop_receives() noexcept {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ibv_modify_qp(id_->qp, &attributes, IBV_QP_STATE);
}

namespace {

/// In the order in which it may be destroyed, from the last to the first.
struct Remains {
  std::shared_ptr<Device> device;
  std::shared_ptr<rdma_event_channel> events;
  std::shared_ptr<ibv_comp_channel> notifications;
  CmId id;
  CompletionQueue completions;
};

}  // namespace

void VerbsQueuePair::leave_to_kernel() noexcept {
  id_->context = nullptr;
  completions_->cq_context = nullptr;
  parts_.device->use().remove(id_->qp);
  parts_.device->use().remove(completions_.get());
  Remains remains{.device = parts_.device,
                  .events = parts_.presence->events()->channel(),
                  .notifications = parts_.presence->completions()->channel(),
                  .id = std::move(id_),
                  .completions = std::move(completions_)};
  auto destroy = [remains = std::move(remains)]() { rdma_destroy_qp(remains.id.get()); };
  if (const auto connecting = std::move(connecting_))
    connecting->end(std::move(destroy));
  else
    Aside::run(parts_.device.get(), std::move(destroy));
}

void VerbsQueuePair::drop_id() noexcept {
  if (const auto connecting = std::move(connecting_))
    connecting->end([events = parts_.presence->events()->channel(), id = std::move(id_)] {});
  id_.reset();
}

void VerbsQueuePair::destroy_queue_pair() noexcept {
  parts_.device->use().remove(id_->qp);
  rdma_destroy_qp(id_.get());
}

// Windows go before their queue pair, and the queue pair before its completion queue; rxe hangs otherwise.
void VerbsQueuePair::release_device() noexcept {
  windows_->release_device();
  if (id_ && id_->qp != nullptr && handshake_waits()) {
    stop_receives();
    leave_to_kernel();
  } else if (id_ && id_->qp != nullptr) {
    rdma_disconnect(id_.get());
    destroy_queue_pair();
  }
  sends_.release_device();
  if (completions_) parts_.device->use().remove(completions_.get());
  completions_.reset();
  cm_interest_.reset();
  completion_interest_.reset();
  async_interest_.reset();
}

}  // namespace rpcrdma::fabric::verbs
