// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>

#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/nfsd/service/io_pool.hpp"

namespace rpcrdma::nfsd {

/// Two threads, one of which at a time runs an event loop. Between its handlers, this thread also runs the jobs that
/// the handlers submit. A job may block: if it takes longer than kPatience, the other thread goes on with the event
/// loop, and the thread of the job waits for its turn when the job has ended. Thus a job that is one of many short ones
/// needs no wake-up of another thread, as a job of an IoPool does, and one that blocks delays the event loop for about
/// 2 * kPatience.
///
/// A job must use the objects of the event loop only as a job of an IoPool may use them. If the event loop has a verbs
/// device, no job may change the credentials of its thread (see docs/architecture.md).
class LoopThreads {
 public:
  static constexpr std::chrono::milliseconds kPatience{1};

  /// Called once on each of the threads, before anything else.
  using Prepare = void (*)();

  /// `context`, `runner`, which runs it, and `pool` must outlive this object. At most `most` jobs wait for the thread
  /// of the event loop; `most` must not be 0. If `fixed` is not null, jobs must not change the credentials of their
  /// thread, and `fixed` ensures this.
  LoopThreads(boost::asio::io_context& context, Runner& runner, IoPool& pool, const HandleSecret& secret,
              std::size_t most, Prepare fixed = nullptr)
      : context_(context), runner_(runner), pool_(pool), secret_(secret), most_(most), fixed_(fixed), jobs_(most) {}
  LoopThreads(const LoopThreads&) = delete;
  LoopThreads& operator=(const LoopThreads&) = delete;

  /// As Runner::run(), on this thread and on another one, which has ended on return. Also waits for a job that is
  /// running, and runs the handlers that are then ready.
  void run();
  /// Whether jobs may change the credentials of their thread.
  bool any_identity() const noexcept { return fixed_ == nullptr; }
  /// To be called by a handler of the event loop. Runs `job` after the handler. Passes it to the pool instead if too
  /// many jobs wait, if the other thread still runs a job, or if a job has taken longer than kPatience. In the last
  /// case the pool gets the next jobs, too; their number doubles with each long job, and is halved by each short one.
  void submit(Job job);

 private:
  using Clock = std::chrono::steady_clock;

  void drive(bool takes_over);
  bool lead(const HandleCodec& codec);
  bool run(Job job, const HandleCodec& codec);
  bool stand_by();
  bool take_over(std::uint64_t turn) noexcept;
  void sleep_until_next(std::uint64_t turn) noexcept;

  boost::asio::io_context& context_;
  Runner& runner_;
  IoPool& pool_;
  const HandleSecret secret_;
  const std::size_t most_;
  const Prepare fixed_;

  // Used by the thread that runs the event loop.
  JobQueue jobs_;
  unsigned rest_ = 0;  // how many jobs the pool has got after the last long one; halved by each short one
  unsigned skip_ = 0;  // how many of the next jobs the pool gets

  // 2 * n after n jobs; 2 * n + 1 while the next job runs. The end of the job makes it even again, unless the waiting
  // thread does so first: it has then taken over the event loop.
  std::atomic<std::uint64_t> turn_{0};
  std::atomic<bool> standing_by_{false};  // a thread is in stand_by(), and watches the jobs
  std::atomic<std::uint32_t> wake_{0};    // a value of Wake, on which stand_by() sleeps
};

}  // namespace rpcrdma::nfsd
