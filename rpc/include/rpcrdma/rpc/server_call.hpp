// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The handler's view of one RPC.
#include <boost/asio/async_result.hpp>
#include <boost/container/small_vector.hpp>

#include "rpcrdma/rpc/message.hpp"
#include "rpcrdma/rpc/procedure.hpp"
#include "rpcrdma/rpc/reverse_client.hpp"
#include "rpcrdma/rpc/server_call_state.hpp"

namespace rpcrdma::rpc {

/// A call of procedure P, to be answered exactly once, by reply() or reject().
///
/// A ServerCall that is destroyed unanswered answers SYSTEM_ERR. Whether the procedure then counts as run depends on
/// its bulk arguments:
/// - Usually the procedure counts as run, and a repeated call receives the same answer.
/// - If an async_fetch() or async_reserve() has failed, for example because the connection was lost, and no
///   async_fetch() has succeeded, the procedure counts as not run, and a repeated call is run.
/// - After a successful async_fetch() it counts as run even if a later step has failed, because the handler may have
///   acted on the data. A handler that has not acted should call reject().
///
/// A handler that acts before its first async_fetch() must answer a failure by reply(). Idempotent procedures are run
/// whenever they arrive.
///
/// Move-only. Any thread may move, answer and destroy it; some functions belong to the thread of context().
/// The Dispatcher and its io_context must outlive it.
template <Procedure P>
class ServerCall {
 public:
  using Args = typename P::Args;      ///< arguments of P
  using Result = typename P::Result;  ///< results of P

