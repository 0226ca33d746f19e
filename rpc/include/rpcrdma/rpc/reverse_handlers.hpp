// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Typed handlers of the calls that a server makes to its client (RFC 8167).
//
//     rpc::ReverseHandlers handlers(*connection, {.announce = [&] { client.async_call<Subscribe>(...); }});
//     handlers.on<Changed>([](rpc::ServerCall<Changed> call) { ...; call.reply({}); });
//     client.async_call<...>(...);  // connects
#include <memory>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"

namespace rpcrdma::rpc {

/// Options of a client that serves calls of its server.
struct ReverseHandlersOptions {
  /// The maximum number of calls of the server in progress at once, at most ConnectionOptions::reverse_credits; 0 means
  /// reverse_credits.
  std::uint32_t credits = 0;
  /// Runs on the client's thread for each new connection, including the first. It usually makes the call that tells the
  /// server that it may send calls on this connection (RFC 8167 section 6). Handlers of an earlier connection may still
  /// be running.
  UniqueFunction<void()> announce{};
  /// The maximum number of bytes of chunks that calls of the server may hold at once. It is also the maximum size of
  /// one chunk. Long calls have a second budget of the same size. 0 allows only calls without chunks. RPC-over-RDMA
  /// version one has no reverse calls with chunks.
  std::uint32_t bulk_budget = 1u << 20;
  Log log{};  ///< copied
};

/// Serves the reverse calls that arrive on the connections of one transport::Client. The handlers run on the client's
/// thread and have the forms that Dispatcher::on() accepts.
///
/// Connections. The client makes its first connection at its first call or at connect(). While this object exists, the
/// client reconnects when its connection is lost, even if it has no waiting call. It does not reconnect after
/// Client::close().
///
/// Lifetime. Destroy this object after the client, and either on the client's thread or when no thread runs the
/// io_context. Calls that handlers still hold at that time stay valid, but their replies are dropped.
///
/// Sizes. With RPC-over-RDMA version one, a reverse call and its reply must each fit the inline threshold (RFC 8167
/// section 5.3). A call of this version that has chunks, or whose reply does not fit, is answered by ERR_CHUNK. With
/// version two both may be long, within `bulk_budget`. A server of this library keeps DDP-eligible items in the
/// message, without chunks of their own.
///
/// Repetition. A reverse call ends when its connection is lost. It is not sent again on the next connection.
class RPCRDMA_EXPORT ReverseHandlers {
 public:
  /// Construct this object on the thread of `client`, before `client` makes its first call.
  explicit ReverseHandlers(transport::Client& client, ReverseHandlersOptions options = {});
  ~ReverseHandlers();
  ReverseHandlers(const ReverseHandlers&) = delete;
  ReverseHandlers& operator=(const ReverseHandlers&) = delete;

  /// Serves P with `handler`. Call it before the client's first call or connect().
  template <Procedure P, class Handler>
  void on(Handler handler, AuthRequirement auth = P::kInfo.auth) {
    dispatcher().template on<P>(std::move(handler), auth);
  }
  /// The dispatcher of the handlers, for its counters.
  Dispatcher& dispatcher() noexcept;
  /// The number of calls that are not over: not delivered yet, held by a handler, or with a reply being sent.
  std::size_t calls() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::rpc
