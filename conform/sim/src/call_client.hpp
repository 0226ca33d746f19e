// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "random.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/rpc/client.hpp"
#include "rpcrdma/rpc/reverse_handlers.hpp"
#include "service.hpp"
#include "stage.hpp"
#include "watched_requester.hpp"

namespace rpcrdma::sim {

/// A client that calls the procedures of service.hpp. It makes several calls at a time, sets deadlines, cancels calls,
/// and serves reverse calls. The stage must outlive this object. Destroy this object only when spent() returns true.
class CallClient {
 public:
  /// Makes `quota` calls. `number` is unique among all clients of a run.
  CallClient(Stage& stage, std::uint32_t number, std::uint32_t quota);
  ~CallClient();

  bool finished() const noexcept { return ended_ || (made_ == quota_ && open_ == 0); }
  /// Calls that have succeeded.
  std::uint32_t succeeded() const noexcept { return succeeded_; }
  void cancel(std::uint32_t which);
  /// Ends the client at once, as a crash of its process does. Its calls complete as cancelled.
  void end();
  bool ended() const noexcept { return ended_; }
  /// Returns true if end() has been called and no call, handler or buffer refers to this object any more.
  bool spent() const noexcept { return drain_.over() && open_ == 0 && handlers_ == 0 && pool_.counters().lent == 0; }
  const std::shared_ptr<fabric::LoopbackFabric>& fabric() noexcept { return fabric_; }
  /// Checks that no call is in progress and that no window is bound.
  void check_idle();
  /// Checks that each call has completed exactly once.
  void check_over();

 private:
  struct OneCall;
  using Counters = transport::Requester::Counters;

  void pump();
  void make_call();
  void make_once(OneCall& call, std::uint32_t ballast);
  void make_store(OneCall& call);
  void make_fetch(OneCall& call);
  void make_watch(OneCall& call);
  template <rpc::Procedure P, class Check>
  void start(OneCall& call, const typename P::Args& args, rpc::CallOptions options, Check check);
  void over(OneCall& call, error_code status);
  void check_memory(const OneCall& call);
  bool take_memory(OneCall& call, std::size_t index, std::uint32_t size);
  boost::asio::awaitable<void> ping(rpc::ServerCall<Ping> call);

  Stage& stage_;
  const std::uint32_t number_;
  const std::uint32_t quota_;
  Random random_;
  std::uint32_t width_;
  std::shared_ptr<fabric::LoopbackFabric> fabric_;
  memory::Pool pool_;
  Waits waits_;
  boost::asio::steady_timer pause_;
  std::vector<std::unique_ptr<OneCall>> calls_;
  std::set<std::uint64_t> pings_;
  std::uint32_t made_ = 0;
  std::uint32_t open_ = 0;
  std::uint32_t succeeded_ = 0;
  std::uint32_t handlers_ = 0;
  bool paused_ = false;
  bool ended_ = false;
  Drain drain_;
  std::optional<rpc::ReverseHandlers> handlers_of_pings_;
  std::unique_ptr<transport::Client> connection_;
  std::optional<WatchedRequester> watched_;
  std::optional<rpc::Client> client_;
};

}  // namespace rpcrdma::sim