  ServerCall() noexcept = default;
  /// Called by the Dispatcher.
  explicit ServerCall(TypedServerCallState<P>& state) noexcept : state_(&state) {}
  ServerCall(ServerCall&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  ServerCall& operator=(ServerCall&& other) noexcept {
    if (this != &other) {
      drop();
      state_ = std::exchange(other.state_, nullptr);
    }
    return *this;
  }
  ~ServerCall() { drop(); }

  /// False if the call has been answered or moved from; then no other function may be called.
  explicit operator bool() const noexcept { return state_ != nullptr; }

  /// The arguments. The memory that they point to stays valid until the call is answered. May be called on any thread.
  const Args& args() const noexcept { return state_->args; }
  /// The identity that the caller claims. Valid until the call is answered. May be called on any thread.
  const Credential& credential() const noexcept { return state_->header().credential; }
  /// The transaction id that the caller chose (RFC 5531 section 9). May be called on any thread.
  std::uint32_t xid() const noexcept { return state_->header().xid; }
  /// The address and port of the caller. May be called on any thread.
  const fabric::Endpoint& peer() const noexcept { return state_->call().connection().peer; }
  /// The subject of log lines about this call, for Log::about(). May be called on any thread.
  LogSubject subject() const noexcept { return state_->call().connection().subject(xid()); }
  /// True if the call came over TCP, false over RDMA. May be called on any thread.
  bool over_tcp() const noexcept { return state_->call().over_tcp(); }
  /// Statistics of the call's connection since it was accepted; all zero if it is lost. Called on the thread of
  /// context().
  transport::ConnectionStatistics statistics() const noexcept { return state_->call().statistics(); }
  /// The event loop of the call's connection. May be called on any thread.
  boost::asio::io_context& context() const noexcept { return state_->call().context(); }

  /// The transport's interface to the call, with functions such as reserve_bulk() and pull(). Called on the thread of
  /// context().
  transport::IncomingCall& transport() const noexcept { return state_->call(); }
  /// Registered memory for bulk data. Called on the thread of context().
  memory::Pool& pool() const noexcept { return state_->call().pool(); }
  /// The size in bytes of each Write chunk that the client offers. May be called on any thread.
  std::span<const std::uint32_t> write_chunks() const noexcept { return state_->call().write_chunks(); }

  /// Returns a handle for reverse calls to the client that made this call. The handle stays valid after this call has
  /// been answered. Use this function only if the client has announced that it accepts reverse calls. If this call came
  /// over TCP, reverse calls through the handle fail with TransportError::reverse_disabled. Called on the thread of
  /// context().
  ReverseClient reverse_client(ReverseOptions options = {}) const {
    return ReverseClient(state_->call(), std::move(options));
  }

  /// Reserves `bytes` of the server's bulk budget for this call, which holds them until its reply has been sent. May be
  /// called once per call, on the thread of context(). Completes with void(error_code), perhaps before this function
  /// returns. This object must not move until completion. In a coroutine, use this function with co_await. With
  /// callbacks, use the free function async_reserve(), which keeps the call until completion.
  template <class Token>
  auto async_reserve(std::uint32_t bytes, Token&& token) {
    return async_reserve_on(*state_, bytes, std::forward<Token>(token));
  }
  /// Called on the thread of context(). Transfers an argument's data to `destination`: by RDMA Read if the client
  /// reduced the argument, else by copying. `destination` is registered memory of at least data.length bytes. It must
  /// stay valid until completion with void(error_code). May be called once per argument. Call async_reserve() first, as
  /// the data may be large. This object must not move until completion.
  template <class Token>
  auto async_fetch(const bulk_data& data, std::span<const BufferRef> destination, Token&& token) {
    return async_fetch_on(*state_, data, destination, std::forward<Token>(token));
  }

  /// Answers the call with `result`. May be called on any thread. `release` runs on the thread of context(), with the
  /// outcome, perhaps before this function returns. Memory that `result` points to must stay valid and unchanged until
  /// `release` has run. For this reason `release` usually owns that memory.
  ///
  /// If `result` cannot be encoded, or memory for the reply is missing, the client gets SYSTEM_ERR instead. If the
  /// client has not provided enough room for the reply, it gets an RDMA_ERROR with ERR_CHUNK.
  void reply(const Result& result, ReleaseHandler release = {}) {
    TypedServerCallState<P>* state = std::exchange(state_, nullptr);
    state->result = result;
    state->reply(std::move(release));
  }
  /// Answers with an accept_stat other than success. The procedure counts as not run: a repeated call is run.
  /// May be called on any thread.
  void reject(AcceptStat why) { std::exchange(state_, nullptr)->reject(why); }
  /// Answers AUTH_ERROR; otherwise like reject(AcceptStat). May be called on any thread.
  void reject(AuthStat why) { std::exchange(state_, nullptr)->reject(why); }

  /// Called by async_reserve().
  void note_reserved(error_code status) noexcept { state_->note_reserved(status); }
  /// Called by async_fetch().
  void note_fetched(error_code status) noexcept { state_->note_fetched(status); }

 private:
  void drop() noexcept {
    if (state_ != nullptr) std::exchange(state_, nullptr)->drop();
  }

  TypedServerCallState<P>* state_ = nullptr;
};

/// Does the same as ServerCall::async_reserve(), but takes ownership of `call`. On completion it passes `call` on to
/// `handler`, which has the signature void(error_code, ServerCall<P>). To be called on the thread of the call's
/// context().
template <Procedure P, class Handler>
void async_reserve(ServerCall<P> call, std::uint32_t bytes, Handler handler) {
  transport::IncomingCall& transport = call.transport();
  transport.reserve_bulk(bytes, [call = std::move(call), handler = std::move(handler)](error_code status) mutable {
    call.note_reserved(status);
    handler(status, std::move(call));
  });
}

/// Does the same as ServerCall::async_fetch(), but takes ownership of `call`. On completion it passes `call` on to
/// `handler`, which has the signature void(error_code, ServerCall<P>). `data` is part of the call's args(). To be
/// called on the thread of the call's context().
template <Procedure P, class Handler>
void async_fetch(ServerCall<P> call, const bulk_data& data, std::span<const BufferRef> destination, Handler handler) {
  transport::IncomingCall& transport = call.transport();
  fetch(transport, data, destination,
        [call = std::move(call), handler = std::move(handler)](error_code status) mutable {
          call.note_fetched(status);
          handler(status, std::move(call));
        });
}

}  // namespace rpcrdma::rpc
