// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The typed client: asynchronous calls of Procedure types over a transport::Requester (RDMA or TCP).
//
//     rpc::Client client(transport->requester(), context.get_executor());
//     auto reply = co_await client.async_call<nfs3::Getattr>({.object = handle}, {}, asio::use_awaitable);
//     if (reply->status == NFS3_OK) ... reply->GETATTR3res_u.resok.obj_attributes.size
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

struct ClientOptions {
  Credential credential{};                    ///< of calls without their own
  std::chrono::milliseconds timeout{60'000};  ///< of calls without a deadline
  /// Given: calls may be made and cancelled on any thread, which costs a lock, and on other threads than that of the
  /// io_context a post. Keeps whatever owns the io_context alive as long as it may be used.
  std::shared_ptr<void> context_owner{};
};

struct CallOptions {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::optional<Credential> credential;
  /// Registered memory for the DDP-eligible results, one list of buffers per result, in order, each large enough for
  /// the largest result that may come (RFC 8166 section 4.3.2.2). Given: the data is there when the call has succeeded
  /// (bulk_kind::placed), by RDMA Write or, if it came in the message, copied. Not given: it comes in the message.
  /// The memory belongs to the caller, which leaves it alone until the call completes.
  boost::container::small_vector<boost::container::small_vector<BufferRef, 1>, 1> results;

  /// Adds the memory for one result; copies the list, not the memory.
  CallOptions& into(std::span<const BufferRef> result) {
    results.emplace_back(result.begin(), result.end());
    return *this;
  }
  /// Sets the deadline `time` from now.
  CallOptions& within(std::chrono::steady_clock::duration time) {
    deadline = std::chrono::steady_clock::now() + time;
    return *this;
  }
};

/// Makes calls through one Requester, on its thread only, but for async_call() with ClientOptions::context_owner. The
/// destructor cancels its calls: they complete with BaseError::cancelled later, while the requester still exists.
class RPCRDMA_EXPORT Client {
 public:
  /// `executor`: the io_context of the requester. `requester` outlives this object and its calls.
  Client(transport::Requester& requester, ClientCore::Executor executor, ClientOptions options = {})
      : core_(std::make_shared<ClientCore>(requester, std::move(executor), options.context_owner)),
        options_(std::move(options)) {}
  ~Client() {
    if (core_) core_->close();
  }
  Client(Client&&) noexcept = default;
  Client& operator=(Client&&) = delete;

  ClientCore::Executor get_executor() const noexcept { return core_->executor(); }
  /// `handler` runs once no call is in progress, perhaps at once. One at a time, on the client's thread.
  void when_idle(UniqueFunction<void()> handler) { core_->when_idle(std::move(handler)); }
  transport::Requester& requester() noexcept { return core_->requester(); }
  const Credential& credential() const noexcept { return options_.credential; }

  /// Calls P. The token's signature is void(error_code, Decoded<P::Result>). Errors: RpcError, TransportError,
  /// BaseError::deadline_exceeded, cancelled (also by the token's cancellation slot, on the client's thread; with
  /// context_owner on the one thread that uses the slot), invalid_argument (more result buffers than P has eligible
  /// results, or one smaller than P's bound for its result). The handler runs on its associated executor, by default on
  /// the client's thread.
  /// `args` is needed only until this function returns; what bulk_data in it refers to by set_parts() stays valid until
  /// completion.
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
  template <Procedure P, class Token>
  auto async_call(const typename P::Args& args, Token&& token) {
    return async_call<P>(args, CallOptions{}, std::forward<Token>(token));
  }

 private:
  friend class ReverseClient;  // decodes replies alike
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

  template <Procedure P, class Handler>
  static void start(ClientCore& core, ClientCore::Lease lease, error_code failed, Handler handler) {
    namespace asio = boost::asio;
    ClientCall* call = lease.get();
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected() && core.any_thread()) {
      slot.assign(core.canceller(*call));
      slot = {};  // from here on only the caller's thread uses it; what stays in it does nothing
    } else if (slot.is_connected()) {
      slot.assign([&core, call](asio::cancellation_type) { core.cancel(*call); });
    }
    auto work = asio::prefer(asio::get_associated_executor(handler, core.executor()),
                             asio::execution::outstanding_work.tracked);
    core.start(
        std::move(lease), failed,
        [handler = std::move(handler), work = std::move(work), slot](error_code status, xdr::Decoder* in) mutable {
          if (slot.is_connected()) slot.clear();
          Decoded<typename P::Result> reply;
          if (!status) status = decode_kept<P>(*in, reply);
          asio::dispatch(work, [handler = std::move(handler), status, reply = std::move(reply)]() mutable {
            std::move(handler)(status, std::move(reply));
          });
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
