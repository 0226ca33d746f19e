// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::fabric::verbs {

/// A call that waits in the kernel for somebody else, on a thread of its own, so that the event loop need not wait
/// with it; and what is to be done after it, which may wait as well. The process waits for these threads when it exits.
class Aside {
 public:
  /// Most calls under way at once in the process.
  static constexpr std::size_t kMost = 64;

  /// Runs call() on a new thread, and then done(result) there, unless end() comes first. EAGAIN if too many are under
  /// way, or there are no more threads. `whose` is for wait_for() alone. Any thread.
  static Result<std::unique_ptr<Aside>> start(const void* whose, UniqueFunction<error_code()> call,
                                              UniqueFunction<void(error_code)> done);
  /// Runs last() on a new thread; here, if there are no more threads.
  static void run(const void* whose, UniqueFunction<void()> last);
  /// Waits until all is over that was started with `whose`, whose calls have ended or been told to.
  static void wait_for(const void* whose) noexcept;

  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  /// The call goes on and reports to done(), unless end() was called.
  ~Aside() = default;

  /// When this returns done() has run or never will, and last() runs when the call is over, beside the caller. The call
  /// is cut short in the cancellation point in which it waits (pthreads(7)), so no frame of it may be noexcept.
  void end(UniqueFunction<void()> last);

 private:
  struct Job;
  class Jobs;
  explicit Aside(std::shared_ptr<Job> job) : job_(std::move(job)) {}
  static void work(const std::shared_ptr<Job>& job);
  static bool begin(const std::shared_ptr<Job>& job);
  static Jobs& jobs();

  std::shared_ptr<Job> job_;
};

}  // namespace rpcrdma::fabric::verbs
