// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The service of a client that accepts calls from its server (RFC 8167).
#include <memory>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/responder/responder.hpp"

namespace rpcrdma::transport {

/// Serves reverse calls, which the server sends to the client. The service answers a call that has chunks by ERR_CHUNK
/// (RFC 8167 section 5.3), unless the call has version two and the service has a bulk budget. Make the service on the
/// client's thread, before the client announces to the server that it accepts calls. While the service exists, the
/// client connects again whenever it loses its connection. After Client::close(), it does so only while forward calls
/// wait for a connection.
class RPCRDMA_EXPORT ReverseService {
 public:
  /// Makes a service that passes the calls of the server to `handler`. The service and `handler` must outlive `client`.
  /// The service grants up to `credits` credits, but not more than ConnectionOptions::reverse_credits.
  ///
  /// `connected` is called for each new connection. It may submit a call that tells the server that this connection
  /// accepts reverse calls.
  ///
  /// `bulk_budget`: the maximum number of bulk bytes that all calls together may hold at once. Long calls have a second
  /// budget of the same size. If `bulk_budget` is not 0, the client announces BKRQSUP_GENL on a connection of version
  /// two, and calls may have chunks of up to `bulk_budget` bytes.
  static std::unique_ptr<ReverseService> make(Client& client, CallHandler& handler, std::uint32_t credits, Log log,
                                              UniqueFunction<void()> connected = {}, std::uint32_t bulk_budget = 0);
  virtual ~ReverseService() = default;
  /// The number of calls that are not over: not delivered yet, held by the handler, or with a reply being sent.
  virtual std::size_t calls() const noexcept = 0;
  /// To be called after the client has been destroyed. Runs `over` once, when calls() is 0. `over` may destroy the
  /// service. It runs from the io_context, but it may run before retire() returns if the server has sent no call.
  virtual void retire(UniqueFunction<void()> over) = 0;
};

}  // namespace rpcrdma::transport
