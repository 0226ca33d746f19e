// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "rpcrdma/requester/requester.hpp"
#include "stage.hpp"

namespace rpcrdma::sim {

/// Stands between the RPC client and the transport. Checks that a call in progress is not submitted again, and
/// that no window that was bound for a call exposes memory when the call is over.
class WatchedRequester final : public transport::Requester {
 public:
  /// All arguments must outlive this object.
  WatchedRequester(transport::Requester& under, const fabric::LoopbackFabric& fabric, Stage& stage);
  ~WatchedRequester() override;

  void submit(transport::Call& call) override;
  void cancel(transport::Call& call) override;
  std::uint32_t next_xid() noexcept override { return under_.next_xid(); }
  Counters counters() const noexcept override { return under_.counters(); }

 private:
  class Watched;
  /// Finds the windows that the requester has bound since this function last ran, and assigns them to the RPC call that
  /// was encoded most recently: the requester binds the windows of a call before it encodes or ends another call.
  void assign_exposures();
  void over(Watched& call);

  transport::Requester& under_;
  const fabric::LoopbackFabric& fabric_;
  Stage& stage_;
  std::unordered_map<const transport::Call*, std::unique_ptr<Watched>> calls_;
  // The handles that assign_exposures() found exposed the last time. It assigns only handles that are not among these.
  std::vector<std::uint32_t> known_;
  Watched* encoding_ = nullptr;
};

}  // namespace rpcrdma::sim
