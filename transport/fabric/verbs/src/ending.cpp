// SPDX-License-Identifier: BSD-3-Clause
// Operation. Every end of a connection except quiesce() calls finish(). finish() stops the queue pair, collects its
// completions, releases windows and queue pair, completes the remaining work as flushed, and passes the end to the
// dispatcher. The callbacks run from the io_context. disconnect() first waits until the send queue is empty, because
// the device drops unsent work when it disconnects.
// Ownership. finish() releases everything but the rdma_cm id, which remains until the queue pair is quiesced: while the
// id exists, the kernel repeats the request to disconnect until the peer has answered. If the device is lost,
// on_device_lost() destroys the id too. During an iWARP handshake a thread destroys the id, the queue pair and the
// completion queues, because the kernel keeps them until the end of the handshake.
// Error handling. The device's objects are released in any case.
#include <boost/asio/post.hpp>

#include "error.hpp"
#include "queue_pair.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr std::chrono::milliseconds kLinger{2000};
/// The time limit for work that was posted before disconnect().
constexpr std::chrono::milliseconds kDrain{30000};

}  // namespace

void VerbsQueuePair::disconnect() {
  if (ending_ || state_ > State::established) return;
  if (state_ != State::established) return abort();
  sends_.require_signal();
  submit();
  if (ending_) return;
  advance(Event::disconnect);
  peer_watch_.stop();
  arm_timer(kDrain);
  schedule_poll();
}

void VerbsQueuePair::abort() {
  if (ending_ || state_ == State::ended) return;
  // The device stops at once; the callbacks run later, from the io_context.
  if (handshake_waits())
    stop_receives();
  else
    rdma_disconnect(id_.get());
  end_later(FabricError::flushed);
}

void VerbsQueuePair::end_later(error_code why) {
  if (ending_ || state_ == State::ended) return;
  ending_ = true;
  boost::asio::post(core_->context, self_.guard([why](VerbsQueuePair& self) { self.finish(why); }));
}

void VerbsQueuePair::hang_up() {
  advance(Event::drained);
  rdma_disconnect(id_.get());
  arm_timer(kLinger);
}

// Called when the device has flushed work although this side has not called rdma_disconnect() and rdma_cm has not
// reported an end.
// `lost` is FabricError::flushed if the work belonged to the send queue. It is empty if the work was a Receive.
//
// On InfiniBand the peer has violated the protocol, unless fault_ names another cause. The peer has been notified. On
// iWARP the TCP connection may merely have ended, which rdma_cm is about to report. That end counts as orderly if
// `lost` is empty.
void VerbsQueuePair::on_flush_unasked(error_code lost) {
  if (!core_->device->limits().iwarp) {
    if (!fault_) fault_ = FabricError::protocol_violation;
    return;
  }
  if (lost && !fault_) fault_ = lost;
  if (!advance(Event::device_flushed)) return;
  peer_watch_.stop();
  arm_timer(kLinger);
}

// Called at the event DISCONNECTED. Returns the error that led to it, or an empty error_code if none is known.
//
// If the peer tries to access memory that is not exposed to it, InfiniBand refuses the access and reports the violation
// to the peer only. The peer then disconnects, and this side finds its queue pair in the error state. Call this
// function before this side itself puts the queue pair in the error state.
error_code VerbsQueuePair::reason_of_disconnect() const noexcept {
  if (fault_) return *fault_;
  if (state_ == State::hanging_up || core_->device->limits().iwarp || id_->qp == nullptr) return {};
  ibv_qp_attr attributes{};
  ibv_qp_init_attr unused{};
  if (ibv_query_qp(id_->qp, &attributes, IBV_QP_STATE, &unused) != 0) return {};
  return attributes.qp_state == IBV_QPS_ERR ? error_code(FabricError::protocol_violation) : error_code();
}

