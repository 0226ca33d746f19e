// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "device/watch.hpp"
#include "handles.hpp"
#include "rpcrdma/base/error.hpp"

namespace rpcrdma::fabric::verbs {

/// Handles the notifications of a completion queue, whose cq_context points to this object.
class CompletionHandler {
 public:
  virtual void on_completions() noexcept = 0;

 protected:
  ~CompletionHandler() = default;
};

/// Receives the notifications of all completion queues of a fabric, and passes each notification to the
/// CompletionHandler of its queue. Runs the handlers on the io_context of the fabric.
class CompletionChannel final : public Watch {
 public:
  explicit CompletionChannel(boost::asio::io_context& context) : Watch(context) {}
  ~CompletionChannel() override { release(); }

  error_code attach(ibv_context* device);
  /// Releases the channel. The owner of each queue that still exists must hold a copy of channel() before this call.
  void detach() noexcept;

  /// Makes a completion queue and arms it for its first completion. The channel passes the notifications of the queue
  /// to `handler` until the owner destroys the queue or detach() is called. To have them dropped earlier, the owner
  /// sets the cq_context of the queue to null.
  Result<CompletionQueue> make_queue(std::uint32_t entries, CompletionHandler& handler);
  /// The channel of rdma-core, which must outlive its queues. If a queue is to exist after detach(), its owner must
  /// keep a copy of this pointer as long as the queue exists.
  const std::shared_ptr<ibv_comp_channel>& channel() const noexcept { return channel_; }

 private:
  void drain() noexcept override;

  std::shared_ptr<ibv_comp_channel> channel_;
};

}  // namespace rpcrdma::fabric::verbs
