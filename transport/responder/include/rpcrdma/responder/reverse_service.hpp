// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The service of a client that accepts calls from its server (RFC 8167).
#include <memory>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/responder/responder.hpp"

namespace rpcrdma::transport {

/// Serves reverse calls. Calls with chunks are answered by ERR_CHUNK (RFC 8167 section 5.3), except calls of version
/// two if there is a bulk budget. Make the service on the client's thread, before the client announces to the server
/// that it accepts calls. While the service exists, the client connects again when its connection is lost, until
/// Client::close() is called.
class RPCRDMA_EXPORT ReverseService {
 public:
  /// Passes the calls that the server sends to `client` on to `handler`. The service and `handler` must outlive the
  /// client. Grants up to `credits`, within ConnectionOptions::reverse_credits. `connected` runs on each new
  /// connection: it may submit the call that announces to the server that this connection accepts reverse calls.
  /// `bulk_budget`: the maximum number of bulk bytes that all calls together may hold at once; long calls have another
  /// budget of this size. If it is not 0, the client announces BKRQSUP_GENL on a connection of version two, and calls
  /// may have chunks of up to this size.
  static std::unique_ptr<ReverseService> make(Client& client, CallHandler& handler, std::uint32_t credits, Log log,
                                              UniqueFunction<void()> connected = {}, std::uint32_t bulk_budget = 0);
  virtual ~ReverseService() = default;
  /// The number of calls that are not over: not delivered yet, held by the handler, or with a reply being sent.
  virtual std::size_t calls() const noexcept = 0;
  /// To be called after the client has been destroyed. Runs `over`, which may destroy the service, when no call is
  /// left: from the io_context, or perhaps at once if no call has ever arrived.
  virtual void retire(UniqueFunction<void()> over) = 0;
};

}  // namespace rpcrdma::transport
