// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::fabric::verbs {

/// A call that blocks in the kernel until a peer acts, run in a thread of its own to keep the event loop running; and
/// the work after it, which may block as well. The process joins these threads when it exits.
class BlockingCall {
 public:
  /// The most calls in progress in the process.
  static constexpr std::size_t kMost = 64;

  /// Runs call() in a new thread, and then done(result) there, unless end() comes first. EAGAIN at the limit of calls
  /// or threads. `whose` is a tag for wait_for(). Any thread.
  static Result<std::unique_ptr<BlockingCall>> start(const void* whose, UniqueFunction<error_code()> call,
                                                     UniqueFunction<void(error_code)> done);
  /// Runs last() in a new thread, or in this one if no thread can be created.
  static void run(const void* whose, UniqueFunction<void()> last);
  /// Blocks until everything started with the tag `whose` is over. Its calls have ended, or end() was called.
  static void wait_for(const void* whose) noexcept;

  BlockingCall(const BlockingCall&) = delete;
  BlockingCall& operator=(const BlockingCall&) = delete;
  /// The call continues and reports to done(), unless end() was called.
  ~BlockingCall() = default;

  /// When this returns, done() has run or never will, and last() runs in the other thread when the call is over. The
  /// call is cancelled at the cancellation point in which it blocks (pthreads(7)), so none of its frames may be
  /// noexcept.
  void end(UniqueFunction<void()> last);

 private:
  struct Job;
  class Jobs;
  explicit BlockingCall(std::shared_ptr<Job> job) : job_(std::move(job)) {}
  static void work(const std::shared_ptr<Job>& job);
  static bool begin(const std::shared_ptr<Job>& job);
  static Jobs& jobs();

  std::shared_ptr<Job> job_;
};

}  // namespace rpcrdma::fabric::verbs
