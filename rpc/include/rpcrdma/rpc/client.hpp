// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The typed client: asynchronous calls of Procedure types over a transport::Requester (RDMA or TCP).
//
//     rpc::Client client(transport->requester(), context.get_executor());
//     auto reply = co_await client.async_call<nfs3::Getattr>({.object = handle}, {}, asio::use_awaitable);
//     if (reply->status == NFS3_OK) ... reply->GETATTR3res_u.resok.obj_attributes.size
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/container/small_vector.hpp>
#include <chrono>
#include <optional>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/rpc/client_call.hpp"
#include "rpcrdma/rpc/decoded.hpp"

namespace rpcrdma::rpc {

/// Options of a client.
struct ClientOptions {
  Credential credential{};                    ///< for calls whose CallOptions have no credential
  std::chrono::milliseconds timeout{60'000};  ///< for calls without a deadline
  /// If set, calls may be made and cancelled on any thread. Each call then takes a lock, and a call made on a thread
  /// other than the io_context's is posted. The object must keep the io_context alive; the client holds a reference to
  /// the object as long as the client may use the io_context.
  std::shared_ptr<void> context_owner{};
};

/// Options of one call.
struct CallOptions {
  /// If empty, the deadline is ClientOptions::timeout after the start of the call.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  /// If empty, ClientOptions::credential is used.
  std::optional<Credential> credential;
  /// Registered memory for the DDP-eligible results: one list of buffers per result, in order. Each list must have room
  /// for the largest possible result (RFC 8166 section 4.3.2.2). A successful call leaves the data of the result there
  /// (bulk_kind::placed), whether the server used RDMA Write or sent the data in the message. Without such memory the
  /// data stays in the message. The memory belongs to the caller, which must not use it until the call completes.
  boost::container::small_vector<boost::container::small_vector<BufferRef, 1>, 1> results;

  /// Adds the memory for one result; copies the list, not the memory.
  CallOptions& into(std::span<const BufferRef> result) {
    results.emplace_back(result.begin(), result.end());
    return *this;
  }
  /// Sets the deadline to the current time plus `time`.
  CallOptions& within(std::chrono::steady_clock::duration time) {
    deadline = std::chrono::steady_clock::now() + time;
    return *this;
  }
};

/// Makes calls through one Requester. Used on the thread of the requester. With ClientOptions::context_owner,
/// async_call() may also be called on other threads.
///
/// The destructor cancels the calls in progress. They complete after the destructor has returned, with
/// BaseError::cancelled unless their outcome is already known. The requester must exist until they have completed.
class RPCRDMA_EXPORT Client {
 public:
  /// `executor`: the executor of the requester's io_context. `requester` must outlive this object and its calls.
  Client(transport::Requester& requester, ClientCore::Executor executor, ClientOptions options = {})
      : core_(std::make_shared<ClientCore>(requester, std::move(executor), options.context_owner)),
        options_(std::move(options)) {}
  ~Client() {
    if (core_) core_->close();
  }
  Client(Client&&) noexcept = default;
  Client& operator=(Client&&) = delete;

  /// The executor of the requester's io_context.
  ClientCore::Executor get_executor() const noexcept { return core_->executor(); }
  /// Runs `handler` on the client's thread once no call is in progress, perhaps before this function returns. A later
  /// handler replaces an earlier handler that has not run.
  void when_idle(UniqueFunction<void()> handler) { core_->when_idle(std::move(handler)); }
  /// The requester given to the constructor.
  transport::Requester& requester() noexcept { return core_->requester(); }
  /// Returns the procedures that have been called so far, and their statistics. The statistics stay valid as long as
  /// this object exists. Call this function on the client's thread.
  std::vector<ProcedureReport> procedures() const { return core_->procedures(); }
  /// The credential of calls whose CallOptions have no credential.
  const Credential& credential() const noexcept { return options_.credential; }

  /// Calls P. The token's signature is void(error_code, Decoded<P::Result>). The handler runs on its associated
  /// executor, by default on the client's thread. `args` is needed only until this function returns. Memory to which
  /// its bulk_data members refer (set_parts()) must stay valid until completion.
  ///
  /// The token's cancellation slot cancels the call. Emit its signal on the client's thread or, with
  /// ClientOptions::context_owner, on one thread of the caller's choice.
  ///
  /// Errors: RpcError, TransportError, FabricError, over TCP also errors of the system, and these of BaseError:
  /// - deadline_exceeded, cancelled, out_of_memory;
  /// - invalid_argument: CallOptions::results has buffers for more results than P has eligible results, or less room
  ///   for a result than P's bound for this result.
  template <Procedure P, class Token>
  auto async_call(const typename P::Args& args, const CallOptions& options, Token&& token) {
    using Reply = Decoded<typename P::Result>;
    error_code failed;
    ClientCore::Lease call = core_->lease();
    fill(*call, P::max_reply(args), P::kInfo, options, failed);
    if (!failed) failed = call->prepare(header<P>(*call, options), &encode_args<P>, &args);
    return boost::asio::async_initiate<Token, void(error_code, Reply)>(
        [core = core_, failed](auto handler, ClientCore::Lease lease) {
          start<P>(*core, std::move(lease), failed, std::move(handler));
        },
        token, std::move(call));
  }
  /// As async_call() above, with default options.
  template <Procedure P, class Token>
  auto async_call(const typename P::Args& args, Token&& token) {
    return async_call<P>(args, CallOptions{}, std::forward<Token>(token));
  }

