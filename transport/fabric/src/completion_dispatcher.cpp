// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/fabric/completion_dispatcher.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/post.hpp>

namespace rpcrdma::fabric {
namespace {

/// Ignores all events. quiesce() sets events_ to an object of this class instead of null, so that events_ can be used
/// without a check for null.
class NoEvents final : public QueuePairEvents {
 public:
  void on_established(const ConnectionInfo&) noexcept override {}
  void on_disconnected(error_code) noexcept override {}
};

constinit NoEvents no_events;

}  // namespace

CompletionDispatcher::CompletionDispatcher(boost::asio::io_context& context, QueuePairEvents& events,
                                           Counters& counters, Owner* owner)
    : context_(context),
      events_(&events),
      counters_(counters),
      owner_(owner),
      after_handler_(
          context, [](void* self) noexcept { static_cast<CompletionDispatcher*>(self)->run_scheduled(); }, this) {}

void CompletionDispatcher::add(WorkContext& context, const Completion& completion, std::uint32_t* slots,
                               std::uint32_t count) noexcept {
  if (events_ == &no_events) return;
  Ready& ready = ready_.push();
  ready.context = &context;
  ready.completion = completion;
  ready.slots = slots;
  ready.count = count;
}

void CompletionDispatcher::disconnect(error_code why, const ConnectionInfo* refusal) noexcept {
  if (events_ == &no_events) return;
  established_ = nullptr;
  end_ = End{why, refusal};
}

void CompletionDispatcher::run(int max_batches) {
  if (running_) return;
  running_ = true;
  if (established_ != nullptr) events_->on_established(*std::exchange(established_, nullptr));
  for (int batch = 0; batch < max_batches && !ready_.empty(); ++batch) run_batch();
  if (end_ && ready_.empty()) run_end();
  running_ = false;
}

void CompletionDispatcher::run_batch() {
  // The batch ends at the present tail of the ring. Completions that are added during a callback belong to the next
  // batch. The loop also checks for an empty ring, because a callback may call quiesce(), which empties the ring.
  const std::uint64_t last = ready_.tail();
  while (!ready_.empty() && ready_.head() != last) {
    const Ready ready = ready_.front();
    ready_.pop();
    if (ready.slots != nullptr) *ready.slots -= ready.count;
    ++counters_.completions;
    ready.context->on_completion(ready.completion);
  }
  ++counters_.batches;
  events_->on_batch_end();
}

void CompletionDispatcher::run_end() {
  const End end = *end_;
  end_.reset();
  if (end.refusal != nullptr) events_->on_rejected(*end.refusal);  // [6581-9.1-a] reports the peer's read depths
  events_->on_disconnected(end.why);
}

void CompletionDispatcher::wake(std::shared_ptr<void> keep) {
  if (!needs_run()) return;
  scheduled_ = true;
  auto handler = [this, keep = std::move(keep)] { run_scheduled(); };
  boost::asio::post(context_, boost::asio::bind_allocator(PostAllocator<void>(post_memory_), std::move(handler)));
}

void CompletionDispatcher::wake_soon(std::shared_ptr<void> keep) {
  if (!needs_run()) return;
  if (!after_handler_.schedule()) return wake(std::move(keep));
  scheduled_ = true;
}

void CompletionDispatcher::run_scheduled() noexcept {
  scheduled_ = false;
  run();
  if (owner_ != nullptr) owner_->on_dispatched();
}

void CompletionDispatcher::quiesce() noexcept {
  events_ = &no_events;
  owner_ = nullptr;
  ready_.clear();
  established_ = nullptr;
  end_.reset();
}

}  // namespace rpcrdma::fabric
