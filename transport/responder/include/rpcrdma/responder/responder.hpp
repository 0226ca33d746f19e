// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Serves calls (RFC 8166): delivers the reduced call, pulls Read chunks of non-zero Position when the handler names
// their destination, writes the Write chunks and the Reply chunk, and sends the reply (by Send with Invalidate if both
// sides permit remote invalidation and the call has chunks).
//
// Threads: everything here, unless a function says otherwise, belongs to the thread of the connection's io_context,
// IncomingCall::context().
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <span>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/payload.hpp"
#include "rpcrdma/base/payload_builder.hpp"
#include "rpcrdma/base/unique_function.hpp"
#include "rpcrdma/connection/call_statistics.hpp"
#include "rpcrdma/connection/characteristics.hpp"
#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/memory/pool.hpp"

namespace rpcrdma::transport {

class ReverseRequester;

/// The number of calls of a connection since it was accepted, and the present state of the connection.
struct ConnectionStatistics {
  std::uint64_t calls = 0;              ///< received
  std::uint32_t calls_in_progress = 0;  ///< calls received and not yet answered
  std::uint32_t credits = 0;            ///< credits that the next reply grants; 0 over TCP, which has no credits
  std::size_t bulk_bytes = 0;           ///< bytes of the server's bulk budget that the connection's calls hold
  Characteristics characteristics{};    ///< the characteristics of both sides, in version two
};

/// One call being served. The responder owns it and lends it to the handler from on_call() until the handler ends it
/// with exactly one of send(), discard() and fail(). It survives the loss of its connection: pulls then complete with
/// an error, and so does send(), which transmits nothing.
class RPCRDMA_EXPORT IncomingCall {
 public:
  /// The XID of the RPC.
  virtual std::uint32_t xid() const noexcept = 0;
  /// The reduced call message. Items are the Read chunks of non-zero Position, in ascending order; the parts of an item
  /// are empty until it has been pulled. If the call is long (Position-Zero Read chunk), at least its first
  /// ServerOptions::first_of_long_call bytes have been pulled before delivery; the length of the payload is that of the
  /// whole message. Valid until the call is ended.
  virtual const Payload& payload() const noexcept = 0;
  /// The connection of the call. Valid until the call is ended, even if the connection is lost. May be called on any
  /// thread.
  virtual const fabric::ConnectionInfo& connection() const noexcept = 0;
  /// Counters of the connection; all zero once it is lost. Called on the thread of context().
  virtual ConnectionStatistics statistics() const noexcept { return {}; }
  /// Counts this call in `statistics`: its size and its chunks now, and later its latency, the time from its arrival
  /// until its reply is submitted to the fabric or to the socket. A call that is not answered has no latency.
  /// `statistics` must outlive the connection. To be called once, on the thread of context().
  virtual void measure(CallStatistics& /*statistics*/) noexcept {}
  /// The transport characteristics of the call's connection. Valid as long as the connection. Null if the connection is
  /// lost, if the server supports version one only, and over TCP. Called on the thread of context().
  virtual CharacteristicsExchange* exchange() noexcept { return nullptr; }
  /// The event loop of the connection. May be called on any thread.
  virtual boost::asio::io_context& context() noexcept = 0;
  /// Registered memory for the data of this call.
  virtual memory::Pool& pool() noexcept = 0;
  /// True if the call arrived as a record of a TCP stream, not by RDMA. May be called on any thread.
  virtual bool over_tcp() const noexcept { return false; }

  /// The size in bytes of each Write chunk offered, in order.
  virtual std::span<const std::uint32_t> write_chunks() const noexcept = 0;

  /// Receives the outcome of an operation, once.
  using Handler = UniqueFunction<void(error_code)>;
  /// Waits for `octets` bytes of the server's bulk budget, which this call holds until it is over. The requests of one
  /// connection are granted in order. Peer addresses, and the connections of an address, take turns, each up to its
  /// fair share (rpcrdma/base/budget.hpp). May be called once per call. Fails with BaseError::out_of_memory if `octets`
  /// exceeds the whole budget. `handler` may run at once.
  virtual void reserve_bulk(std::uint32_t octets, Handler handler) = 0;
  /// Reads item `index` into `destination`, registered memory of at least the item's length that stays valid until
  /// `handler` has run. May be called once per item. On success payload().items[index].parts refers to the data.
  virtual void pull(std::size_t index, std::span<const BufferRef> destination, Handler handler) = 0;

  /// Reads bytes of a long call, starting at `offset` of the message, into `destination`, registered memory that stays
  /// valid until `handler` has run. The bytes must lie beyond those that were pulled before delivery, which payload()
  /// has. May be called any number of times.
  virtual void pull_rest(std::uint32_t /*offset*/, std::span<const BufferRef> /*destination*/, Handler handler) {
    handler(BaseError::invalid_argument);
  }

  /// The builder of the reply message, which begins with the XID; item() adds a DDP-eligible result. Each call of
  /// reply() starts the message again from its beginning.
  virtual PayloadBuilder& reply() noexcept = 0;
  /// Whether write_ahead() is possible for a reply of `length` bytes: the call has no Write chunk, it has a Reply chunk
  /// in which the reply fits, and the reply exceeds the inline threshold even without a header.
  virtual bool may_write_ahead(std::uint32_t /*length*/) const noexcept { return false; }
  /// Writes to the Reply chunk the bytes that have been added to the reply since the last write_ahead(). `handler` runs
  /// with the outcome when the fabric no longer reads that memory; do not change the reply before then. The bytes
  /// written are part of the reply that send() completes. Later changes to them are not sent, unless reply() starts the
  /// message again.
  virtual void write_ahead(Handler handler) { handler(BaseError::invalid_argument); }
  /// Sends the reply: items in the Write chunks, in order, all other bytes inline or in the Reply chunk. A reply that
  /// does not fit becomes RDMA_ERROR with ERR_CHUNK (RFC 8166 section 4.5.3). In three cases the connection is ended,
  /// and the client sends the call again (section 4.5.4): memory ran out while the reply was built, an RDMA Write or
  /// the Send failed, or the reply fitted the Receives of the client before this side asked for smaller ones. `handler`
  /// runs with the outcome when the memory given to reply().item() is no longer used. The CallHandler must not use the
  /// call after send().
  virtual void send(Handler handler) = 0;
  /// Ends the call without a reply: the client waits until its deadline. For calls that must not be answered. It is not
  /// meant for replies that cannot be built.
  virtual void discard() = 0;
  /// Ends the call with RDMA_ERROR, ERR_CHUNK.
  virtual void fail() = 0;

  /// A requester for calls to this client, on the same connection (RFC 8167; rpcrdma/requester/reverse.hpp). It fails
  /// all calls until the upper layer calls allow(), after the client has announced that it accepts calls. Null if the
  /// connection is lost, and over a transport without a reverse direction. A reference to the requester keeps it alive
  /// after the connection has ended. Use it on the thread of context().
  virtual std::shared_ptr<ReverseRequester> reverse() { return {}; }

 protected:
  ~IncomingCall() = default;
};

/// Serves calls. Shared by the connections of a thread.
class RPCRDMA_EXPORT CallHandler {
 public:
  /// A call has arrived. Its first word is its XID, its second word is CALL. Must not block.
  virtual void on_call(IncomingCall& call) noexcept = 0;

 protected:
  ~CallHandler() = default;
};

}  // namespace rpcrdma::transport
