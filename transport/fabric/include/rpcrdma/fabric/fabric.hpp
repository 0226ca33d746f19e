// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The fabric interface: the functions of an RDMA provider that the transport needs (RFC 8166 section 2.3.2).
//
// Operation. A Fabric belongs to one io_context and its one thread; everything made from it is used on that thread
// only, unless said otherwise. submit() passes posted work to the wire. Completions come back through
// WorkContext::on_completion, in batches, each batch closed by QueuePairEvents::on_batch_end. No callback runs within a
// call into the fabric: callbacks run from the io_context.
//
// Ownership. A queue pair never owns buffers: a posted buffer belongs to the provider until its work completes.
// Quiescing or destroying a queue pair ends the connection at once: afterwards no callback of the queue pair starts,
// and nothing touches a posted or exposed buffer.
//
// Lifetime. The owner of a queue pair must not destroy it within one of its callbacks (a completion, on_established,
// on_rejected, on_disconnected, on_batch_end). In a callback, the owner quiesces the queue pair instead, and defers the
// deletion with delete_later() of deferred_delete.hpp. A callback of a queue pair may destroy a window or a work
// context of that queue pair. A work context may be destroyed even in its own completion, as nothing refers to it by
// then.
//
// Errors. Each posted operation completes exactly once, unless its queue pair is quiesced. Sends, writes, reads and
// invalidations share one queue, and receives have another. The operations of a queue complete in the order in which
// they were posted. When the connection ends, the outstanding operations complete with FabricError::flushed, or with
// another error if the provider knows one. Then on_disconnected runs once, as the last callback. When a fabric loses
// its device, the fabric and all its connections end. The owner of the fabric then opens another fabric (lasting.hpp).
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rpcrdma/base/buffer_ref.hpp"
#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/log_subject.hpp"
#include "rpcrdma/base/unique_function.hpp"
#include "rpcrdma/fabric/error.hpp"

namespace rpcrdma::fabric {

/// [8166-5-a] iWARP and rdma_cm both name an endpoint by IP address and port.
using Endpoint = boost::asio::ip::tcp::endpoint;

/// The features and limits of a fabric. They differ between providers and devices, so the user must query them.
struct Capabilities {
  std::string_view name;             ///< "iwarp", "verbs", "loopback"
  std::uint32_t max_gather = 0;      ///< the most buffers in one Send or Write
  std::uint32_t max_read_depth = 0;  ///< the largest IRD and ORD
  std::uint32_t max_message = 0;     ///< the most bytes of one Send, Write or Read
  /// True: the peer may invalidate a window by Send with Invalidate. A user of the fabric may then set the R flag of
  /// RFC 8797.
  bool remote_invalidation = false;
  /// True: a peer can access exactly the range of a window. False (rxe and others): it can access the whole memory
  /// region around the window, so every buffer that may be exposed needs a region of its own.
  bool exact_window_bounds = true;
  /// True: this side may invalidate a window although the peer may be invalidating it at the same time. At worst the
  /// connection ends. False: this side must not invalidate a window that the peer may still invalidate. It is false for
  /// verbs with memory windows, because the kernel module of rxe would crash.
  bool late_invalidation = true;
  /// True: registering memory for a single transfer costs less than copying the data to registered memory.
  bool cheap_registration = false;
  /// True: the provider reports the peer's RDMA Reads and Writes (QueuePairOptions::access).
  bool reports_access = false;
  /// The maximum number of bytes that this process may have registered at once, over all its fabrics: its limit of
  /// locked memory when the fabric was opened. A registration beyond the limit fails with FabricError::locked_memory.
  std::uint64_t lockable_memory = std::numeric_limits<std::uint64_t>::max();

