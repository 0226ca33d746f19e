// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::fabric::verbs {

class BlockingCall;

/// The threads of an io_context for calls that block in the kernel until a peer acts, and for the cleanup after such a
/// call, which may block as well. The io_context joins the threads when it is destroyed. All functions may be called on
/// any thread.
class BlockingCalls final : public boost::asio::execution_context::service {
 public:
  static boost::asio::execution_context::id id;
  /// start() fails while this many threads exist.
  static constexpr std::size_t kMost = 64;

  explicit BlockingCalls(boost::asio::execution_context& owner) : service(owner) {}

  /// Runs call() in a new thread, and then done(result) in the same thread, unless BlockingCall::end() comes first.
  /// Fails with EAGAIN if kMost threads exist, or if no thread can be created.
  Result<std::unique_ptr<BlockingCall>> start(UniqueFunction<error_code()> call, UniqueFunction<void(error_code)> done);
  /// Runs last() in a new thread; after shutdown(), or if no thread can be created, in the caller's thread.
  void run(UniqueFunction<void()> last);

 private:
  friend class BlockingCall;
  struct Job;
  void shutdown() override;
  bool begin(const std::shared_ptr<Job>& job);
  void work(Job& job);
  void join_ended() noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Job>> jobs_;
  bool shut_down_ = false;
};

/// A call in progress. If this object is destroyed, the call continues and reports to done().
class BlockingCall {
 public:
  BlockingCall(BlockingCalls& calls, std::shared_ptr<BlockingCalls::Job> job) noexcept
      : calls_(calls), job_(std::move(job)) {}

  /// Cancels the call. When end() returns, done() has run or never will. last() runs after the call has ended: in the
  /// call's thread or, if the call has already ended, as by BlockingCalls::run(). The call is cancelled at the
  /// cancellation point in which it blocks (pthreads(7)), so no function on its stack may be noexcept.
  void end(UniqueFunction<void()> last);

 private:
  BlockingCalls& calls_;
  std::shared_ptr<BlockingCalls::Job> job_;
};

}  // namespace rpcrdma::fabric::verbs