 private:
  friend class ReverseClient;  // decodes replies in the same way
  template <Procedure P>
  static bool encode_args(xdr::Encoder& out, const void* args) {
    return out.encode(&P::xdr_args, *static_cast<const typename P::Args*>(args));
  }
  template <Procedure P>
  CallHeader header(const ClientCall& call, const CallOptions& options) const {
    return {call.xid,         kRpcVersion,     P::kInfo.program,
            P::kInfo.version, P::kInfo.number, options.credential ? *options.credential : options_.credential};
  }
  void fill(ClientCall& call, ReplyBound bound, const ProcedureInfo& info, const CallOptions& options,
            error_code& failed);

  template <Procedure P>
  static error_code decode_results(xdr::Decoder& in, Decoded<typename P::Result>& reply) noexcept {
    if (reply.decode(in, &P::xdr_result) && in.finish()) return {};
    reply.reset();
    return in.failure() == xdr::DecodeFailure::malformed ? RpcError::bad_reply : RpcError::bad_reduction;
  }

  using TrackedExecutor = std::decay_t<decltype(boost::asio::prefer(std::declval<ClientCore::Executor>(),
                                                                    boost::asio::execution::outstanding_work.tracked))>;

  /// The executor of an io_context that `executor` is or, as with coroutines, holds; null if it is of another kind.
  /// dispatch() to an any_io_executor allocates memory for the function, and dispatch() to the executor that it holds
  /// does not.
  template <class Executor>
  static const TrackedExecutor* of_context(const Executor& executor) noexcept {
    if constexpr (std::is_same_v<Executor, boost::asio::any_io_executor>)
      return executor.template target<TrackedExecutor>();
    else if constexpr (std::is_same_v<Executor, TrackedExecutor>)
      return &executor;
    else
      return nullptr;
  }
  /// Whether dispatch() to `executor` runs a function before it returns.
  static bool runs_at_once(const TrackedExecutor& executor) noexcept {
    constexpr boost::asio::execution::blocking_t kBlocking;
    return executor.running_in_this_thread() && boost::asio::query(executor, kBlocking) == kBlocking.possibly;
  }

  template <Procedure P, class Handler>
  static void start(ClientCore& core, ClientCore::Lease lease, error_code failed, Handler handler) {
    namespace asio = boost::asio;
    ClientCall* call = lease.get();
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected() && core.any_thread()) {
      slot.assign(core.canceller(*call));
      // The handler's cancellation slot belongs to the caller's thread. The completion below may run on another thread,
      // and must not clear that slot. Therefore the local copy `slot` is reset. The canceller stays in the handler's
      // slot, and does nothing once the call has ended.
      slot = {};
    } else if (slot.is_connected()) {
      slot.assign([&core, call](asio::cancellation_type) { core.cancel(*call); });
    }
    auto work = asio::prefer(asio::get_associated_executor(handler, core.executor()),
                             asio::execution::outstanding_work.tracked);
    core.start(std::move(lease), failed,
               [call, handler = std::move(handler), work = std::move(work), slot](error_code status,
                                                                                  xdr::Decoder* in) mutable {
                 if (slot.is_connected()) slot.clear();
                 Decoded<typename P::Result> reply;
                 if (!status) status = decode_kept<P>(*in, reply);
                 if (!status) call->count_status(status_of(*reply));
                 const TrackedExecutor* const executor = of_context(work);
                 // Dispatch moves the function several times. Without the result in it, that is fast.
                 if (executor != nullptr && runs_at_once(*executor))
                   return asio::dispatch(*executor, [&] { std::move(handler)(status, std::move(reply)); });
                 auto deliver = [handler = std::move(handler), status, reply = std::move(reply)]() mutable {
                   std::move(handler)(status, std::move(reply));
                 };
                 if (executor != nullptr) return asio::dispatch(*executor, std::move(deliver));
                 asio::dispatch(work, std::move(deliver));
               });
  }
  template <Procedure P>
  static error_code decode_kept(xdr::Decoder& in, Decoded<typename P::Result>& reply) noexcept {
    MessageCopy copy;
    in.set_keeper(&copy);
    const error_code status = decode_results<P>(in, reply);
    in.set_keeper(nullptr);
    if (!status) reply.hold(copy.release());
    return status;
  }

  std::shared_ptr<ClientCore> core_;
  ClientOptions options_;
};

}  // namespace rpcrdma::rpc
