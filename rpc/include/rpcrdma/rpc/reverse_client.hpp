// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Typed calls from a server to a client, on the connection that the client made (RFC 8167).
//
//     dispatcher.on<Subscribe>([&](rpc::ServerCall<Subscribe> call) {
//       subscribers.push_back(call.reverse_client());  // the client is ready: it has called Subscribe
//       call.reply({});
//     });
//     auto reply = co_await subscriber.call<Changed>({.version = 7}, asio::use_awaitable);
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <memory>

#include "rpcrdma/responder/responder.hpp"
#include "rpcrdma/rpc/client.hpp"
#include "rpcrdma/rpc/reverse_calls.hpp"

namespace rpcrdma::rpc {

/// A handle to the client at the other end of a connection. Copies share one state. When the connection ends, the
/// handle stays valid but is dead: all calls fail with TransportError::connection_lost, including those in progress.
/// The client's next connection needs another handle. The handle may be copied, and calls may be made, on any thread
/// while the io_context of the connection exists; the handle may be destroyed at any time.
///
/// With RPC-over-RDMA version one, reverse calls are short (RFC 8167 section 5.3): the call and the largest reply that
/// P's bound allows, each with a transport header of 28 bytes, must fit the inline thresholds of the connection.
/// With version two they may be long if the client has announced that it accepts chunks (BKRQSUP_GENL). A client of
/// this library announces this after the reply to its first call, if ReverseHandlersOptions::bulk_budget is not 0.
/// Eligible items are never placed directly: they are part of the message. At most ConnectionOptions::reverse_credits
/// calls are in flight at once; further calls wait in order.
class ReverseClient {
 public:
  /// A handle without a client: only copying, assignment, destruction and operator bool are allowed.
  ReverseClient() noexcept = default;
  /// Makes a handle to the client that has sent `call`. Make one only if this client has announced in the upper-layer
  /// protocol, for example by a call, that it accepts reverse calls (RFC 8167 section 6). While a handle exists, the
  /// connection does not count as idle (RFC 8167 section 5.4). Called on the thread of `call`.
  explicit ReverseClient(transport::IncomingCall& call, ReverseOptions options = {})
      : calls_(ReverseCalls::make(call, std::move(options))) {}

  explicit operator bool() const noexcept { return calls_ != nullptr; }
  /// False once the connection has ended, and over TCP, where there are no reverse calls. May be called on any thread.
  bool alive() const noexcept { return calls_->alive(); }
  /// Counters of all reverse calls on the connection; zero over TCP, or if the connection was lost before this handle
  /// was made. Called on the connection's thread.
  transport::Requester::Counters counters() const noexcept { return calls_->counters(); }
  /// The executor of the connection. May be called on any thread.
  ClientCore::Executor get_executor() const noexcept { return calls_->executor(); }

  /// Calls P on the client. The token's signature is void(error_code, Decoded<P::Result>). The handler runs on its
  /// associated executor, by default on the connection's executor. `args` is needed only until this function returns.
  /// If this function is called on a thread other than the connection's, it posts the call to the connection's thread.
  /// This object may be destroyed while calls are in progress. The token's cancellation slot cancels the call. Emit its
  /// signal on the executor on which the handler runs.
  ///
  /// Errors, in addition to those of Client::async_call():
  /// - TransportError::call_too_long, reply_too_long: the call, or the largest reply that P allows, is too long for the
  ///   client. The call was not sent.
  /// - TransportError::connection_lost.
  /// - TransportError::reverse_disabled: reverse calls are off, for example because the client uses TCP.
  /// - BaseError::out_of_memory: the call exceeds one of the limits described at ReverseOptions::max_calls.
  /// - BaseError::invalid_argument: `options` has memory for results, which reverse calls cannot use.
  template <Procedure P, class Token = boost::asio::deferred_t>
  auto call(const typename P::Args& args, const CallOptions& options, Token&& token = Token()) const {
    ReverseCalls::Prepared prepared = calls_->prepare(P::kInfo, P::max_reply(args), options, &encode_args<P>, &args);
    return boost::asio::async_initiate<Token, void(error_code, Decoded<typename P::Result>)>(
        [calls = calls_](auto handler, ReverseCalls::Prepared ready) {
          start<P>(calls, std::move(ready), std::move(handler));
        },
        token, std::move(prepared));
  }
  /// As call() above, with default options.
  template <Procedure P, class Token = boost::asio::deferred_t>
  requires(!std::is_same_v<std::remove_cvref_t<Token>, CallOptions>) auto call(const typename P::Args& args,
                                                                               Token&& token = Token()) const {
    return call<P>(args, CallOptions{}, std::forward<Token>(token));
  }

 private:
  template <Procedure P>
  static bool encode_args(xdr::Encoder& out, const void* args) {
    return out.encode(&P::xdr_args, *static_cast<const typename P::Args*>(args));
  }

  template <Procedure P, class Handler>
  static void start(const std::shared_ptr<ReverseCalls>& calls, ReverseCalls::Prepared call, Handler handler) {
    namespace asio = boost::asio;
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected()) {
      call.ticket = std::make_shared<ReverseCalls::Ticket>();
      slot.assign([calls, ticket = call.ticket](asio::cancellation_type) { calls->cancel(ticket); });
    }
    auto work = asio::prefer(asio::get_associated_executor(handler, calls->executor()),
                             asio::execution::outstanding_work.tracked);
    calls->start(std::move(call), [handler = std::move(handler), work = std::move(work), slot](
                                      error_code status, xdr::Decoder* in) mutable {
      Decoded<typename P::Result> reply;
      if (!status) status = Client::decode_kept<P>(*in, reply);
      asio::dispatch(work, [handler = std::move(handler), slot, status, reply = std::move(reply)]() mutable {
        if (slot.is_connected()) slot.clear();
        std::move(handler)(status, std::move(reply));
      });
    });
  }

  std::shared_ptr<ReverseCalls> calls_;
};

}  // namespace rpcrdma::rpc
