// SPDX-License-Identifier: BSD-3-Clause
// Operation. One thread for each call. A call that is no longer wanted is cancelled: a signal that the C library
// reserves interrupts the wait in the kernel, the thread unwinds, and last() runs. Ownership. A job belongs to its
// thread and its owner. Threads that have ended are joined when the next one starts or when the process exits, which
// also waits for calls that still block, as the kernel would before it ends the process. Error handling. Without a
// thread a call fails with EAGAIN; last() then runs in the caller's thread.
#include "blocking_call.hpp"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "error.hpp"

namespace rpcrdma::fabric::verbs {

struct BlockingCall::Job {
  const void* whose;
  UniqueFunction<error_code()> call;
  UniqueFunction<void(error_code)> done;
  std::mutex mutex;
  UniqueFunction<void()> last;
  bool over = false;   // done() has run, or last() has been taken
  bool ended = false;  // guarded by the list
  std::thread thread;  // likewise
};

namespace {

/// Blocks all signals in a new thread: the program handles its signals in its own threads.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

class BlockingCall::Jobs {
 public:
  ~Jobs() { wait_for(nullptr); }

  bool full() {
    const std::lock_guard lock(mutex_);
    join_ended();
    return all_.size() >= kMost;
  }
  bool begin(const std::shared_ptr<Job>& job) {
    const std::lock_guard lock(mutex_);
    join_ended();
    const SignalsHeld held;
    try {
      all_.push_back(job);
      job->thread = std::thread([job] { work(job); });
    } catch (const std::system_error&) {
      all_.pop_back();
      return false;
    }
    return true;
  }
  void note_ended(Job& job) noexcept {
    const std::lock_guard lock(mutex_);
    job.ended = true;
    changed_.notify_all();
  }
  /// Null: all jobs.
  void wait_for(const void* whose) noexcept {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, whose] {
      return std::ranges::all_of(
          all_, [whose](const auto& job) { return job->ended || (whose != nullptr && job->whose != whose); });
    });
    join_ended();
  }

 private:
  void join_ended() noexcept {
    std::erase_if(all_, [](const auto& job) {
      if (job->ended) job->thread.join();
      return job->ended;
    });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Job>> all_;
};

BlockingCall::Jobs& BlockingCall::jobs() {
  static Jobs all;
  return all;
}

void BlockingCall::work(const std::shared_ptr<Job>& job) {
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  // Runs also when the call is cancelled.
  struct Rest {
    Job& job;
    ~Rest() {
      UniqueFunction<void()> last;
      {
        const std::lock_guard lock(job.mutex);
        last = std::move(job.last);
        job.over = true;
      }
      if (last) last();
      last.reset();
      job.call.reset();
      jobs().note_ended(job);
    }
  } const rest{*job};
  if (!job->call) return;
  ::pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
  const error_code result = job->call();
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  const std::lock_guard lock(job->mutex);
  if (job->last) return;
  job->over = true;
  job->done(result);
}

bool BlockingCall::begin(const std::shared_ptr<Job>& job) { return jobs().begin(job); }

Result<std::unique_ptr<BlockingCall>> BlockingCall::start(const void* whose, UniqueFunction<error_code()> call,
                                                          UniqueFunction<void(error_code)> done) {
  if (jobs().full()) return system_error(EAGAIN);
  auto job = std::make_shared<Job>();
  job->whose = whose;
  job->call = std::move(call);
  job->done = std::move(done);
  if (!begin(job)) return system_error(EAGAIN);
  return std::unique_ptr<BlockingCall>(new BlockingCall(std::move(job)));
}

void BlockingCall::run(const void* whose, UniqueFunction<void()> last) {
  const auto job = std::make_shared<Job>();
  job->whose = whose;
  job->last = std::move(last);
  if (begin(job)) return;
  job->last();
}

void BlockingCall::wait_for(const void* whose) noexcept { jobs().wait_for(whose); }

void BlockingCall::end(UniqueFunction<void()> last) {
  {
    const std::lock_guard lock(job_->mutex);
    if (!job_->over) {
      job_->last = std::move(last);
      // The handle is valid: a thread that has not ended is not joined.
      ::pthread_cancel(job_->thread.native_handle());
      return;
    }
  }
  run(job_->whose, std::move(last));
}

}  // namespace rpcrdma::fabric::verbs
