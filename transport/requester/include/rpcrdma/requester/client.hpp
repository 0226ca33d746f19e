// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The client side of a service: a requester on one connection at a time. A lost connection is re-established when calls
// or a reverse service need it.
#include <chrono>
#include <memory>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/connection/characteristics.hpp"
#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/connection/options.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/requester/requester.hpp"
#include "rpcrdma/wire/error.hpp"

namespace rpcrdma::transport {

class Connection;
struct Received;

/// Receives the calls that a server sends to its client (RFC 8167). The responder implements it.
class RPCRDMA_EXPORT CallSink {
 public:
  /// The client has connected or reconnected. The upper layer must tell the server on each connection whether this
  /// client accepts reverse calls.
  virtual void on_connected(Connection& /*connection*/) noexcept {}
  /// Returns which reverse calls the sink accepts. With version two, the client announces this to the server
  /// (xcharext-01 section 3.3).
  virtual BackwardSupport support() const noexcept { return BackwardSupport::size_limited; }
  /// A reverse call has arrived. This function may move parts of `message` to other objects. It is called on the
  /// client's thread.
  virtual void on_call(Connection& connection, Received& message) noexcept = 0;
  /// A message that cannot be processed and does not have the XID of an outstanding call of this client.
  virtual void on_bad_message(Connection& connection, wire::WireError error, Received& message) noexcept = 0;
  /// The connection has ended or was not made, or the client is being destroyed. Nothing is posted any more.
  virtual void on_lost() noexcept = 0;
  /// Runs after each batch of completions and, at other times, before posted work is submitted.
  virtual void on_batch_end() noexcept {}

 protected:
  ~CallSink() = default;
};

/// Parameters of a client's connections, and limits of its calls.
struct ClientOptions {
  ConnectionOptions connection;  ///< what this side wants for each connection
  /// The upper limit of the first wait between two attempts to connect. The limit doubles with each further attempt, up
  /// to `last_backoff`. Each wait is drawn at random between half of the limit and the limit.
  std::chrono::milliseconds first_backoff{50};
  std::chrono::milliseconds last_backoff{5000};  ///< the highest limit of a wait
  /// If a call passes its deadline and the server has sent nothing for this long, the connection is aborted and
  /// re-established: the server may have vanished without closing the connection. The same happens if calls that were
  /// cancelled or have passed their deadlines hold all credits. The client checks this when a call passes its deadline,
  /// when the `grace` of such a call ends, and when this time has passed since a call was cancelled.
  std::chrono::milliseconds silence{10000};
  /// The longest time for which the end of a call that is cancelled or past its deadline waits for the server. The
  /// memory of such a call may still be in use, because the server transfers data or has not accepted the Send. After
  /// this time the client aborts the connection, so that the memory is no longer used.
  std::chrono::milliseconds grace{1000};
  /// With VersionChoice::automatic: if the server does not support version two, the client does not offer it again for
  /// this time.
  std::chrono::seconds version_memory{600};
  /// Largest call message that may be sent as a Position-Zero Read chunk, in bytes.
  std::uint32_t max_long_call = 1u << 20;
  /// If this many calls wait to be sent, a further call fails with BaseError::out_of_memory. Waiting calls hold no
  /// windows and no Reply chunk memory of the pool. Only calls that have been sent hold them, and the credits limit the
  /// number of these calls.
  std::uint32_t max_waiting = 1u << 16;
};

/// The client of one server. Connects on the first submit() or connect(), and keeps the connection. A client uses its
/// fabric and its pool on the fabric's thread. The fabric and the pool must outlive the client and any Call::done() in
/// progress. Destroying the client ends the connection at once. Each call that is not over then completes before the
/// destructor returns, with BaseError::cancelled unless the outcome of the call is already known. Call::done() may
/// destroy the client.
class RPCRDMA_EXPORT Client {
 public:
  /// A client that is not connected yet. To be called on the fabric's thread.
  static std::unique_ptr<Client> make(fabric::Fabric& fabric, memory::Pool& pool, const fabric::Endpoint& server,
                                      ClientOptions options, Log log);
  virtual ~Client() = default;
  /// The requester through which calls are sent. It is valid until the client is destroyed.
  virtual Requester& requester() noexcept = 0;
  /// Closes the connection in an orderly way once no call is outstanding; `handler` runs when the connection has
  /// ended, unless the client is destroyed first. A second `handler` replaces the first.
  virtual void close(UniqueFunction<void()> handler) = 0;
  /// Why the last attempt to connect failed, or why the last connection ended; success while connected.
  virtual error_code last_error() const noexcept = 0;
  /// Whether the client is connected at present.
  virtual bool connected() const noexcept = 0;
  /// Attempts to connect at once, without a call, unless the client is connected or connecting. The attempt is over
  /// when connecting() is false; last_error() is the outcome.
  virtual void connect() = 0;
  /// Whether an attempt to connect is in progress.
  virtual bool connecting() const noexcept = 0;
  /// The transport characteristics of both sides, in version two. The object is valid until the client is destroyed.
  virtual CharacteristicsExchange& exchange() noexcept = 0;
  /// Passes reverse calls to `sink` from now on. `sink` must outlive the client. While there is a sink, the client
  /// re-establishes a lost connection even if no call waits (RFC 8167 section 5.4), but not after close(). If `sink` is
  /// null, the client discards reverse calls (RFC 8167 section 6).
  virtual void set_call_sink(CallSink* sink) noexcept = 0;
};

}  // namespace rpcrdma::transport