void VerbsQueuePair::finish(error_code why) {
  if (state_ == State::ended) return;
  const bool connected = is_connected(state_);
  const bool waits = handshake_waits();
  advance(Event::end);
  ending_ = false;
  port_ = {};
  timer_.cancel();
  deferral_.cancel();
  peer_watch_.stop();
  if (waits)
    stop_receives();
  else if (connected || role_ == Role::acceptor)
    rdma_disconnect(id_.get());
  collect_rest();
  windows_->release_device();
  if (waits)
    leave_to_kernel();
  else
    rdma_destroy_qp(id_.get());
  collect_rest();
  const bool unfinished = flush_rest();
  // If work of this side is outstanding when the peer disconnects, the end is not orderly.
  if (!why && unfinished) why = FabricError::flushed;
  release_device();
  dispatcher_->disconnect(why, why == FabricError::rejected ? &info_ : nullptr);
  dispatcher_->wake(dispatcher_);
}

void VerbsQueuePair::on_device_lost() {
  finish(FabricError::device_lost);
  drop_id();
}

void VerbsQueuePair::collect_rest() {
  while (received_.get() != nullptr && sent_.get() != nullptr && collect_some()) {
  }
}

bool VerbsQueuePair::flush_rest() {
  const bool unfinished = !sends_.empty();
  SendSide::Slot slot;
  while (sends_.take_any(slot)) complete(slot, FabricError::flushed);
  WorkContext* context = nullptr;
  while (receives_.take(context)) {
    if (context == nullptr) continue;
    dispatcher_->add(*context, {.status = FabricError::flushed, .length = 0, .invalidated = {}}, receives_.used());
  }
  return unfinished;
}

bool VerbsQueuePair::handshake_waits() const noexcept {
  return core_->device->limits().iwarp && (state_ == State::connecting || state_ == State::accepting);
}

// To be called when the queue pair ends during an iWARP handshake. Puts the queue pair in the error state, so that it
// receives no messages. Otherwise the handshake could still succeed, and the device could write a message of the peer
// to receive buffers that already belong to the poster again.
void VerbsQueuePair::stop_receives() noexcept {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ibv_modify_qp(id_->qp, &attributes, IBV_QP_STATE);
}

namespace {

/// Destroyed from the last member to the first, as later members need earlier ones.
struct Remains {
  std::shared_ptr<Device::Hold> hold;
  std::shared_ptr<ibv_comp_channel> notifications;
  CmId id;
  CompletionQueue received;
  CompletionQueue sent;
};

}  // namespace

void VerbsQueuePair::leave_to_kernel() noexcept {
  id_->context = nullptr;
  Remains remains{.hold = core_->device->hold(),
                  .notifications = core_->completions->channel(),
                  .id = std::move(id_),
                  .received = received_.release(),
                  .sent = sent_.release()};
  auto destroy = [remains = std::move(remains)]() {
    // Returns only when the event loop has acknowledged each event of the id that it has read: to read a rejection,
    // librdmacm itself uses the queue pair. Later events go to a channel that nothing reads.
    rdma_migrate_id(remains.id.get(), nullptr);
    rdma_destroy_qp(remains.id.get());
  };
  if (const auto connecting = std::move(connecting_))
    connecting->end(std::move(destroy));
  else
    core_->calls.run(std::move(destroy));
}

void VerbsQueuePair::drop_id() noexcept {
  if (const auto connecting = std::move(connecting_)) {
    // The id may still have events, such as DISCONNECTED, until its thread destroys it.
    if (id_) id_->context = nullptr;
    connecting->end([hold = core_->device->hold(), id = std::move(id_)] {});
  }
  id_.reset();
}

// Destroys windows before their queue pair, and the queue pair before its completion queues; rxe hangs otherwise.
void VerbsQueuePair::release_device() noexcept {
  windows_->release_device();
  if (id_ && id_->qp != nullptr && handshake_waits()) {
    stop_receives();
    leave_to_kernel();
  } else if (id_ && id_->qp != nullptr) {
    rdma_disconnect(id_.get());
    rdma_destroy_qp(id_.get());
  }
  sends_.release_device();
  received_.reset();
  sent_.reset();
}

}  // namespace rpcrdma::fabric::verbs
