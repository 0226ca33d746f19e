// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>

#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/nfsd/service/job_queue.hpp"

namespace rpcrdma::nfsd {

/// Two threads, one of which at a time runs an event loop. Between its handlers, this thread also runs the jobs that
/// the handlers pass to take(). A job may block: if it takes longer than kPatience, the other thread goes on with the
/// event loop, and the thread of the job waits for its turn when the job has ended. Thus a short job needs no wake-up
/// of another thread, which an IoPool needs for each job, and a job that blocks delays the event loop for 2 * kPatience
/// at most.
///
/// A job must use the objects of the event loop only as a job of an IoPool may use them. The event loop must not have a
/// verbs device, because a job may change the credentials of its thread (see docs/architecture.md).
class LoopThreads {
 public:
  static constexpr std::chrono::milliseconds kPatience{1};

  /// `context` and `runner`, which runs it, must outlive this object. take() refuses a job while `most` jobs wait.
  LoopThreads(boost::asio::io_context& context, Runner& runner, const HandleSecret& secret, std::size_t most)
      : context_(context), runner_(runner), secret_(secret), most_(most) {}
  LoopThreads(const LoopThreads&) = delete;
  LoopThreads& operator=(const LoopThreads&) = delete;

  /// As Runner::run(), on this thread and on another one, which has ended on return. Also waits for a job that is
  /// running.
  void run();
  /// To be called by a handler of the event loop. Takes over `job`, which then runs after the handler. Returns false
  /// and leaves `job` to the caller if too many jobs wait, if the other thread still runs a job, or, for a number of
  /// calls, after a job that took longer than kPatience. This number doubles with each such job in succession.
  bool take(Job& job);
  /// Whether a job has run for longer than kPatience, and still runs. May be called on any thread while run() runs.
  bool overdue() const noexcept { return !standing_by_.load(); }

 private:
  void drive();
  bool lead(const HandleCodec& codec);
  bool run(Job job, const HandleCodec& codec);
  bool stand_by();
  void sleep_until_next(std::uint64_t turn) noexcept;

  boost::asio::io_context& context_;
  Runner& runner_;
  const HandleSecret secret_;
  const std::size_t most_;

  // Used by the thread that runs the event loop.
  JobQueue jobs_;
  unsigned rest_ = 0;  // how many jobs take() refused after the last long one; halved by each short one
  unsigned skip_ = 0;  // how many of the next jobs take() refuses

  // 2 * n after n jobs; 2 * n + 1 while the next job runs. The end of the job makes it even again, unless the waiting
  // thread does so first: it has then taken over the event loop.
  std::atomic<std::uint64_t> turn_{0};
  std::atomic<bool> standing_by_{false};  // a thread is in stand_by()
  std::atomic<std::uint32_t> wake_{0};    // a value of Wake, on which stand_by() sleeps
};

}  // namespace rpcrdma::nfsd
