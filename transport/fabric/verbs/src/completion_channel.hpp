// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "handles.hpp"
#include "rpcrdma/base/error.hpp"
#include "watch.hpp"

namespace rpcrdma::fabric::verbs {

/// Whose completion queue has something; the cq_context of the queue points here.
class CompletionHandler {
 public:
  virtual void on_completions() noexcept = 0;
  /// The device says that the completion queue, or the queue pair that reports to it, is in error. On any thread,
  /// which keeps both alive meanwhile.
  virtual void on_device_trouble() noexcept = 0;

 protected:
  ~CompletionHandler() = default;
};

/// The notifications of all completion queues of a fabric, in its io_context.
class CompletionChannel final : public Watch {
 public:
  explicit CompletionChannel(boost::asio::io_context& context) : Watch(context) {}
  ~CompletionChannel() override { release(); }

  error_code attach(ibv_context* device);
  /// No queue may be left.
  void detach() noexcept;

  /// A queue whose notifications go to `handler`, armed for its first completion. Destroyed by the owner, from
  /// when on no notification of it comes; they are dropped from when on its cq_context is null.
  Result<CompletionQueue> make_queue(std::uint32_t entries, CompletionHandler& handler);
  /// For queues that may outlive this.
  const std::shared_ptr<ibv_comp_channel>& channel() const noexcept { return channel_; }

 private:
  void drain() noexcept override;

  std::shared_ptr<ibv_comp_channel> channel_;
};

}  // namespace rpcrdma::fabric::verbs