  friend bool operator==(const Capabilities&, const Capabilities&) = default;
};

/// Totals of a fabric since it was made.
struct Counters {
  std::uint64_t work_requests = 0;  ///< work requests posted, including receives and invalidations
  std::uint64_t completions = 0;    ///< completions delivered to their contexts
  std::uint64_t batches = 0;        ///< calls of on_batch_end
  /// Payload bytes of large segments (8 KiB and more) that the provider copied instead of transferring them directly
  /// between the caller's memory and the wire.
  std::uint64_t copied = 0;
  /// The number of times that the fabric has opened its device again after a loss. Each time, the keys in existing
  /// BufferRefs become invalid for Sends, Writes and receives. bind() still accepts these BufferRefs.
  std::uint64_t reopened = 0;
  // iWARP in userspace only:
  std::uint64_t frames_sent = 0;      ///< FPDUs
  std::uint64_t frames_received = 0;  ///< FPDUs with an acceptable header and, with CRCs, a correct CRC
  std::uint64_t crc_errors = 0;       ///< FPDUs with a wrong CRC, each of which ended its connection
  std::uint64_t socket_reads = 0;     ///< reads that returned data
  std::uint64_t socket_writes = 0;    ///< writes that passed data to the socket
  std::uint64_t wakeups = 0;          ///< how often the event loop reported data

  /// Adds the counters of another fabric.
  constexpr Counters& operator+=(const Counters& other) noexcept {
    work_requests += other.work_requests;
    completions += other.completions;
    batches += other.batches;
    copied += other.copied;
    reopened += other.reopened;
    frames_sent += other.frames_sent;
    frames_received += other.frames_received;
    crc_errors += other.crc_errors;
    socket_reads += other.socket_reads;
    socket_writes += other.socket_writes;
    wakeups += other.wakeups;
    return *this;
  }
};

/// Whether a range of `length` bytes from `offset` on extends beyond 2^64.
constexpr bool wraps(std::uint64_t offset, std::uint64_t length) noexcept {
  return length != 0 && offset + (length - 1) < offset;
}

/// What the peer may do with an exposed range.
enum class Access : std::uint8_t { remote_read, remote_write };

/// A registration of memory with the provider. The memory belongs to the caller and must outlive the registration. No
/// peer can reach it until a Window exposes a part of it.
class RPCRDMA_EXPORT MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;
  /// The registered range, with the key that makes it usable in posted work.
  virtual BufferRef buffer() const noexcept = 0;
};

struct Completion;

/// The context of a posted operation. It belongs to the poster, and must exist until on_completion() is called or the
/// queue pair is quiesced.
class RPCRDMA_EXPORT WorkContext {
 public:
  /// The operation is over. Its buffers belong to the poster again.
  virtual void on_completion(const Completion& completion) noexcept = 0;

 protected:
  ~WorkContext() = default;
};

/// The outcome of a posted operation.
struct Completion {
  error_code status;         ///< success, or why the operation failed
  std::uint32_t length = 0;  ///< receives: bytes of the message
  /// Receives: the handle that the peer invalidated with the message; its Window is no longer bound. 0 is a valid
  /// handle, hence the optional.
  std::optional<std::uint32_t> invalidated;
};

/// Exposes a range of registered memory to the peer of one queue pair. QueuePair::make_window() makes a window. The
/// user destroys the window before the queue pair. A window is idle until QueuePair::bind() binds it to a range. It
/// becomes idle again after this side or the peer has invalidated it.
class RPCRDMA_EXPORT Window {
 public:
  virtual ~Window() = default;
  /// Returns true while the range is exposed or a frame in transit still names it. The user must not reuse the memory
  /// while the result is true. After a call of QueuePair::invalidate() for the window, the user must also await the
  /// completion of the invalidation, because bound() may return false before it.
  virtual bool bound() const noexcept = 0;
  /// Returns the segment to advertise to the peer. The segment is valid from one bind() until the next one.
  virtual Segment segment() const noexcept = 0;
};

