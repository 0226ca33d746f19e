// SPDX-License-Identifier: BSD-3-Clause
// Operation. Polls both completion queues in batches until they are empty, and then for the time that the polling
// policy allows. Then arms the queues, and polls once more for completions that arrived before that. The completion
// channel announces later completions. The dispatcher runs the callbacks after each poll.
//
// The completion queue of the send queue is armed only if a caller waits for one of its completions. Otherwise these
// completions are collected with the next message, or after some time. A responder thus gets one notification for each
// message instead of two.
// Ownership. A slot leaves its queue, and a window changes its state, before the callback runs.
// Error handling. The first failed operation determines the reason for the end; finish() flushes the rest.
#include <algorithm>
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

int poll_receives(ibv_cq* queue, std::array<ibv_wc, kBatch>& batch) {
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
  polling_ = true;
  bool go_on = true;
  do {
    go_on = deliver();
  } while (go_on && !dispatcher_->pending() && linger_.wait([this] { return collect_some(); }));
  polling_ = false;
  if (!go_on) return;
  error_code error = received_.arm();
  if (!error) error = expect_sends();
  if (error) return end_later(FabricError::device_lost);
  deliver();
}

/// Ensures that the completions of the outstanding operations will be collected, and without delay if a caller waits
/// for one of them. To be called before a post or a poll, because a completion that has already arrived causes no
/// notification.
error_code VerbsQueuePair::expect_sends() {
  if (!sends_.reporting() || sent_.armed()) return {};
  if (sends_.prompt() || state_ == State::draining) return sent_.arm();
  if (deferring_) return {};
  deferring_ = true;
  deferral_.expires_after(SendOptions::kLongestDeferral);
  deferral_.async_wait(self_.guard([](VerbsQueuePair& self, boost::system::error_code cancelled) {
    self.deferring_ = false;
    if (cancelled || !self.collects()) return;
    // If a completion is still missing, its notification tells of it.
    if (self.sends_.reporting() && self.sent_.arm().failed()) return self.end_later(FabricError::device_lost);
    self.poll();
  }));
  return {};
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
      return collect_software();
    }
  }
  note_flush();
  collect_software();
}

/// To be called when both completion queues are empty. The device flushes work as the consequence of a failure, whose
/// completion may be in the other queue.
void VerbsQueuePair::note_flush() {
  if (!receives_flushed_ && !sends_flushed_) return;
  const bool sends = sends_flushed_;
  receives_flushed_ = sends_flushed_ = false;
  if (is_connected(state_) && state_ != State::hanging_up)
    on_flush_unasked(sends ? error_code(FabricError::flushed) : error_code());
}

/// Collects one batch of each completion queue. Returns false if there was no completion. A message usually shows that
/// the Sends before it are complete. Therefore the completions of the send queue are polled last and collected first.
bool VerbsQueuePair::collect_some() {
  std::array<ibv_wc, kBatch> received;
  std::array<ibv_wc, kBatch> sent;
  const int messages = poll_receives(received_.get(), received);
  const int done = sends_.empty() ? 0 : ibv_poll_cq(sent_.get(), kBatch, sent.data());
  if (messages < 0 || done < 0) end_later(FabricError::device_lost);
  if (messages <= 0 && done <= 0) return false;
  peer_watch_.note_completion();
  const auto first = [](const std::array<ibv_wc, kBatch>& batch, int count) {
    return std::span(batch).first(static_cast<std::size_t>(std::max(count, 0)));
  };
  const auto failed = [](const ibv_wc& completion) { return completion.status != IBV_WC_SUCCESS; };
  // A failed operation does not precede the messages that have arrived before it failed.
  const bool sends_last = std::ranges::any_of(first(sent, done), failed);
  if (!sends_last) collect_sends(first(sent, done));
  collect_receives(first(received, messages));
  if (sends_last) collect_sends(first(sent, done));
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

void VerbsQueuePair::collect_receives(std::span<const ibv_wc> batch) {
  for (const ibv_wc& completion : batch) {
    if (completion.status != IBV_WC_SUCCESS) note_failure(completion, /*receive=*/true);
    collect_receive(completion);
  }
}

void VerbsQueuePair::collect_sends(std::span<const ibv_wc> batch) {
  for (const ibv_wc& completion : batch) {
    if (completion.status != IBV_WC_SUCCESS) note_failure(completion, /*receive=*/false);
    collect_send(completion);
  }
}

void VerbsQueuePair::note_failure(const ibv_wc& completion, bool receive) {
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
  } else {
    (receive ? receives_flushed_ : sends_flushed_) = true;
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

void VerbsQueuePair::collect_send(const ibv_wc& completion) {
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
