// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Sends calls (RFC 8166): waits for a credit, has the call encoded, plans its chunks, exposes memory, sends, matches
// the reply, invalidates the exposed memory, and only then completes the call.
//
// Threads: everything here belongs to the thread of the connection's io_context.
#include <boost/container/small_vector.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <chrono>
#include <cstdint>
#include <memory>

#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/payload.hpp"
#include "rpcrdma/base/payload_builder.hpp"
#include "rpcrdma/connection/call_statistics.hpp"
#include "rpcrdma/connection/traffic.hpp"
#include "rpcrdma/fabric/arrival.hpp"

namespace rpcrdma::transport {

class Requester;

/// One outgoing call. The upper layer derives from it and owns it, and does not move or destroy it between
/// Requester::submit() and done(), which runs exactly once for each submit().
class RPCRDMA_EXPORT Call {
 public:
  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Writes the RPC call message, its XID first, into `out`. Runs when the server's credit grant permits the call. Runs
  /// again if there was not enough memory or room in the send queue, and each time that the call has to be sent again.
  /// Must always write the same message.
  /// Memory given to out.item() stays valid and unchanged until done().
  virtual void encode(PayloadBuilder& out) noexcept = 0;
  /// Runs when the call is over. The peer can then no longer access memory of this call.
  ///
  /// On success, `reply` is the reduced reply, which is valid only while done() runs. It has one item for each Write
  /// chunk that the call has offered, in the same order. The length of an item is the number of bytes that the
  /// responder has placed in the chunk, or 0 if the chunk is unused. The item refers to the memory in `results`.
  ///
  /// On error, `reply` is null.
  virtual void done(error_code status, const Payload* reply) noexcept = 0;

  std::uint32_t xid = 0;  ///< unique among the calls in flight, for example from Requester::next_xid()
  /// The largest possible reply payload in bytes, without the items that `results` receives (RFC 8166 section 4.3.3).
  std::uint32_t max_reply = 1024;
  /// Memory for DDP-eligible results: for each possible result a list of registered buffers.
  /// The memory belongs to the caller of the RPC, which does not access it before done().
  boost::container::small_vector<boost::container::small_vector<BufferRef, 1>, 1> results;
  /// Registered memory for a Reply chunk, of `max_reply` bytes rounded up to a multiple of 4. Like the memory of
  /// `results`, it belongs to the caller. Empty or too short: the requester takes memory from its pool.
  BufferRef reply_memory;
  /// Reports how many bytes the peer has written to `reply_memory`. The requester sets this pointer when it sends the
  /// call. The pointer is valid until done() returns or the connection is lost. It is null if the call does not expose
  /// `reply_memory`, or if the fabric does not report arrivals. The bytes that have arrived are the start of the reply
  /// only if the reply is a Long Reply and the peer writes it in order.
  const fabric::Arrival* reply_arrival = nullptr;
  /// Whether DDP-eligible items of the call and of the reply may be in chunks of their own. RPCSEC_GSS integrity and
  /// privacy require that they stay in the RPC message (RFC 8166 section 8.2.2.3): then set this to false.
  bool may_reduce = true;
  /// Counts this call each time that it is sent, and the time from submit() to the arrival of its reply. Must outlive
  /// the call. Null: the call is not counted.
  CallStatistics* statistics = nullptr;
  /// A call that is not over at this time fails with BaseError::deadline_exceeded. Over RDMA, the error is
  /// TransportError::unreachable if the call was never sent and there is no connection.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();

 protected:
  ~Call() = default;

 private:
  friend struct CallAccess;
  enum class State : std::uint8_t { over, waiting, on_wire, failed };
  // Links the call into one of two lists of the requester: the calls that wait to be sent, and the failed calls whose
  // done() has not been called yet.
  boost::intrusive::list_member_hook<> queue_;
  void* slot_ = nullptr;  // the requester's state of this call while the call is on the wire
  error_code failure_;
  State state_ = State::over;
  bool was_sent_ = false;
  std::chrono::steady_clock::time_point submitted_;
};

/// Sends calls over the current connection, from a client to its server or in the reverse direction.
class RPCRDMA_EXPORT Requester {
 public:
  virtual ~Requester() = default;

  /// Queues `call`, in order, and sends it as soon as there are a connection, a credit, memory and room in the send
  /// queue. After the loss of a connection, a client sends its unanswered calls again with the same XID on the next
  /// connection, until their deadline (BaseError::deadline_exceeded). done() never runs inside submit().
  virtual void submit(Call& call) = 0;
  /// Ends `call` early: invalidates the memory that the call exposes, then runs done(BaseError::cancelled), but not
  /// inside this function. A call whose outcome is already known ends with that outcome. Does nothing if the call is
  /// over.
  virtual void cancel(Call& call) = 0;
  /// Returns a new XID. The first XID is random, and each further one is the next number that no call in flight has.
  virtual std::uint32_t next_xid() noexcept = 0;

  /// The last three are current values, the others totals since the start.
  struct Counters {
    std::uint64_t calls = 0;                 ///< calls submitted
    std::uint64_t replies = 0;               ///< replies to calls that had not been given up
    std::uint64_t resent = 0;                ///< calls sent again, on a new connection or in another version
    std::uint64_t discarded_replies = 0;     ///< messages dropped: malformed, or no reply to a call in progress
    std::uint64_t reconnects = 0;            ///< connections after the first one
    std::uint64_t remote_invalidations = 0;  ///< windows that the peer invalidated by Send with Invalidate
    std::uint64_t local_invalidations = 0;   ///< windows that this side invalidated
    std::uint32_t in_flight = 0;             ///< calls sent and not over yet
    std::uint32_t waiting = 0;               ///< calls that wait to be sent
    std::uint32_t granted = 0;  ///< credits that the last reply granted; 1 before the first reply, 0 if not connected
  };
  /// Called on the requester's thread.
  virtual Counters counters() const noexcept = 0;
  /// The counters of this side over all connections so far, in both directions. Called on the requester's thread.
  virtual Traffic traffic() const noexcept { return {}; }
};

}  // namespace rpcrdma::transport
