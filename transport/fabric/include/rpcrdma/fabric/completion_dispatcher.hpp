// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Runs the callbacks of one queue pair. Each queue pair of every provider has a CompletionDispatcher.
//
// Operation. The provider adds completions, and the start and the end of the connection, as they occur. run() calls the
// user's callbacks for them: on_established() first, then those of the completions in the order of addition, and
// on_disconnected() last. After each batch of completions, run() calls on_batch_end(). The provider calls run() from
// its own handlers on the io_context, or lets wake() or wake_soon() schedule it. The provider does not call run()
// within those of its functions that the user calls. Before the callback of a work request runs, the slots of the work
// request are free again, so that the callback can post.
//
// Ownership. WorkContext and QueuePairEvents objects belong to the user. A callback may quiesce the queue pair, but
// must not destroy it, because run() continues after the callback.
//
// Error handling. The functions of the dispatcher report no errors: each completion and the end of the connection carry
// a status of their own. The ring of completions grows up to the bound given to reserve() and does not shrink, so that
// in the steady state nothing allocates.
#include <memory>
#include <optional>

#include "rpcrdma/base/after_handler.hpp"
#include "rpcrdma/base/post_memory.hpp"
#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/fabric/ring.hpp"

namespace rpcrdma::fabric {

class CompletionDispatcher {
 public:
  /// The provider that the dispatcher calls back.
  class Owner {
   public:
    /// The dispatcher calls this function after each run() that wake() or wake_soon() has scheduled, unless quiesce()
    /// has been called. The provider then does the work that the callbacks have made necessary, such as transmitting.
    virtual void on_dispatched() noexcept = 0;

   protected:
    ~Owner() = default;
  };

  /// The maximum number of batches that one run() delivers before other handlers of the io_context run.
  static constexpr int kMaxBatches = 4;

  /// `owner` may be null. All arguments must outlive the dispatcher, but `events` is not used after quiesce().
  CompletionDispatcher(boost::asio::io_context& context, QueuePairEvents& events, Counters& counters, Owner* owner);
  CompletionDispatcher(const CompletionDispatcher&) = delete;
  CompletionDispatcher& operator=(const CompletionDispatcher&) = delete;

  /// Sets the maximum number of completions that may wait for run() at a time. Call it once, before the first add().
  void reserve(std::size_t completions) { ready_.reserve(completions); }
  /// Adds a completion: a later run() calls context.on_completion(completion). If `slots` is not null, it points to the
  /// provider's number of slots in use. run() subtracts `count` from this number directly before that call.
  void add(WorkContext& context, const Completion& completion, std::uint32_t* slots = nullptr,
           std::uint32_t count = 1) noexcept;
  /// Makes run() call on_established(info). `info` must stay valid until then.
  void establish(const ConnectionInfo& info) noexcept { established_ = &info; }
  /// Makes run() call on_rejected(*refusal), if given, and on_disconnected(why) after all completions. Drops an
  /// on_established that has not run yet.
  void disconnect(error_code why, const ConnectionInfo* refusal = nullptr) noexcept;

  bool pending() const noexcept { return established_ != nullptr || !ready_.empty() || end_; }
  /// Whether a callback is running.
  bool running() const noexcept { return running_; }
  /// Delivers pending callbacks, at most `max_batches` batches. Does nothing if called from within a callback.
  void run(int max_batches = kMaxBatches);
  /// Posts run() if a callback is pending and run() is neither scheduled nor running. `keep` keeps this object alive
  /// until that run() ends.
  void wake(std::shared_ptr<void> keep);
  /// As wake(), but run() is called at the end of the present handler of the io_context, if AfterHandler permits it.
  /// Then `keep` is not used: if this object is destroyed before, run() is not called. It must not be destroyed while
  /// run() calls a callback (delete_later()).
  void wake_soon(std::shared_ptr<void> keep);
  /// Drops pending callbacks. No callback starts after this call; if a callback is running, it is the last.
  void quiesce() noexcept;

 private:
  struct Ready {
    WorkContext* context = nullptr;
    Completion completion;
    std::uint32_t* slots = nullptr;
    std::uint32_t count = 0;
  };
  struct End {
    error_code why;
    const ConnectionInfo* refusal = nullptr;
  };

  bool needs_run() const noexcept { return !running_ && !scheduled_ && pending(); }
  void run_scheduled() noexcept;
  void run_batch();
  void run_end();

  boost::asio::io_context& context_;
  QueuePairEvents* events_;  // after quiesce(): an object whose functions do nothing
  Counters& counters_;
  Owner* owner_;
  AfterHandler after_handler_;
  PostMemory post_memory_;
  Ring<Ready> ready_;
  const ConnectionInfo* established_ = nullptr;
  std::optional<End> end_;
  bool running_ = false;
  bool scheduled_ = false;
};

}  // namespace rpcrdma::fabric
