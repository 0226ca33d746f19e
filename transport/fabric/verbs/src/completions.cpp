// SPDX-License-Identifier: BSD-3-Clause
// Operation. Polls in batches until the queue is empty, arms it, and polls once more: what came in between is
// seen here, what comes later is announced. After a bounded number of completions the io_context gets its turn.
// Ownership. A slot is taken from the books before its callback runs: the callback may post, or destroy all this.
// Error handling. The first failed operation names the reason; the rest is flushed by finish().
#include <array>
#include <cerrno>

#include "defer.hpp"
#include "error.hpp"
#include "queue_pair.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr int kBatch = 32;
constexpr int kBatchesPerTurn = 8;

// RPC-over-RDMA has no immediate data. An RDMA Write with some takes a receive as a message does, and its length, which
// the completion gives, is bounded by the window that it went to, not by the receive.
bool is_message(const ibv_wc& completion) noexcept {
  return completion.opcode == IBV_WC_RECV && (completion.wc_flags & IBV_WC_WITH_IMM) == 0;
}

// The key of an invalidation is there in any case; siw's library tells nothing. rxe's sets the kernel's flag, which is
// another one here.
bool says_invalidated(const ibv_wc& completion) noexcept {
  return (completion.wc_flags & IBV_WC_WITH_INV) != 0 ||
         ((completion.wc_flags & IBV_WC_IP_CSUM_OK) != 0 && completion.invalidated_rkey != 0);
}

int poll_batch(ibv_cq* queue, std::array<ibv_wc, kBatch>& batch) {
  // Providers may leave what an earlier poll put there.
  for (ibv_wc& completion : batch) completion.invalidated_rkey = 0;
  return ibv_poll_cq(queue, kBatch, batch.data());
}

}  // namespace

void VerbsQueuePair::on_completions() noexcept {
  // The peer's first message may overtake its last step of the handshake; this stands in for that step.
  if (state_ == State::accepting) rdma_notify(id_.get(), IBV_EVENT_COMM_EST);
  poll();
}

void VerbsQueuePair::on_device_trouble() noexcept {
  defer_to(parts_.context, self_, [](VerbsQueuePair& self) {
    // What the device has completed tells more, if it tells anything.
    const Alive alive(self);
    self.poll();
    if (alive) self.finish(self.fault_.value_or(FabricError::protocol_violation));
  });
}

void VerbsQueuePair::poll() {
  // Before on_established nothing is delivered, and after the end everything has been.
  if (state_ < State::established || state_ == State::ended || ending_) return;
  const Alive alive(*this);
  delivering_ = true;
  poll_batches();
  if (!alive) return;
  deliver_software();
  if (!alive) return;
  delivering_ = false;
  end_batch();
  if (!alive || ending_ || state_ == State::ended) return;
  if (fault_ && state_ != State::peer_fault) return finish(*fault_);
  if (state_ == State::draining && sends_.empty()) hang_up();
}

void VerbsQueuePair::poll_batches() {
  const Alive alive(*this);
  std::array<ibv_wc, kBatch> batch;
  bool armed = false;
  for (int turns = 0;;) {
    const int count = poll_batch(completions_.get(), batch);
    if (count < 0) return end_later(FabricError::device_lost);
    if (count > 0) {
      deliver({batch.data(), static_cast<std::size_t>(count)});
      if (!alive) return;
      if (++turns < kBatchesPerTurn) continue;
      return schedule_poll();
    }
    if (armed) return;
    if (ibv_req_notify_cq(completions_.get(), 0) != 0) return end_later(FabricError::device_lost);
    armed = true;
  }
}

void VerbsQueuePair::schedule_poll() {
  if (poll_scheduled_) return;
  poll_scheduled_ = true;
  defer_to(parts_.context, self_, [](VerbsQueuePair& self) {
    self.poll_scheduled_ = false;
    self.poll();
  });
}

void VerbsQueuePair::deliver(std::span<const ibv_wc> batch) {
  quiet_quarters_ = 0;
  const Alive alive(*this);
  for (const ibv_wc& completion : batch) {
    if (completion.status != IBV_WC_SUCCESS) note_failure(completion);
    if ((completion.wr_id & ReceiveQueue::kMark) != 0)
      deliver_receive(completion);
    else
      deliver_sends(completion);
    if (!alive) return;
  }
}