/// Properties of one Send.
struct SendOptions {
  bool solicited = false;                   ///< wakes a peer that waits for solicited events only
  std::optional<std::uint32_t> invalidate;  ///< the peer's handle to invalidate (Send with Invalidate)
  /// The completion may be reported late: with the next message of the peer or after kLongestDeferral, whichever comes
  /// first. The provider may then save the notification of this completion. Do not set it for a Send for whose
  /// completion other work waits.
  bool defer_completion = false;
  /// The longest time after which the provider looks for a completion that may be reported late.
  static constexpr std::chrono::milliseconds kLongestDeferral{20};
};

/// The read depths that a peer states during connection set-up (RFC 6581 section 9.1).
struct ReadDepths {
  /// A peer states this value if it does not negotiate a depth during connection set-up. The upper layers must then
  /// agree on the depth.
  static constexpr std::uint32_t kLeftToUsers = 0x3fff;
  std::uint32_t inbound = 0;   ///< IRD: the number of Reads that the peer can serve at a time
  std::uint32_t outbound = 0;  ///< ORD: the number of Reads that the peer wants to have outstanding at a time
  friend bool operator==(const ReadDepths&, const ReadDepths&) = default;
};

/// The properties of a connection.
struct ConnectionInfo {
  /// The number of the connection in log lines and statistics, unique in the process; 0 if it has none.
  std::uint64_t number = 0;
  std::string_view fabric;              ///< the name of the provider, or "tcp" for plain TCP; a string literal
  Endpoint local;                       ///< this side's address
  Endpoint peer;                        ///< the other side's address
  std::vector<std::byte> private_data;  ///< the peer's private data as received; may have zeros appended
  std::uint32_t inbound_reads = 0;      ///< negotiated IRD: Reads that the peer may have outstanding
  std::uint32_t outbound_reads =
      0;  ///< negotiated ORD: Reads on the wire at a time; further Reads wait in the provider; 0: no Reads
  /// The depths that the peer stated; empty if it stated none, or if the provider does not report them (only iwarp
  /// does).
  std::optional<ReadDepths> peer_reads;

  /// The subject of log lines about the connection.
  LogSubject subject() const noexcept { return {.connection = number, .fabric = fabric, .peer = peer}; }
  /// The subject of log lines about the call `xid` on the connection.
  LogSubject subject(std::uint32_t xid) const noexcept {
    return {.connection = number, .fabric = fabric, .peer = peer, .xid = xid};
  }
};

/// Callbacks for the events of a queue pair other than the completion of a work request. The object belongs to the user
/// of the queue pair, and must outlive the queue pair.
class RPCRDMA_EXPORT QueuePairEvents {
 public:
  /// Both sides are connected: the send queue accepts work from here on.
  virtual void on_established(const ConnectionInfo& info) noexcept = 0;
  /// The peer rejected the connection. `peer` holds its private data and, on iwarp, the read depths that the peer
  /// requires (RFC 6581 section 9.1). on_disconnected(FabricError::rejected) follows. iwarp and verbs call this
  /// function; loopback reports a rejection by on_disconnected alone.
  virtual void on_rejected(const ConnectionInfo& /*peer*/) noexcept {}
  /// The connection failed or ended. `why` is a FabricError, a BaseError or a system error; success means an orderly
  /// close.
  virtual void on_disconnected(error_code why) noexcept = 0;
  /// The end of a batch of completions. The user calls submit() here, for all work that the callbacks of the batch
  /// posted.
  virtual void on_batch_end() noexcept {}

 protected:
  ~QueuePairEvents() = default;
};

/// Callbacks for the peer's reads and writes of exposed memory, on the fabric's thread. Only observers need them. An
/// access may be reported in several parts. It may be reported before the receive of an earlier Send completes.
class RPCRDMA_EXPORT AccessEvents {
 public:
  /// The peer has written `data` to the exposure `handle`. `offset` addresses the first byte, as Segment::offset does.
  virtual void on_remote_write(std::uint32_t handle, std::uint64_t offset, Octets data) noexcept = 0;
  /// The peer reads `data` from the exposure `handle`. `offset` addresses the first byte, as Segment::offset does.
  virtual void on_remote_read(std::uint32_t handle, std::uint64_t offset, Octets data) noexcept = 0;

