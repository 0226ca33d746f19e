// SPDX-License-Identifier: BSD-3-Clause
// Operation. Each notification is acknowledged at once, and the owner of its queue polls. The owner arms the queue
// again and polls once more, so that no completion between poll and arming is missed.
// Ownership. When a handler destroys a queue, the kernel drops its unread notifications.
// Error handling. A channel that cannot be read counts as empty.
#include "device/completion_channel.hpp"

#include "error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr int kNotificationsPerTurn = 64;

}  // namespace

error_code CompletionChannel::attach(ibv_context* device) {
  CqChannel channel(ibv_create_comp_channel(device));
  if (!channel) return last_error();
  channel_ = std::move(channel);
  assign(channel_->fd);
  return {};
}

void CompletionChannel::detach() noexcept {
  release();
  channel_.reset();
}

Result<CompletionQueue> CompletionChannel::make_queue(std::uint32_t entries, CompletionHandler& handler) {
  if (!channel_) return FabricError::device_lost;
  CompletionQueue queue(
      ibv_create_cq(channel_->context, static_cast<int>(entries), &handler, channel_.get(), /*comp_vector=*/0));
  if (!queue) return last_error();
  if (const int error = ibv_req_notify_cq(queue.get(), 0); error != 0) return system_error(error);
  return queue;
}

void CompletionChannel::drain() noexcept {
  // Checks channel_ before each event: if on_completions() finds that the device is lost, detach() resets channel_.
  for (int i = 0; i < kNotificationsPerTurn && channel_; ++i) {
    ibv_cq* queue = nullptr;
    void* handler = nullptr;
    if (ibv_get_cq_event(channel_.get(), &queue, &handler) != 0) return;
    ibv_ack_cq_events(queue, 1);
    if (handler != nullptr) static_cast<CompletionHandler*>(handler)->on_completions();
  }
}

}  // namespace rpcrdma::fabric::verbs
