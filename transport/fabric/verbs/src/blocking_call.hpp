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
  /// Runs last() in a new thread. If shutdown() has begun, or if no thread can be created, runs last() in the calling
  /// thread instead, which may then block.
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

/// A call that BlockingCalls::start() has started. If this object is destroyed without end(), the call continues, and
/// done() still runs after it.
class BlockingCall {
 public:
  BlockingCall(BlockingCalls& calls, std::shared_ptr<BlockingCalls::Job> job) noexcept
      : calls_(calls), job_(std::move(job)) {}

  /// Cancels the call, unless done() has run. done() does not run after end() has returned. last() runs once, after the
  /// call has ended. If done() has run, end() passes last() to BlockingCalls::run(). Otherwise last() runs in the
  /// thread of the call.
  ///
  /// The cancellation unwinds the thread from the cancellation point in which the call blocks (pthreads(7)). Therefore
  /// no function on the stack of the call may be noexcept.
  void end(UniqueFunction<void()> last);

 private:
  BlockingCalls& calls_;
  std::shared_ptr<BlockingCalls::Job> job_;
};

}  // namespace rpcrdma::fabric::verbs