 protected:
  ~AccessEvents() = default;
};

/// Options of a queue pair.
struct QueuePairOptions {
  /// ConnectionInfo::number of a connector; 0: the provider chooses it. An acceptor has the number of its request.
  std::uint64_t number = 0;
  std::uint32_t send_depth = 64;        ///< work requests in the send queue, including binds and invalidations
  std::uint32_t receive_depth = 64;     ///< Receives posted at a time
  std::uint32_t inbound_reads = 16;     ///< IRD offered
  std::uint32_t outbound_reads = 16;    ///< ORD wanted
  std::vector<std::byte> private_data;  ///< a connector sends it in the request, an acceptor in the reply
  /// Time limit for setting up the connection.
  std::chrono::milliseconds handshake_timeout{5000};
  AccessEvents* access =
      nullptr;  ///< called if Capabilities::reports_access; must outlive the queue pair; null: no calls
};

/// One reliable connection. A work request that is posted with a null WorkContext is unsignalled and reports no
/// completion. Its buffers belong to the poster again when a later work request of the same queue (send or receive)
/// completes.
class RPCRDMA_EXPORT QueuePair {
 public:
  virtual ~QueuePair() = default;

  /// Receives may (and should) be posted before the connection is established.
  virtual error_code post_receive(BufferRef buffer, WorkContext* context) = 0;
  /// A Send of at most Capabilities::max_message bytes. The buffers belong to the provider until the Send completes.
  virtual error_code post_send(std::span<const BufferRef> gather, const SendOptions& options, WorkContext* context) = 0;
  /// RDMA Write to remote memory. May complete as soon as the data is sent. The peer places the data before it delivers
  /// a later Send. If the remote range wraps, iwarp and loopback fail with invalid_argument, and the connection stays.
  virtual error_code post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                                WorkContext* context) = 0;
  /// RDMA Read from remote memory. Completes when the data is in `sink`. Fails with invalid_argument as post_write()
  /// does, with FabricError::unsupported if ConnectionInfo::outbound_reads is 0, and with FabricError::locked_memory if
  /// the provider cannot register the sink at present. Then nothing is posted, and the connection stays.
  virtual error_code post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset, WorkContext* context) = 0;

  /// Makes an idle window. The caller owns the window, and must destroy it before the queue pair.
  virtual Result<std::unique_ptr<Window>> make_window() = 0;
  /// Exposes `memory` to the peer through `window`, which must be idle, under a fresh handle. `memory` must lie within
  /// one registered region. Its local key may be that of an earlier fabric whose device was lost: the provider then
  /// finds the region by address. The exposure takes effect before any Send that is posted after this call. The call
  /// takes at most one slot of the send queue.
  virtual Result<Segment> bind(Window& window, BufferRef memory, Access access) = 0;
  /// Ends an exposure. Completes when no frame in transit names the range: from then on neither the peer nor the
  /// provider accesses it. Also valid for a window that the peer has already invalidated.
  virtual error_code invalidate(Window& window, WorkContext* context) = 0;

  /// The number of Reads that had to wait because ConnectionInfo::outbound_reads others were in progress. If the device
  /// does not report the end of each Read, a Read counts as in progress until the provider sees its end.
  virtual std::uint64_t read_waits() const noexcept { return 0; }

  /// Passes all posted work to the wire, many work requests at a time.
  virtual void submit() = 0;
  /// Ends the connection in an orderly way after all posted work has been sent. If the connection is not established
  /// yet, does what abort() does. on_disconnected follows.
  virtual void disconnect() = 0;
  /// Ends the connection immediately. on_disconnected follows.
  virtual void abort() = 0;
  /// Ends the connection immediately, without on_disconnected. Afterwards no callback starts, no work is accepted, and
  /// nothing touches a posted or exposed buffer. Callable at any time, also from within a callback of this queue pair,
  /// which is then the last callback. Outstanding work does not complete. The destructor does the same.
  virtual void quiesce() noexcept = 0;

  /// TCP segments that this side has sent again so far; 0 if the provider does not know. Also valid after
  /// quiesce(). May make a system call.
  virtual std::uint64_t retransmissions() const noexcept { return 0; }
};

