// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Runs the callbacks of one queue pair. Every provider has one in each queue pair.
//
// Operation. The provider adds completions and the begin and end of the connection as they occur; run() delivers them:
// on_established, then completions in order, each batch closed by on_batch_end, and on_disconnected last. The provider
// calls run() from its own handlers on the io_context, never from within a call of the user, or lets wake() post it.
//
// Ownership. Contexts and events belong to the user. A callback may quiesce the queue pair, but not destroy it; the
// object that owns the dispatcher therefore exists until run() returns. Slots of a work queue return to their
// counter directly before the callback of the work that held them, so that the callback can post in their place.
//
// Error handling. None of its own: a completion or an end carries its status. The ring grows to the bound given to
// reserve() and does not shrink: in the steady state nothing allocates.
#include <memory>
#include <optional>

#include "rpcrdma/base/post_memory.hpp"
#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/fabric/ring.hpp"

namespace rpcrdma::fabric {

class CompletionDispatcher {
 public:
  /// The provider's callback after a posted dispatch.
  class Owner {
   public:
    /// Called after the callbacks of a dispatch that wake() posted: transmits the work that they posted.
    virtual void on_dispatched() noexcept = 0;

   protected:
    ~Owner() = default;
  };

  /// Batches that one run() delivers before other handlers of the io_context run.
  static constexpr int kMaxBatches = 4;

  /// `owner` may be null. All arguments outlive the dispatcher, except that `events` is not used after quiesce().
  CompletionDispatcher(boost::asio::io_context& context, QueuePairEvents& events, Counters& counters,
                       Owner* owner) noexcept;
  CompletionDispatcher(const CompletionDispatcher&) = delete;
  CompletionDispatcher& operator=(const CompletionDispatcher&) = delete;

  /// Sets the most completions that may wait at a time. Call once, before the first add().
  void reserve(std::size_t completions) { ready_.reserve(completions); }
  /// `context` will be called with `completion`; directly before, `count` is subtracted from `*slots`.
  void add(WorkContext& context, const Completion& completion, std::uint32_t* slots = nullptr,
           std::uint32_t count = 1) noexcept;
  /// on_established(info) runs next. `info` stays valid until then.
  void establish(const ConnectionInfo& info) noexcept { established_ = &info; }
  /// After all completions, on_rejected(*refusal), if given, and on_disconnected(why) run. An on_established that has
  /// not run yet is dropped.
  void disconnect(error_code why, const ConnectionInfo* refusal = nullptr) noexcept;

  bool pending() const noexcept { return established_ != nullptr || !ready_.empty() || end_; }
  /// Whether a callback is running.
  bool running() const noexcept { return running_; }
  /// Delivers pending callbacks, at most `max_batches` batches. Does nothing if called from within a callback.
  void run(int max_batches = kMaxBatches);
  /// Posts run() if something is pending and neither posted nor running. `keep` keeps this object alive until then.
  void wake(std::shared_ptr<void> keep);
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

  void run_batch();
  void run_end();

  boost::asio::io_context& context_;
  QueuePairEvents* events_;  // after quiesce(): an object whose functions do nothing
  Counters& counters_;
  Owner* owner_;
  PostMemory post_memory_;
  Ring<Ready> ready_;
  const ConnectionInfo* established_ = nullptr;
  std::optional<End> end_;
  bool running_ = false;
  bool posted_ = false;
};

}  // namespace rpcrdma::fabric
