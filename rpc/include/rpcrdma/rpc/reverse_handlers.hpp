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

/// Serves reverse calls on the connections of one transport::Client, on its thread. The first call or connect() of the
/// client makes the first connection. While this object exists, the client reconnects when its connection is lost, even
/// if it has no waiting call, except after Client::close(). Destroy this object after the client, on the client's
/// thread or when no thread runs the io_context. Calls that handlers still hold then stay valid; their replies are
/// dropped.
///
/// Handlers have the forms that Dispatcher::on() accepts. With RPC-over-RDMA version one, calls and replies are short
/// (RFC 8167 section 5.3): a call with chunks is answered by ERR_CHUNK, and so is a call whose reply exceeds the inline
/// threshold. With version two both may be long, within `bulk_budget`. Eligible items are never placed directly: they
/// are part of the message. Calls are not repeated, as a reverse call ends with its connection.
class RPCRDMA_EXPORT ReverseHandlers {
 public:
  /// Called on the thread of `client`, before its first call.
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
