// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The requester of a server: sends calls to the client on the connection that the client made (RFC 8167). The responder
// creates this requester.
#include <memory>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/requester/requester.hpp"

namespace rpcrdma::transport {

class Connection;
struct Received;

/// Sends the calls of a server to its client on one connection. The calls have no chunks (RFC 8167 section 5.3), unless
/// the client uses version two and is known to accept reverse calls with chunks.
///
/// If the calls have no chunks, a call that exceeds the inline threshold fails with TransportError::call_too_long. A
/// call whose largest possible reply exceeds the inline threshold fails with TransportError::reply_too_long.
///
/// Up to 1024 calls wait until they can be sent. A further call fails with BaseError::out_of_memory. When the
/// connection is lost, the calls in progress fail with TransportError::connection_lost. Later calls fail as well,
/// because a server cannot connect to its client.
///
/// Used on the connection's thread, except for connected(). The last reference may be dropped anywhere on that thread,
/// even in Call::done(). Calls in progress then complete with BaseError::cancelled, and the object is destroyed from
/// the io_context.
class RPCRDMA_EXPORT ReverseRequester : public Requester {
 public:
  static std::shared_ptr<ReverseRequester> make(Connection& connection);

  /// To be called when the client has announced, through the upper layer, that it accepts calls (RFC 8167 section 6).
  /// Before that, calls fail with TransportError::reverse_disabled. If ConnectionOptions::reverse_credits is 0, they
  /// always fail with this error.
  virtual void allow() noexcept = 0;
  virtual bool allowed() const noexcept = 0;
  /// False once the connection has ended. May be called on any thread.
  virtual bool connected() const noexcept = 0;

  // The owner of the connection calls these functions when a message arrives, a batch ends or the connection is lost.
  virtual void on_reply(Received& message) = 0;
  virtual void on_peer_error(Received& message) = 0;
  virtual void on_batch_end() = 0;
  virtual bool expects(std::uint32_t xid) const noexcept = 0;
  virtual void lost() = 0;
};

}  // namespace rpcrdma::transport
