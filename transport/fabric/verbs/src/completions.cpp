// SPDX-License-Identifier: BSD-3-Clause
// Operation. Polls in batches until the queue is empty, and then for the time that the polling policy allows. Then arms
// the queue, and polls once more for completions that arrived before the queue was armed. The completion channel
// announces later completions. The dispatcher runs the callbacks after each poll.
// Ownership. A slot leaves its queue, and a window changes its state, before the callback runs.
// Error handling. The first failed operation determines the reason for the end; finish() flushes the rest.
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>

#include "error.hpp"
#include "queue_pair.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr int kBatch = 32;
constexpr int kBatchesPerTurn = 8;

// True if the peer has consumed the receive by a Send without immediate data. RPC-over-RDMA does not use immediate
// data. An RDMA Write with immediate data also consumes a receive, but its data goes to a window. The length in the
// completion may then exceed the size of the receive, and must not be taken for the length of a message.
bool is_message(const ibv_wc& completion) noexcept {
  return completion.opcode == IBV_WC_RECV && (completion.wc_flags & IBV_WC_WITH_IMM) == 0;
}

// True if the completion reports that the peer has invalidated a key. The flag for this is IBV_WC_WITH_INV. rxe's
// library sets invalidated_rkey, but copies the kernel's flag, whose value is that of IBV_WC_IP_CSUM_OK in user space.
// siw's library does not report invalidations.
bool says_invalidated(const ibv_wc& completion) noexcept {
  return (completion.wc_flags & IBV_WC_WITH_INV) != 0 ||
         ((completion.wc_flags & IBV_WC_IP_CSUM_OK) != 0 && completion.invalidated_rkey != 0);
}

int poll_batch(ibv_cq* queue, std::array<ibv_wc, kBatch>& batch) {
  // Clears invalidated_rkey, which says_invalidated() reads, because ibv_poll_cq() does not set it on every device.
  for (ibv_wc& completion : batch) completion.invalidated_rkey = 0;
  return ibv_poll_cq(queue, kBatch, batch.data());
}

}  // namespace

void VerbsQueuePair::on_completions() noexcept {
  // In the state `accepting`, this side waits for the last message of the connector's handshake. The connector's first
  // Send may arrive before that message. rdma_notify() then tells the connection manager that the connection is
  // established.
  if (state_ == State::accepting) rdma_notify(id_.get(), IBV_EVENT_COMM_EST);
  poll();
}

void VerbsQueuePair::probe_peer() noexcept {
  sends_.append_probe();
  submit();
}

void VerbsQueuePair::poll() {
  linger_.begin();
  do {
    if (!deliver()) return;
  } while (!dispatcher_->pending() && linger_.wait([this] { return collect_some(); }));
  if (ibv_req_notify_cq(completions_.get(), 0) != 0) return end_later(FabricError::device_lost);
  deliver();
}

/// Returns whether completions are to be collected now. They are collected after on_established, until finish() has
/// been posted or the connection has ended.
bool VerbsQueuePair::collects() const noexcept { return is_connected(state_) && !ending_; }

/// Collects completions and runs their callbacks. Returns false if completions are not to be collected at present, or
/// if a further poll() has been scheduled, which will collect the rest.
bool VerbsQueuePair::deliver() {
  if (!collects()) return false;
  collect();
  dispatcher_->run();
  after_dispatch();
  return collects() && !poll_scheduled_;
}

// A callback may have ended or quiesced the queue pair. Then finish() or quiesce() takes care of the work that is left.
void VerbsQueuePair::after_dispatch() {
  dispatcher_->wake(dispatcher_);
  if (state_ == State::ended || ending_) return;
  submit_receives();
  if (fault_ && state_ != State::peer_fault) return finish(*fault_);
  if (state_ == State::draining && sends_.empty()) hang_up();
}

void VerbsQueuePair::collect() {
  int turns = 0;
  while (collect_some()) {
    if (++turns == kBatchesPerTurn) {
      schedule_poll();
      break;
    }
  }
  collect_software();
}

/// Collects one batch. Returns false if there was no completion.
bool VerbsQueuePair::collect_some() {
  std::array<ibv_wc, kBatch> batch;
  const int count = poll_batch(completions_.get(), batch);
  if (count < 0) end_later(FabricError::device_lost);
  if (count <= 0) return false;
  collect_batch({batch.data(), static_cast<std::size_t>(count)});
  return true;
}

