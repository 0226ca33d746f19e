// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// One RPC being served, as its handler sees it.
#include <boost/asio/async_result.hpp>
#include <boost/container/small_vector.hpp>

#include "rpcrdma/rpc/message.hpp"
#include "rpcrdma/rpc/procedure.hpp"
#include "rpcrdma/rpc/server_call_state.hpp"

namespace rpcrdma::rpc {

/// A call of procedure P, to be answered exactly once: by reply() or reject(). Dropped unanswered, it answers
/// SYSTEM_ERR. Moves, does not copy. It may be moved to, answered on and destroyed on any thread; what is marked
/// "loop" belongs to the thread of context(). The Dispatcher and its io_context outlive it.
template <Procedure P>
class ServerCall {
 public:
  using Args = typename P::Args;
  using Result = typename P::Result;

  ServerCall() noexcept = default;
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

  /// False once it has been answered or moved from; then nothing else may be called.
  explicit operator bool() const noexcept { return state_ != nullptr; }

  /// The arguments; what they point at stays valid until the call is answered, on any thread.
  const Args& args() const noexcept { return state_->args; }
  const Credential& credential() const noexcept { return state_->header().credential; }
  std::uint32_t xid() const noexcept { return state_->header().xid; }
  /// The caller's address and port. Any thread.
  const fabric::Endpoint& peer() const noexcept { return state_->call().connection().peer; }
  /// Whether the call came by TCP, not by RDMA. Any thread.
  bool over_tcp() const noexcept { return state_->call().over_tcp(); }
  boost::asio::io_context& context() const noexcept { return state_->call().context(); }

  /// Loop. The call as the transport sees it: pool(), write_chunks(), reserve_bulk(), pull().
  transport::IncomingCall& transport() const noexcept { return state_->call(); }
  /// Loop. Registered memory for bulk data.
  memory::Pool& pool() const noexcept { return state_->call().pool(); }
  /// Octets that fit each Write chunk that the client offers. Any thread.
  std::span<const std::uint32_t> write_chunks() const noexcept { return state_->call().write_chunks(); }

  /// Loop. Waits until `octets` of the server's bulk budget are free, in order of asking; they belong to this call
  /// until its reply has been sent. Once a call. Completes with void(error_code), at once when there is room. The call
  /// stays where it is until then: for coroutines. With callbacks use the free function async_reserve().
  template <class Token>
  auto async_reserve(std::uint32_t octets, Token&& token) {
    return async_reserve_on(state_->call(), octets, std::forward<Token>(token));
  }
  /// Loop. Brings an argument's data into `destination`, registered memory of at least data.length octets that stays
  /// valid until completion with void(error_code): by RDMA Read if the client reduced it, else by copying. Once for
  /// each argument. The data may be large: reserve first. The call stays where it is, as above.
  template <class Token>
  auto async_fetch(const bulk_data& data, std::span<const BufferRef> destination, Token&& token) {
    return async_fetch_on(state_->call(), data, destination, std::forward<Token>(token));
  }

  /// Answers the call. Memory that `result` points at stays valid and unchanged until `release` has run (on the
  /// loop, with the outcome), which is why `release` usually owns it. A result that cannot be encoded answers
  /// SYSTEM_ERR. Any thread; from another one than the loop's it is posted there.
  void reply(const Result& result, ReleaseHandler release = {}) {
    TypedServerCallState<P>* state = std::exchange(state_, nullptr);
    state->result = result;
    state->reply(std::move(release));
  }
  /// Answers without a result: with an accept_stat other than success. Any thread.
  void reject(AcceptStat why) { std::exchange(state_, nullptr)->reject(why); }
  /// Answers AUTH_ERROR. Any thread.
  void reject(AuthStat why) { std::exchange(state_, nullptr)->reject(why); }

 private:
  void drop() noexcept {
    if (state_ != nullptr) std::exchange(state_, nullptr)->drop();
  }

  TypedServerCallState<P>* state_ = nullptr;
};

/// Loop. As ServerCall::async_reserve(); `handler` is void(error_code, ServerCall<P>) and gets the call back.
template <Procedure P, class Handler>
void async_reserve(ServerCall<P> call, std::uint32_t octets, Handler handler) {
  transport::IncomingCall& transport = call.transport();
  transport.reserve_bulk(octets, [call = std::move(call), handler = std::move(handler)](error_code status) mutable {
    handler(status, std::move(call));
  });
}

/// Loop. As ServerCall::async_fetch(); `handler` is void(error_code, ServerCall<P>) and gets the call back. `data` is
/// a part of the call's args().
template <Procedure P, class Handler>
void async_fetch(ServerCall<P> call, const bulk_data& data, std::span<const BufferRef> destination, Handler handler) {
  transport::IncomingCall& transport = call.transport();
  fetch(transport, data, destination,
        [call = std::move(call), handler = std::move(handler)](error_code status) mutable {
          handler(status, std::move(call));
        });
}

}  // namespace rpcrdma::rpc