void VerbsQueuePair::note_failure(const ibv_wc& completion) {
  if (completion.status != IBV_WC_WR_FLUSH_ERR) {
    parts_.log.info("verbs: {}: work {:x}: {} (vendor error {:x})", info_.peer.address().to_string(), completion.wr_id,
                    ibv_wc_status_str(completion.status), completion.vendor_err);
    const bool receive = (completion.wr_id & ReceiveQueue::kMark) != 0;
    if (!fault_) fault_ = receive ? receive_error(completion.status) : completion_error(completion.status);
    // rxe takes a missing route for a fault of the queue pair.
    if (!receive && completion.status == IBV_WC_LOC_QP_OP_ERR && parts_.device->port_is_down())
      fault_ = system_error(ENETDOWN);
  } else if (state_ >= State::established && state_ != State::hanging_up && state_ != State::ended) {
    const bool receive = (completion.wr_id & ReceiveQueue::kMark) != 0;
    on_flush_unasked(receive ? error_code() : error_code(FabricError::flushed));
  }
}

void VerbsQueuePair::deliver_receive(const ibv_wc& completion) {
  WorkContext* context = nullptr;
  if (!receives_.take(context)) return;
  Completion result{.status = receive_error(completion.status), .length = 0, .invalidated = {}};
  if (!result.status) result.status = accept_message(completion, result);
  batch_open_ = true;
  if (context == nullptr) return;
  ++parts_.counters->completions;
  context->on_completion(result);
}

error_code VerbsQueuePair::accept_message(const ibv_wc& completion, Completion& result) {
  if (!is_message(completion)) return violation("immediate data");
  const std::uint32_t key = completion.invalidated_rkey;
  if (VerbsWindow* window = windows_->find_bound(key)) {
    if (window->state() == VerbsWindow::State::invalidating)
      sends_.disarm_invalidation(key);
    else
      window->set_idle();
    result.invalidated = key;
  } else if (says_invalidated(completion)) {
    // Only windows may be invalidated, as only where there are some is the R flag set (RFC 8797 section 4.1). What else
    // the device lets a peer invalidate is another connection's, or memory that our work needs. At the end the windows
    // may have gone before the message comes.
    if (state_ != State::ended) return violation("an invalidation of what is not exposed");
    result.invalidated = key;
  }
  result.length = completion.byte_len;
  return {};
}

error_code VerbsQueuePair::violation(std::string_view what) {
  parts_.log.info("verbs: {}: {}", info_.peer.address().to_string(), what);
  if (!fault_) fault_ = FabricError::protocol_violation;
  return FabricError::protocol_violation;
}

void VerbsQueuePair::deliver_sends(const ibv_wc& completion) {
  const Alive alive(*this);
  SendQueue::Slot slot;
  std::uint64_t number = 0;
  const error_code status = completion_error(completion.status);
  const bool overtaking = parts_.device->limits().overtakes_reads;
  if (overtaking) sends_.note_done(completion.wr_id, status);
  while (sends_.take_until(completion.wr_id, slot, number)) {
    complete(slot, overtaking ? slot.status : number == completion.wr_id ? status : error_code());
    if (!alive) return;
  }
}

void VerbsQueuePair::deliver_software() {
  const Alive alive(*this);
  SendQueue::Slot slot;
  while (sends_.take_software(slot)) {
    complete(slot, {});
    if (!alive) return;
  }
}

void VerbsQueuePair::complete(SendQueue::Slot& slot, error_code status) {
  slot.sink.reset();
  if (slot.window != 0)
    if (VerbsWindow* window = windows_->find(slot.window)) window->set_idle();
  batch_open_ = true;
  if (slot.context == nullptr) return;
  ++parts_.counters->completions;
  slot.context->on_completion({.status = status, .length = 0, .invalidated = {}});
}

void VerbsQueuePair::end_batch() {
  submit_receives();
  if (!std::exchange(batch_open_, false)) return;
  ++parts_.counters->batches;
  events_.on_batch_end();
}

}  // namespace rpcrdma::fabric::verbs
