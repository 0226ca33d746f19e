// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Implementation of the typed client; see client.hpp for how to use it.
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/intrusive/list.hpp>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/post_memory.hpp"
#include "rpcrdma/base/recycler.hpp"
#include "rpcrdma/base/unique_function.hpp"
#include "rpcrdma/requester/requester.hpp"
#include "rpcrdma/rpc/block_memory.hpp"
#include "rpcrdma/rpc/message.hpp"
#include "rpcrdma/rpc/procedure.hpp"
#include "rpcrdma/rpc/statistics.hpp"

namespace rpcrdma::rpc {

class ClientCore;

/// One RPC call of a client. ClientCore keeps the objects of completed calls and uses them again. prepare() encodes the
/// message when the call is made. After that the arguments are not needed, except for bulk data to which the message
/// refers. Each time the transport asks for the message, it receives the same bytes.
class RPCRDMA_EXPORT ClientCall final : public transport::Call, public boost::intrusive::list_base_hook<> {
 public:
  /// `in` is positioned at the results on success, and is null on failure.
  using Completion = UniqueFunction<void(error_code, xdr::Decoder* in), 192>;
  using Encode = bool (*)(xdr::Encoder& out, const void* args);

  /// Encodes the message. Fails with RpcError::unencodable if the arguments cannot be encoded.
  error_code prepare(const CallHeader& header, Encode encode_args, const void* args) noexcept;
  /// Copies a message that has been encoded elsewhere.
  void prepare(Octets message) noexcept;
  /// Counts the call as a call of `procedure`, which must outlive the client.
  void count_as(const ProcedureInfo& procedure) noexcept { procedure_ = &procedure; }
  /// Counts the call as failed if `status` is not 0. `status` is the status that the RPC program has returned in its
  /// result, such as an nfsstat3. To be called only within the completion.
  void count_status(std::uint32_t status) noexcept {
    if (status != 0 && counted_ != nullptr) counted_->fail(status);
  }

  void encode(PayloadBuilder& out) noexcept override;
  void done(error_code status, const Payload* reply) noexcept override;

 private:
  friend class ClientCore;
  void finish(error_code status, xdr::Decoder* in) noexcept;
  /// Writes the XID into the encoded message.
  void set_xid(std::uint32_t value) noexcept;

  PayloadBuilder message_;
  BlockMemory memory_;
  Completion completion_;
  const ProcedureInfo* procedure_ = nullptr;  // null: the call is not counted
  ProcedureStatistics* counted_ = nullptr;    // set while a counted call is running
  bool submitted_ = false;
  std::shared_ptr<ClientCore> core_;  // set while the call is running
  // Memory for the handler that starts a call made on another thread.
  PostMemory post_memory_;
  error_code failed_;
  std::uint64_t uses_ =
      0;  // completed uses of this object; changed only on the event loop's thread, while the call is running
};

/// Owns the ClientCall objects of one client. Each of them is idle, leased to a caller, or carries a running call. A
/// running call holds a reference to the ClientCore, which therefore exists until the last call has completed.
///
/// Threads. The functions are called on the event loop's thread. With a context owner, lease(), start() and the
/// function object that canceller() returns may be called on any thread.
class RPCRDMA_EXPORT ClientCore : public std::enable_shared_from_this<ClientCore> {
 public:
  using Executor = boost::asio::io_context::executor_type;
  ClientCore(transport::Requester& requester, Executor executor, std::shared_ptr<void> context_owner = {})
      : requester_(requester), executor_(std::move(executor)), context_owner_(std::move(context_owner)) {}

  const Executor& executor() const noexcept { return executor_; }
  transport::Requester& requester() noexcept { return requester_; }

  struct Return {
    std::shared_ptr<ClientCore> core;
    void operator()(ClientCall* call) const noexcept { core->give_back(*call); }
  };
  using Lease = std::unique_ptr<ClientCall, Return>;
  /// Takes an idle call or makes one, to be prepared and started. The lease returns the call to the pool if it is not
  /// started.
  Lease lease();
  /// Starts the call. `completion` runs once, on the executor's thread, and never within this function. If `failed` is
  /// set, nothing is sent, and the call completes with `failed`.
  void start(Lease call, error_code failed, ClientCall::Completion completion);
  void cancel(ClientCall& call) noexcept;
  bool any_thread() const noexcept { return context_owner_ != nullptr; }

  /// A function object that cancels one RPC call: the one that `call` carried when canceller() returned this object. It
  /// has no effect once that RPC call has completed, even if `call` carries another RPC call by then.
  struct Canceller {
    std::weak_ptr<ClientCore> core;
    ClientCall* call;
    std::uint64_t use;
    void operator()(boost::asio::cancellation_type) const;
  };
  Canceller canceller(ClientCall& call) noexcept { return {weak_from_this(), &call, call.uses_}; }
  /// Cancels every call. The requester is not used afterwards.
  void close() noexcept;
  void when_idle(UniqueFunction<void()> handler);
  std::vector<ProcedureReport> procedures() const;

 private:
  friend class ClientCall;
  void begin(ClientCall& call, error_code failed);
  void give_back(ClientCall& call) noexcept;
  ProcedureStatistics& counted(const ProcedureInfo& procedure);
  std::unique_lock<std::mutex> guard() noexcept;

  transport::Requester& requester_;
  Executor executor_;
  const std::shared_ptr<void> context_owner_;
  std::mutex mutex_;  // guards calls_ if there is a context owner
  Recycler<ClientCall> calls_;
  std::vector<std::pair<const ProcedureInfo*, std::unique_ptr<ProcedureStatistics>>> procedures_;
  UniqueFunction<void()> idle_;
  boost::intrusive::list<ClientCall, boost::intrusive::constant_time_size<false>> active_;
  bool closed_ = false;
};

}  // namespace rpcrdma::rpc
