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

 protected:
  ~CompletionHandler() = default;
};

/// The notifications of all completion queues of a fabric, in its io_context.
class CompletionChannel final : public Watch {
 public:
  static Result<std::shared_ptr<CompletionChannel>> make(boost::asio::io_context& context, ibv_context* device);
  CompletionChannel(boost::asio::io_context& context, CqChannel channel);
  ~CompletionChannel() override { release(); }

  /// A queue whose notifications go to `handler`, armed for its first completion. Destroyed by the owner, from
  /// when on no notification of it comes.
  Result<CompletionQueue> make_queue(std::uint32_t entries, CompletionHandler& handler);

 private:
  void drain() noexcept override;

  CqChannel channel_;
};

}  // namespace rpcrdma::fabric::verbs
