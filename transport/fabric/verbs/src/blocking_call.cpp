// SPDX-License-Identifier: BSD-3-Clause
// Operation. Each call has a thread. A call that is no longer wanted is cancelled: a signal that the C library reserves
// interrupts the wait in the kernel, the thread unwinds, and last() runs.
// Ownership. A job belongs to its thread, to the list of jobs and to its BlockingCall. Threads that have ended are
// joined when the next thread starts or when the io_context is destroyed. The destructor of the io_context also waits
// for calls that still block; the process could not end before these calls return anyway.
// Error handling. If no thread can be created, a call fails with EAGAIN. If none can be created for last(), last()
// runs in the caller's thread.
#include "blocking_call.hpp"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <thread>

#include "error.hpp"

namespace rpcrdma::fabric::verbs {

struct BlockingCalls::Job {
  UniqueFunction<error_code()> call;
  UniqueFunction<void(error_code)> done;
  std::mutex mutex;
  UniqueFunction<void()> last;
  bool over = false;   // no `last` may be set from now on, because it might not run; guarded by `mutex`
  bool ended = false;  // the thread is done with the job, and can be joined; guarded by BlockingCalls::mutex_
  std::thread thread;  // set and joined under BlockingCalls::mutex_
};

boost::asio::execution_context::id BlockingCalls::id;

namespace {

/// Blocks all signals in the calling thread while the object exists. A thread that the calling thread creates in this
/// time inherits the signal mask. Signals to the process are therefore handled by the program's own threads.
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

bool BlockingCalls::begin(const std::shared_ptr<Job>& job) {
  const std::lock_guard lock(mutex_);
  join_ended();
  if (shut_down_) return false;
  const SignalsHeld held;
  jobs_.push_back(job);
  try {
    job->thread = std::thread([this, job] { work(*job); });
  } catch (const std::exception&) {  // std::system_error, or out of memory
    jobs_.pop_back();
    return false;
  }
  return true;
}

void BlockingCalls::work(Job& job) {
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  // The destructor of Rest also runs if the call is cancelled, because the cancelled thread unwinds its stack.
  struct Rest {
    BlockingCalls& calls;
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
      const std::lock_guard lock(calls.mutex_);
      job.ended = true;
      calls.changed_.notify_all();
    }
  } const rest{*this, job};
  if (!job.call) return;
  ::pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
  const error_code result = job.call();
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  const std::lock_guard lock(job.mutex);
  if (job.last) return;
  job.over = true;
  job.done(result);
}

void BlockingCalls::shutdown() {
  std::unique_lock lock(mutex_);
  shut_down_ = true;
  changed_.wait(lock, [this] { return std::ranges::all_of(jobs_, [](const auto& job) { return job->ended; }); });
  join_ended();
}

void BlockingCalls::join_ended() noexcept {
  std::erase_if(jobs_, [](const auto& job) {
    if (job->ended) job->thread.join();
    return job->ended;
  });
}

Result<std::unique_ptr<BlockingCall>> BlockingCalls::start(UniqueFunction<error_code()> call,
                                                           UniqueFunction<void(error_code)> done) {
  {
    const std::lock_guard lock(mutex_);
    join_ended();
    if (jobs_.size() >= kMost) return system_error(EAGAIN);
  }
  auto job = std::make_shared<Job>();
  job->call = std::move(call);
  job->done = std::move(done);
  if (!begin(job)) return system_error(EAGAIN);
  return std::make_unique<BlockingCall>(*this, std::move(job));
}

void BlockingCalls::run(UniqueFunction<void()> last) {
  const auto job = std::make_shared<Job>();
  job->last = std::move(last);
  if (!begin(job)) job->last();
}

void BlockingCall::end(UniqueFunction<void()> last) {
  {
    const std::lock_guard lock(job_->mutex);
    if (!job_->over) {
      job_->last = std::move(last);
      // The thread has not ended; therefore it has not been joined, and its handle is valid.
      ::pthread_cancel(job_->thread.native_handle());
      return;
    }
  }
  calls_.run(std::move(last));
}

}  // namespace rpcrdma::fabric::verbs