void VerbsQueuePair::schedule_poll() {
  if (poll_scheduled_) return;
  poll_scheduled_ = true;
  boost::asio::post(core_->context, self_.guard([](VerbsQueuePair& self) {
    self.poll_scheduled_ = false;
    self.poll();
  }));
}

void VerbsQueuePair::collect_batch(std::span<const ibv_wc> batch) {
  peer_watch_.note_completion();
  for (const ibv_wc& completion : batch) {
    if (completion.status != IBV_WC_SUCCESS) note_failure(completion);
    if ((completion.wr_id & ReceiveSide::kMark) != 0)
      collect_receive(completion);
    else
      collect_sends(completion);
  }
}

void VerbsQueuePair::note_failure(const ibv_wc& completion) {
  const bool receive = (completion.wr_id & ReceiveSide::kMark) != 0;
  if (completion.status != IBV_WC_WR_FLUSH_ERR) {
    log_.limited(core_->connection_lines)
        .info("a {} failed: {} (vendor error {:x}); the connection ends",
              receive ? "receive" : "send, RDMA operation, bind or invalidation", ibv_wc_status_str(completion.status),
              completion.vendor_err);
    if (fault_) return;
    fault_ = receive ? receive_error(completion.status) : completion_error(completion.status);
    // rxe completes a work request with IBV_WC_LOC_QP_OP_ERR if there is no route to the peer. If the port is down,
    // this is the likely cause of the missing route.
    if (!receive && completion.status == IBV_WC_LOC_QP_OP_ERR && core_->device->port_is_down())
      fault_ = system_error(ENETDOWN);
  } else if (is_connected(state_) && state_ != State::hanging_up) {
    on_flush_unasked(receive ? error_code() : error_code(FabricError::flushed));
  }
}

void VerbsQueuePair::collect_receive(const ibv_wc& completion) {
  WorkContext* context = nullptr;
  if (!receives_.take(context)) return;
  Completion result{.status = receive_error(completion.status), .length = 0, .invalidated = {}};
  if (!result.status) result.status = accept_message(completion, result);
  if (context != nullptr) dispatcher_->add(*context, result, receives_.used());
}

error_code VerbsQueuePair::accept_message(const ibv_wc& completion, Completion& result) {
  if (!is_message(completion)) return violation("the peer sent immediate data");
  const std::uint32_t key = completion.invalidated_rkey;
  if (VerbsWindow* window = windows_->find_bound(key)) {
    if (window->state() == VerbsWindow::State::invalidating)
      sends_.disarm_invalidation(key);
    else
      window->set_idle();
    result.invalidated = key;
  } else if (says_invalidated(completion)) {
    // The key is not that of a bound window of this connection. The peer must not invalidate any other key: this side
    // sets flag R only if the device has windows (RFC 8797 section 4.1), and then it exposes memory only by windows.
    // There is one exception: after the end of the connection, its windows may be destroyed before this message is
    // collected.
    if (state_ != State::ended) return violation("the peer invalidated memory that is not exposed to it");
    result.invalidated = key;
  }
  result.length = completion.byte_len;
  return {};
}

error_code VerbsQueuePair::violation(std::string_view what) {
  log_.limited(core_->connection_lines).info("ending the connection: {}", what);
  if (!fault_) fault_ = FabricError::protocol_violation;
  return FabricError::protocol_violation;
}

void VerbsQueuePair::collect_sends(const ibv_wc& completion) {
  SendSide::Slot slot;
  std::uint64_t number = 0;
  const error_code status = completion_error(completion.status);
  const bool overtaking = core_->device->limits().overtakes_reads;
  if (overtaking) sends_.note_done(completion.wr_id, status);
  while (sends_.take_until(completion.wr_id, slot, number))
    complete(slot, overtaking ? slot.status : number == completion.wr_id ? status : error_code());
}

void VerbsQueuePair::collect_software() {
  SendSide::Slot slot;
  while (sends_.take_software(slot)) complete(slot, {});
}

void VerbsQueuePair::complete(SendSide::Slot& slot, error_code status) {
  slot.sink.reset();
  if (slot.window != 0)
    if (VerbsWindow* window = windows_->find(slot.window)) window->set_idle();
  if (slot.context != nullptr)
    dispatcher_->add(*slot.context, {.status = status, .length = 0, .invalidated = {}}, sends_.used());
}

}  // namespace rpcrdma::fabric::verbs
