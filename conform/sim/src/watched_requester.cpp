// SPDX-License-Identifier: BSD-3-Clause
// Ownership: a Watched exists from submit() until its call is over; the transport knows only the Watched.
#include "watched_requester.hpp"

#include <algorithm>

namespace rpcrdma::sim {

class WatchedRequester::Watched final : public transport::Call {
 public:
  Watched(WatchedRequester& owner, transport::Call& watched) : call(watched), owner_(owner) {
    xid = call.xid;
    max_reply = call.max_reply;
    results = call.results;
    reply_memory = call.reply_memory;
    may_reduce = call.may_reduce;
    deadline = call.deadline;
  }

  void encode(PayloadBuilder& out) noexcept override {
    owner_.assign_exposures();
    owner_.encoding_ = this;
    call.encode(out);
  }
  void done(error_code status, const Payload* reply) noexcept override {
    owner_.over(*this);
    owner_.stage_.trace.note("xid {:08x} over: {}", xid, status.message());
    transport::Call& under = call;
    owner_.calls_.erase(&under);  // destroys this object
    under.done(status, reply);
  }

  transport::Call& call;
  std::vector<std::uint32_t> handles;  // handles of the windows bound for this call, in all its transmissions

 private:
  WatchedRequester& owner_;
};

WatchedRequester::WatchedRequester(transport::Requester& under, const fabric::LoopbackFabric& fabric, Stage& stage)
    : under_(under), fabric_(fabric), stage_(stage) {}

WatchedRequester::~WatchedRequester() = default;

void WatchedRequester::submit(transport::Call& call) {
  auto [at, added] = calls_.try_emplace(&call, nullptr);
  stage_.trace.require(added, invariant::kOnce, "xid {:08x} is submitted while it is in progress", call.xid);
  at->second = std::make_unique<Watched>(*this, call);
  under_.submit(*at->second);
}

void WatchedRequester::cancel(transport::Call& call) {
  if (const auto found = calls_.find(&call); found != calls_.end()) under_.cancel(*found->second);
}

void WatchedRequester::assign_exposures() {
  if (encoding_ == nullptr) return;
  std::vector<std::uint32_t> now;
  for (const fabric::LoopbackExposure& exposure : fabric_.exposures()) {
    now.push_back(exposure.handle);
    if (std::ranges::find(known_, exposure.handle) == known_.end()) encoding_->handles.push_back(exposure.handle);
  }
  known_ = std::move(now);
  encoding_ = nullptr;
}

void WatchedRequester::over(Watched& call) {
  assign_exposures();
  for (const fabric::LoopbackExposure& exposure : fabric_.exposures()) {
    const bool ours = std::ranges::find(call.handles, exposure.handle) != call.handles.end();
    stage_.trace.require(!ours, invariant::kInvalidated, "xid {:08x} is over, and {} bytes remain exposed as {:08x}",
                         call.xid, exposure.memory.size, exposure.handle);
  }
}

}  // namespace rpcrdma::sim
