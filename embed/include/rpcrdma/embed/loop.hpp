// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/runner.hpp"

namespace rpcrdma::embed {

/// An io_context that a client or server owns, and the thread that runs it with a rpcrdma::Runner. The thread blocks
/// all signals, so that the program's other threads receive them.
class RPCRDMA_EXPORT Loop {
 public:
  explicit Loop(Polling polling = {}) : runner_(context_, polling) {}
  /// Joins the thread. If the thread holds the last reference to this object or to its owner (see start()), the
  /// destructor runs on the thread itself when the thread ends. In this case the destructor detaches the thread and
  /// does not join it.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  boost::asio::io_context& context() noexcept { return context_; }
  /// Starts the thread, which holds `keep` until the thread ends. `keep` may refer to this Loop or to its owner, which
  /// then lives until the thread ends, even if a handler on the thread drops all other references to it.
  void start(std::shared_ptr<void> keep = {});
  /// Lets the thread end when it has no work left.
  void release() noexcept { guard_.reset(); }
  /// Ends the thread as soon as possible.
  void stop() noexcept {
    stopped_ = true;
    context_.stop();
  }
  /// Waits for the end of the thread, after release() or stop(). If called on the thread itself,
  /// returns at once.
  void join() noexcept;
  /// Runs `function` on the thread of the loop. If called on this thread, runs it at once. Before start() and after the
  /// end of the thread, runs `function` on the calling thread, but only one such function at a time. After stop(),
  /// functions that still wait for the thread do not run, nor do functions that are passed to run() before the thread
  /// has ended. May be called on any thread.
  template <class Function>
  void run(Function function) {
    if (on_thread()) return function();
    const std::lock_guard lock(mutex_);
    if (!serving_) return function();
    boost::asio::post(context_, std::move(function));
  }
  /// True from start() until the end of join().
  bool running() const noexcept { return thread_.joinable(); }
  /// The counters of the thread's Runner: how the thread has waited for work. May be called on any thread.
  Runner::Counters waits() const noexcept { return runner_.counters(); }
  bool on_thread() const noexcept { return context_.get_executor().running_in_this_thread(); }
  /// Destroys the handlers that still wait, with the objects that they own. To be called after join().
  void discard_handlers() noexcept { context_.discard(); }

 private:
  struct Context : boost::asio::io_context {
    Context() : io_context(1) {}
    void discard() noexcept { shutdown(); }
  };
  // mutable: an io_context has no const get_executor().
  mutable Context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_{context_.get_executor()};
  Runner runner_;
  std::thread thread_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  // While this is true, Loop::run() posts functions to the thread. start() sets it before the thread exists, without
  // mutex_. Afterwards it is guarded by mutex_, and the thread clears it before the thread ends.
  bool serving_ = false;
};

}  // namespace rpcrdma::embed
