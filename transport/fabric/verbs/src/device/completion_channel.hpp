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

/// The notifications of all completion queues of a fabric, in its io_context.
class CompletionChannel final : public Watch {
 public:
  explicit CompletionChannel(boost::asio::io_context& context) : Watch(context) {}
  ~CompletionChannel() override { release(); }

  error_code attach(ibv_context* device);
  /// Requires that each queue has been destroyed, or that its owner holds channel().
  void detach() noexcept;

  /// Makes a queue, armed for its first completion; `handler` handles its notifications. After the owner has destroyed
  /// the queue, no notification arrives. While the queue's cq_context is null, notifications are dropped.
  Result<CompletionQueue> make_queue(std::uint32_t entries, CompletionHandler& handler);
  /// The channel is shared with queues, which may outlive this object.
  const std::shared_ptr<ibv_comp_channel>& channel() const noexcept { return channel_; }

 private:
  void drain() noexcept override;

  std::shared_ptr<ibv_comp_channel> channel_;
};

}  // namespace rpcrdma::fabric::verbs
