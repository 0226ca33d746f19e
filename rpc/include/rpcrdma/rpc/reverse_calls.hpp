// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Implementation of ReverseClient; see reverse_client.hpp for how to use it.
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/requester/reverse.hpp"
#include "rpcrdma/responder/responder.hpp"
#include "rpcrdma/rpc/client_call.hpp"
#include "rpcrdma/rpc/procedure.hpp"

namespace rpcrdma::rpc {

struct CallOptions;
class ReverseCalls;

struct ReverseOptions {
  Credential credential{};                    ///< for calls whose CallOptions have no credential
  std::chrono::milliseconds timeout{10'000};  ///< for calls without a deadline
  /// The maximum number of calls in progress through one handle and its copies. In addition, at most 1024 calls of a
  /// connection may wait for a credit. Calls beyond either limit fail with BaseError::out_of_memory.
  std::uint32_t max_calls = 1024;
};

/// The reverse calls of one io_context. Each ReverseCalls shares the ownership of its registry, because a
/// ReverseClient may outlive the io_context.
struct ReverseRegistry {
  std::mutex mutex;
  bool over = false;  // true once the destruction of the io_context has begun
  std::set<ReverseCalls*> all;
};

/// The state that the copies of a ReverseClient share. May be used on any thread, except for counters() and for
/// functions whose comment names a thread. When the last reference has been dropped, the state is destroyed on the
/// connection's thread. Once the destruction of the io_context has begun, it is destroyed at once instead, on the
/// thread that drops the reference.
class RPCRDMA_EXPORT ReverseCalls final : public std::enable_shared_from_this<ReverseCalls> {
 public:
  using Executor = ClientCore::Executor;
  using Encode = ClientCall::Encode;

  /// Called on the thread of `call`.
  static std::shared_ptr<ReverseCalls> make(transport::IncomingCall& call, ReverseOptions options);
  ~ReverseCalls();
  /// Ends the calls. To be called when the io_context is being destroyed.
  void abandon() noexcept;

  Executor executor() const noexcept { return executor_; }
  transport::Requester::Counters counters() const noexcept {
    return dead_ ? transport::Requester::Counters{} : requester_->counters();
  }
  bool alive() const noexcept { return !dead_ && requester_->connected(); }

  /// Identifies an RPC call for cancel(), whether the RPC call has been started or not. Once start() or cancel() has
  /// been called, the members are used only on the connection's thread.
  struct Ticket {
    ClientCall* call = nullptr;  // null unless the call is in progress
    bool cancelled = false;
  };
  /// An encoded call, still without its XID.
  struct Prepared {
    error_code failed;
    std::vector<std::byte> message;
    std::uint32_t max_reply = 0;
    std::chrono::steady_clock::time_point deadline;
    std::shared_ptr<Ticket> ticket;  // may be null
  };
  Prepared prepare(const ProcedureInfo& info, const ReplyBound& bound, const CallOptions& options, Encode encode_args,
                   const void* args) const;
  /// `completion` runs once, on the connection's thread, never within this function.
  void start(Prepared call, ClientCall::Completion completion);
  void cancel(const std::shared_ptr<Ticket>& ticket);

 private:
  ReverseCalls(transport::IncomingCall& call, ReverseOptions options);
  static void release(ReverseCalls* state);
  void begin(Prepared call, ClientCall::Completion completion);

  Executor executor_;
  const std::shared_ptr<ReverseRegistry> registry_;
  ReverseOptions options_;
  std::shared_ptr<transport::ReverseRequester> requester_;
  error_code dead_;                      // the reason why requester_ is null; not set if there is a requester
  std::shared_ptr<ClientCore> core_;     // null if requester_ is null
  std::atomic<std::uint32_t> calls_{0};  // number of calls in progress
};

}  // namespace rpcrdma::rpc
