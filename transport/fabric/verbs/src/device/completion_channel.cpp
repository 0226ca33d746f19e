// SPDX-License-Identifier: BSD-3-Clause
// Operation. Each notification is acknowledged at once, and the owner of its queue polls. To be notified again, the
// owner arms the queue and polls once more, so that no completion between poll and arming is missed.
// Ownership. When a handler destroys a queue, the kernel drops its unread notifications.
// Error handling. A channel that cannot be read counts as empty.
#include "device/completion_channel.hpp"

#include <algorithm>

#include "error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr std::uint32_t kNotificationsPerTurn = 64;

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

error_code NotifiedQueue::make(std::uint32_t entries) {
  ibv_comp_channel* const channel = channel_.channel().get();
  if (channel == nullptr) return FabricError::device_lost;
  queue_.reset(ibv_create_cq(channel->context, static_cast<int>(entries), this, channel, /*comp_vector=*/0));
  return queue_ ? error_code() : last_error();
}

error_code NotifiedQueue::arm() noexcept {
  if (armed_) return {};
  if (const int error = ibv_req_notify_cq(queue_.get(), 0); error != 0) return system_error(error);
  armed_ = true;
  ++channel_.armed_;
  return {};
}

void NotifiedQueue::disarm() noexcept {
  if (std::exchange(armed_, false)) --channel_.armed_;
}

CompletionQueue NotifiedQueue::release() noexcept {
  disarm();
  if (queue_) queue_->cq_context = nullptr;
  return std::move(queue_);
}

void CompletionChannel::drain() noexcept {
  // Does not look for more notifications than there are armed queues: usually this saves the call that finds nothing.
  // Checks channel_ before each event: if on_completions() finds that the device is lost, detach() resets channel_.
  const std::uint32_t most = std::clamp(armed_, 1u, kNotificationsPerTurn);
  for (std::uint32_t i = 0; i < most && channel_; ++i) {
    ibv_cq* queue = nullptr;
    void* notified = nullptr;
    if (ibv_get_cq_event(channel_.get(), &queue, &notified) != 0) return;
    ibv_ack_cq_events(queue, 1);
    if (notified == nullptr) continue;
    auto& owner = *static_cast<NotifiedQueue*>(notified);
    owner.disarm();
    owner.handler_.on_completions();
  }
}

}  // namespace rpcrdma::fabric::verbs
