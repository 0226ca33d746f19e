// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A client's side of a service: one connection at a time, made anew when it is lost, and the requester on it.
#include <chrono>
#include <memory>

#include "rpcrdma/base/log.hpp"
#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/connection/options.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/requester/requester.hpp"
#include "rpcrdma/wire/error.hpp"

namespace rpcrdma::transport {

class Connection;
struct Received;

/// Takes the calls that a server sends to its client (RFC 8167). The responder implements it.
class CallSink {
 public:
  /// The client has connected, or connected again: a server knows a connection that takes reverse calls by what the
  /// layer above tells it on that connection.
  virtual void on_connected() noexcept {}
  /// A reverse call; may be moved from. On the client's thread.
  virtual void on_call(Connection& connection, Received& message) noexcept = 0;
  /// A message that is no reply to a call of ours, and cannot be processed.
  virtual void on_bad_message(Connection& connection, wire::WireError error, Received& message) noexcept = 0;
  /// The connection is gone, and with it everything posted on it.
  virtual void on_lost() noexcept = 0;
  /// A batch of completions is over.
  virtual void on_batch_end() noexcept {}

 protected:
  ~CallSink() = default;
};

struct ClientOptions {
  ConnectionOptions connection;
  /// Wait between attempts to connect: grows by two from the first to the last, with jitter.
  std::chrono::milliseconds first_backoff{50};
  std::chrono::milliseconds last_backoff{5000};
  /// When a call passes its deadline and nothing has come from the server for this long, the connection is
  /// given up and made anew: the server may be gone without a word.
  std::chrono::milliseconds silence{10000};
  /// How long a call that is cancelled or past its deadline waits for the server to be done with its memory (a
  /// transfer under way, our Send not taken); then the connection is ended, which frees the memory at once.
  std::chrono::milliseconds grace{1000};
  /// Largest call message that may be sent as a Position-Zero Read chunk, in octets.
  std::uint32_t max_long_call = 1u << 20;
  /// Most windows and Reply chunk memory follow from the credits; this bounds the waiting queue.
  std::uint32_t max_waiting = 1u << 16;
};

/// Connects on the first submit() and keeps the connection. Uses `fabric` and `pool` on the fabric's thread;
/// both outlive it, and any Call::done() in progress. Destroying it ends the connection at once; calls still queued
/// complete with BaseError::cancelled before the destructor returns. Call::done() may destroy it.
class Client {
 public:
  static std::unique_ptr<Client> make(fabric::Fabric& fabric, memory::Pool& pool, const fabric::Endpoint& server,
                                      ClientOptions options, Log log);
  virtual ~Client() = default;
  virtual Requester& requester() noexcept = 0;
  /// Ends the connection in good order once no call is outstanding; `handler` runs when it is gone.
  virtual void close(UniqueFunction<void()> handler) = 0;
  /// What the last failed attempt to connect reported; success while connected.
  virtual error_code last_error() const noexcept = 0;
  virtual bool connected() const noexcept = 0;
  /// Takes reverse calls from now on, outlives the client, and keeps it connected: a connection that is lost is made
  /// again also when no call waits (RFC 8167 section 5.4). Null: reverse calls are discarded (section 6).
  virtual void set_call_sink(CallSink* sink) noexcept = 0;
};

}  // namespace rpcrdma::transport
