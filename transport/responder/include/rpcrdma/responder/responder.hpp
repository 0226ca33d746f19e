// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The responder of RFC 8166, which serves calls. It delivers a call to the handler in reduced form. It pulls a Read
// chunk of non-zero Position when the handler names memory for the data. When the handler replies, the responder writes
// the Write chunks and the Reply chunk and sends the reply. It uses Send with Invalidate if both sides permit remote
// invalidation and the call has chunks.
//
// Threads: unless a comment says otherwise, the functions of this file, and the handlers that are given to them, run on
// the thread of the io_context that IncomingCall::context() returns, which is the io_context of the connection.
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
/// with exactly one of send(), discard() and fail(). The call survives the loss of its connection: pulls then complete
/// with an error, and so does send(), which transmits nothing.
class RPCRDMA_EXPORT IncomingCall {
 public:
  /// The XID of the RPC.
  virtual std::uint32_t xid() const noexcept = 0;
  /// The reduced call message. Its items are the Read chunks of non-zero Position, in ascending order of Position. The
  /// parts of an item are empty until pull() has read the item. A long call, which has a Position-Zero Read chunk, is
  /// delivered when at least its first ServerOptions::first_of_long_call bytes have been read, or the whole message if
  /// it is shorter. In both cases Payload::length is the length of the whole message. The payload is valid until the
  /// call is ended.
  virtual const Payload& payload() const noexcept = 0;
  /// The connection of the call. Valid until the call is ended, even if the connection is lost. May be called on any
  /// thread.
  virtual const fabric::ConnectionInfo& connection() const noexcept = 0;
  /// Counters of the connection; all zero once it is lost. Called on the thread of context().
  virtual ConnectionStatistics statistics() const noexcept { return {}; }
  /// Counts this call in `statistics`. This function counts the size and the chunks of the call. The latency of the
  /// call is counted later: the time from the arrival of the call until its reply is submitted to the fabric or to the
  /// socket. A call that is not answered has no latency. `statistics` must outlive the connection. To be called once,
  /// on the thread of context().
  virtual void measure(CallStatistics& /*statistics*/) noexcept {}
  /// The transport characteristics of the call's connection. The object is valid until the connection ends. Returns
  /// null if the connection is lost, if the server supports version one only, and over TCP. Called on the thread of
  /// context().
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
  /// Waits until `octets` bytes of the server's bulk budget can be reserved for this call, and then runs `handler`. The
  /// call holds the bytes until it is over. `handler` may run before this function returns. The requests of one
  /// connection are granted in order. Peer addresses take turns, and so do the connections of one address, each up to
  /// its fair share (rpcrdma/base/budget.hpp). Fails with BaseError::out_of_memory if `octets` exceeds the whole
  /// budget. May be called once per call.
  virtual void reserve_bulk(std::uint32_t octets, Handler handler) = 0;
  /// Reads item `index` into `destination`, registered memory of at least the item's length that stays valid until
  /// `handler` has run. May be called once per item. On success payload().items[index].parts refers to the data.
  virtual void pull(std::size_t index, std::span<const BufferRef> destination, Handler handler) = 0;

  /// Reads a part of a long call into `destination`. The part starts at `offset` of the message and is as long as
  /// `destination`, which is registered memory that stays valid until `handler` has run. The first bytes of the message
  /// were read before delivery and are in payload(); the part must lie after them. May be called any number of times.
  virtual void pull_rest(std::uint32_t /*offset*/, std::span<const BufferRef> /*destination*/, Handler handler) {
    handler(BaseError::invalid_argument);
  }

  /// The builder of the reply message, which begins with the XID; item() adds a DDP-eligible result. Each call of
  /// reply() starts the message again from its beginning.
  virtual PayloadBuilder& reply() noexcept = 0;
  /// Permits items of the reply that are in a pipe instead of memory. `pipe` is its read end. A part of an item
  /// (PayloadBuilder::item()) whose BufferRef::data is null stands for the next BufferRef::size bytes of the pipe,
  /// which must contain them before send(). send() moves them to the socket without a copy (splice(2)), and what it
  /// does not send stays in the pipe. The pipe must stay open until the handler of send() has run, and no other call
  /// may use it meanwhile. If the pipe has fewer bytes, the connection ends.
  ///
  /// Returns false if this is not possible: over RDMA, and in a program that does not ignore SIGPIPE, which splice(2)
  /// raises if the connection is lost. Called on the thread of context(), before reply().
  virtual bool send_from(int /*pipe*/) noexcept { return false; }
  /// Returns true if write_ahead() is possible when the reply has `length` bytes so far. This requires that the call
  /// has no Write chunk, and that its Reply chunk has room for `length` bytes. `length` must also exceed the inline
  /// threshold, so that the reply cannot be sent inline.
  virtual bool may_write_ahead(std::uint32_t /*length*/) const noexcept { return false; }
  /// Writes a part of the reply to the Reply chunk before the reply is complete: the bytes that have been added to the
  /// reply since the last write_ahead(). `handler` runs with the outcome when the fabric no longer reads these bytes.
  /// The caller must not change the reply before then. send() later writes only the bytes that no write_ahead() has
  /// written. Changes to bytes that have been written already are therefore not sent, unless reply() starts the message
  /// again.
  virtual void write_ahead(Handler handler) { handler(BaseError::invalid_argument); }
  /// Sends the reply. The items of the reply go into the Write chunks of the call, in order. All other bytes go inline
  /// or into the Reply chunk. If the reply does not fit, the client receives an RDMA_ERROR with ERR_CHUNK instead (RFC
  /// 8166 section 4.5.3). In three cases this side ends the connection, so that the client sends the call again on
  /// another connection (section 4.5.4):
  ///   - Memory ran out while the reply was built.
  ///   - An RDMA Write or the Send failed.
  ///   - The reply is too long for the client's Receives now, but it would have fitted before the two sides agreed on
  ///     smaller Receives (version two).
  /// `handler` runs with the outcome when the memory given to reply().item() is no longer used, perhaps before this
  /// function returns. The CallHandler must not use the call after send().
  virtual void send(Handler handler) = 0;
  /// Ends the call without a reply, so that the client waits until its deadline. Use this function only for a call that
  /// must not be answered. Do not use it if the reply cannot be built.
  virtual void discard() = 0;
  /// Ends the call with RDMA_ERROR, ERR_CHUNK.
  virtual void fail() = 0;

  /// Returns a requester for calls to this client on the same connection (RFC 8167; rpcrdma/requester/reverse.hpp). The
  /// upper layer calls ReverseRequester::allow() when the client has announced that it accepts calls. Until then the
  /// requester fails all calls. This function returns null if the connection is lost, if this call is itself a reverse
  /// call, or over a transport without a reverse direction. The caller may keep the requester after the connection has
  /// ended. The requester must be used on the thread of context().
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
