// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "device/watch.hpp"
#include "handles.hpp"
#include "rpcrdma/base/error.hpp"

namespace rpcrdma::fabric::verbs {

/// Handles the notifications of completion queues.
class CompletionHandler {
 public:
  virtual void on_completions() noexcept = 0;

 protected:
  ~CompletionHandler() = default;
};

class CompletionChannel;

/// A completion queue whose notifications a CompletionChannel passes to a CompletionHandler. Belongs to a queue pair,
/// and must not outlive the channel or the handler.
class NotifiedQueue {
 public:
  NotifiedQueue(CompletionChannel& channel, CompletionHandler& handler) noexcept
      : channel_(channel), handler_(handler) {}
  ~NotifiedQueue() { reset(); }
  NotifiedQueue(const NotifiedQueue&) = delete;
  NotifiedQueue& operator=(const NotifiedQueue&) = delete;

  /// Makes the queue. It sends no notifications before arm(). Call it once.
  error_code make(std::uint32_t entries);
  /// Makes the next completion notify the handler, once. Has no effect if the queue is armed. A completion that has
  /// arrived before this call may cause no notification: poll after it.
  error_code arm() noexcept;
  bool armed() const noexcept { return armed_; }
  ibv_cq* get() const noexcept { return queue_.get(); }
  /// Destroys the queue.
  void reset() noexcept { release().reset(); }
  /// Gives up the queue. Its notifications are dropped from now on.
  CompletionQueue release() noexcept;

 private:
  friend CompletionChannel;
  void disarm() noexcept;

  CompletionChannel& channel_;
  CompletionHandler& handler_;
  CompletionQueue queue_;
  bool armed_ = false;
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

  /// The channel of rdma-core, which must outlive its queues. If a queue is to exist after detach(), its owner must
  /// keep a copy of this pointer as long as the queue exists.
  const std::shared_ptr<ibv_comp_channel>& channel() const noexcept { return channel_; }

 private:
  friend NotifiedQueue;
  void drain() noexcept override;

  std::shared_ptr<ibv_comp_channel> channel_;
  std::uint32_t armed_ = 0;  // number of armed queues: no more notifications than this are pending
};

}  // namespace rpcrdma::fabric::verbs