/// A peer's request for a connection. Created on the listener's thread; destroying it unanswered rejects the
/// connection.
class RPCRDMA_EXPORT ConnectionRequest {
 public:
  virtual ~ConnectionRequest() = default;
  /// The peer's address, private data and read depths.
  virtual const ConnectionInfo& info() const noexcept = 0;
};

class Fabric;

/// Accepts connections while this object exists. Used on the thread of the fabric that made it.
class RPCRDMA_EXPORT Listener {
 public:
  virtual ~Listener() = default;  ///< stops listening; established connections stay
  /// The listener's address, with the actual port.
  virtual Endpoint local() const = 0;
  /// Connections that ended without a complete and valid request; 0 if the provider does not see them (only iwarp
  /// does). May be called on any thread.
  virtual std::uint64_t failed_handshakes() const noexcept { return 0; }
};

/// Makes connections and registers memory with one provider. Its handlers run on one io_context.
class RPCRDMA_EXPORT Fabric {
 public:
  /// Handles a peer's request for a connection.
  using RequestHandler = UniqueFunction<void(std::unique_ptr<ConnectionRequest>)>;

  virtual ~Fabric() = default;
  /// The event loop. May be called on any thread.
  virtual boost::asio::io_context& context() noexcept = 0;
  /// The features and limits of the provider. They never change. May be called on any thread.
  virtual const Capabilities& capabilities() const noexcept = 0;
  /// The totals so far. Called on the fabric's thread.
  virtual const Counters& counters() const noexcept = 0;
  /// Sets the handler that runs once if the fabric loses its device. Before `handler` runs, the fabric ends every
  /// connection with FabricError::device_lost, but the callbacks of a connection may run later. After the loss, no
  /// request arrives, and every operation on the fabric fails with device_lost. The owner then destroys the listeners,
  /// the memory regions and the fabric. The fabric does nothing after `handler`. Therefore `handler` itself may destroy
  /// these objects, which releases the device at once. Queue pairs and windows may outlive the fabric. A fabric without
  /// a device (iwarp) never runs `handler`.
  virtual void on_end(UniqueFunction<void(error_code why)> handler) = 0;

  /// Registers `memory`, which belongs to the caller and must outlive the result. Fails with FabricError::locked_memory
  /// at the limit of locked memory.
  virtual Result<std::unique_ptr<MemoryRegion>> register_memory(std::span<std::byte> memory) = 0;

  /// Makes a queue pair that will connect to `peer`. Post receives, then call start(). `events` must outlive the queue
  /// pair.
  virtual Result<std::unique_ptr<QueuePair>> make_connector(const Endpoint& peer, QueuePairOptions options,
                                                            QueuePairEvents& events) = 0;
  /// Starts connecting a queue pair of make_connector(), or accepting with a queue pair of make_acceptor():
  /// on_established or on_disconnected follows.
  virtual void start(QueuePair& queue_pair) = 0;

  /// Accepts connection requests at the address `local`. The port 0 stands for any free port. `handler` runs on this
  /// fabric's thread for each request, once the peer's handshake data has arrived.
  virtual Result<std::unique_ptr<Listener>> listen(const Endpoint& local, RequestHandler handler) = 0;
  /// Makes the queue pair that will accept `request` on this fabric, whose thread may differ from the listener's. Call
  /// it on this fabric's thread. Post receives, then call start().
  virtual Result<std::unique_ptr<QueuePair>> make_acceptor(std::unique_ptr<ConnectionRequest> request,
                                                           QueuePairOptions options, QueuePairEvents& events) = 0;
  /// Refuses `request` with private data for the peer. Called on the listener's or this fabric's thread.
  virtual void reject(std::unique_ptr<ConnectionRequest> request, Octets private_data) = 0;
};

}  // namespace rpcrdma::fabric
