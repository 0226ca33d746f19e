// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The fabric interface: what the transport needs of an RDMA provider (RFC 8166 section 2.3.2).
//
// Operation. A Fabric belongs to one io_context and its one thread; everything made from it is used on
// that thread only, unless said otherwise. Posted work goes to the wire at submit(); completions come
// back through WorkContext::on_completion, in batches, each batch closed by QueuePairEvents::on_batch_end.
// No callback runs inside the call that caused it: it runs from the io_context.
//
// Ownership. A queue pair never owns buffers: a posted buffer belongs to the provider until its work
// completes. Destroying a queue pair ends the connection at once; no callback of it runs afterwards, and
// nothing touches a posted or exposed buffer any more.
//
// Errors. A posted operation completes exactly once, in order of posting per queue (sends, writes, reads
// and invalidations share one, receives have another). When the connection ends, whatever is outstanding
// completes with FabricError::flushed, and then on_disconnected runs, once, last.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rpcrdma/base/buffer_ref.hpp"
#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/base/unique_function.hpp"
#include "rpcrdma/fabric/error.hpp"

namespace rpcrdma::fabric {

/// [8166-5-a] iWARP and rdma_cm both name an endpoint by IP address and port.
using Endpoint = boost::asio::ip::tcp::endpoint;

/// What a provider can do. Queried, never assumed.
struct Capabilities {
  std::string_view name;             ///< "iwarp", "verbs", "loopback"
  std::uint32_t max_gather = 0;      ///< buffers in one send or write
  std::uint32_t max_read_depth = 0;  ///< IRD and ORD
  std::uint32_t max_message = 0;     ///< octets of one send, write or read
  /// An exposure is a window: the peer may invalidate it by Send with Invalidate, so the R flag of
  /// RFC 8797 may be set.
  bool remote_invalidation = false;
  /// The peer is held to a window's exact range. If not (rxe), only its memory region protects what lies
  /// beside it, so every exposable buffer needs a region of its own.
  bool exact_window_bounds = true;
  /// A peer that invalidates what has been invalidated here ends this connection at worst. If not (rxe, whose kernel
  /// does not survive it), nothing may be invalidated here that the peer may still invalidate.
  bool late_invalidation = true;
};

/// What a fabric has done so far, over all its queue pairs: to see what a call costs.
struct Counters {
  std::uint64_t work_requests = 0;  ///< posted, receives and invalidations among them
  std::uint64_t completions = 0;    ///< handed to their contexts
  std::uint64_t batches = 0;        ///< of completions: calls of on_batch_end
  /// Octets of payload that the provider copied where segments were large (8 KiB and more), instead of having them
  /// moved between the caller's memory and the wire.
  std::uint64_t copied = 0;
};

/// Who may do what to an exposed range.
enum class Access : std::uint8_t { remote_read, remote_write };

/// Registers memory with the provider for as long as it lives. The memory belongs to the caller and must
/// outlive it. Not reachable by any peer until a Window exposes a part of it.
class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;
  /// The registered range, with the key that makes it usable in posted work.
  virtual BufferRef buffer() const noexcept = 0;
};

struct Completion;

/// The typed context of a posted operation: lives until its completion has run, and belongs to the poster.
class WorkContext {
 public:
  virtual void on_completion(const Completion& completion) noexcept = 0;

 protected:
  ~WorkContext() = default;
};

struct Completion {
  error_code status;
  std::uint32_t length = 0;  ///< receives: octets of the message
  /// Receives: the peer invalidated this handle, which its Window knows already. 0 is a valid handle,
  /// hence the optional.
  std::optional<std::uint32_t> invalidated;
};

/// Exposes one exact range of registered memory to the peer of one queue pair. Made by a queue pair and
/// destroyed before it. States: idle -> bound -> (invalidated by us or by the peer) -> idle.
class Window {
 public:
  virtual ~Window() = default;
  /// The range can be reached: it is exposed, or a frame on its way names it although the peer has invalidated
  /// it already. Until invalidate() has completed, or this is false, the memory is not its owner's alone.
  virtual bool bound() const noexcept = 0;
  /// What the peer is told. Meaningful while bound, and afterwards until the next bind.
  virtual Segment segment() const noexcept = 0;
};

struct SendOptions {
  bool solicited = false;
  std::optional<std::uint32_t> invalidate;  ///< the peer's handle to invalidate (Send with Invalidate)
};

/// What a peer says of RDMA Reads when a connection is made (RFC 6581 section 9.1).
struct ReadDepths {
  static constexpr std::uint32_t kLeftToUsers = 0x3fff;  ///< not negotiated: the users of the connection agree on it
  std::uint32_t inbound = 0;                             ///< IRD: so many it can have outstanding towards itself
  std::uint32_t outbound = 0;                            ///< ORD: so many it wants to have outstanding
  friend bool operator==(const ReadDepths&, const ReadDepths&) = default;
};

struct ConnectionInfo {
  Endpoint local;
  Endpoint peer;
  std::vector<std::byte> private_data;  ///< the peer's, as received (may be zero-padded by the provider)
  std::uint32_t inbound_reads = 0;      ///< negotiated IRD: reads that the peer may have outstanding
  std::uint32_t outbound_reads = 0;  ///< negotiated ORD: reads that we may have outstanding; more wait in the provider
  /// The peer's own figures, where it has given any and the provider learns of them (iwarp).
  std::optional<ReadDepths> peer_reads;
};

/// What happens to a queue pair as a whole. Belongs to the user of the queue pair and outlives it.
class QueuePairEvents {
 public:
  /// Both sides are connected; work may be posted to the send queue from here on.
  virtual void on_established(const ConnectionInfo& info) noexcept = 0;
  /// The peer has refused the connection: its private data, and what it wants instead (RFC 6581 section 9.1).
  /// on_disconnected(FabricError::rejected) follows, also where the provider does not learn of this (loopback, verbs).
  virtual void on_rejected(const ConnectionInfo& /*peer*/) noexcept {}
  /// The connection failed or ended: FabricError or a system error; success means the peer closed in good order.
  virtual void on_disconnected(error_code why) noexcept = 0;
  /// No further completion is at hand: the time to submit what the batch made necessary.
  virtual void on_batch_end() noexcept {}

 protected:
  ~QueuePairEvents() = default;
};

struct QueuePairOptions {
  std::uint32_t send_depth = 64;  ///< work requests outstanding on the send queue (windows included)
  std::uint32_t receive_depth = 64;
  std::uint32_t inbound_reads = 16;     ///< IRD offered
  std::uint32_t outbound_reads = 16;    ///< ORD wanted
  std::vector<std::byte> private_data;  ///< ours: in the request of a connector, in the reply of an acceptor
  std::chrono::milliseconds handshake_timeout{5000};
};

/// One reliable connection. A null WorkContext asks for no completion (unsignalled): the buffers are then
/// done with when a later operation of the same queue completes.
class QueuePair {
 public:
  virtual ~QueuePair() = default;

  /// Receives may (and should) be posted before the connection is established.
  virtual error_code post_receive(BufferRef buffer, WorkContext* context) = 0;
  virtual error_code post_send(std::span<const BufferRef> gather, const SendOptions& options, WorkContext* context) = 0;
  /// RDMA Write to remote memory; complete when sent, placed at the peer before a later Send is delivered there.
  virtual error_code post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                                WorkContext* context) = 0;
  /// RDMA Read from remote memory; complete when the data is in `sink`.
  virtual error_code post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset, WorkContext* context) = 0;

  /// Windows belong to the caller, who destroys them before the queue pair.
  virtual Result<std::unique_ptr<Window>> make_window() = 0;
  /// Exposes `memory` (within one region) through an idle window, under a handle not used before. The
  /// exposure is in force before any Send posted after this call. Takes one slot of the send queue at most.
  virtual Result<Segment> bind(Window& window, BufferRef memory, Access access) = 0;
  /// Ends an exposure. Completes when no frame on its way names the range any more: from then on neither
  /// the peer nor the provider touches it. A window that the peer has invalidated completes likewise, also while
  /// frames still name it.
  virtual error_code invalidate(Window& window, WorkContext* context) = 0;

  /// Hands everything posted to the wire, many work requests at a time.
  virtual void submit() = 0;
  /// Orderly end: what was posted is sent first. on_disconnected follows.
  virtual void disconnect() = 0;
  /// Immediate end. on_disconnected follows.
  virtual void abort() = 0;
};

/// A connection that a peer asks for. Created on the listener's thread; dropping it rejects it.
class ConnectionRequest {
 public:
  virtual ~ConnectionRequest() = default;
  /// The peer's address, private data and read depths.
  virtual const ConnectionInfo& info() const noexcept = 0;
};

class Fabric;

class Listener {
 public:
  virtual ~Listener() = default;  ///< stops listening; established connections stay
  virtual Endpoint local() const = 0;
};

/// One provider, on one io_context.
class Fabric {
 public:
  using RequestHandler = UniqueFunction<void(std::unique_ptr<ConnectionRequest>)>;

  virtual ~Fabric() = default;
  virtual boost::asio::io_context& context() noexcept = 0;
  virtual const Capabilities& capabilities() const noexcept = 0;
  /// On the fabric's thread.
  virtual const Counters& counters() const noexcept = 0;

  virtual Result<std::unique_ptr<MemoryRegion>> register_memory(std::span<std::byte> memory) = 0;

  /// Makes an unconnected queue pair towards `peer`. Post receives, then call start(). `events` outlives it.
  virtual Result<std::unique_ptr<QueuePair>> make_connector(const Endpoint& peer, QueuePairOptions options,
                                                            QueuePairEvents& events) = 0;
  /// Starts connecting a queue pair of make_connector(), or accepting with one of make_acceptor():
  /// on_established or on_disconnected follows.
  virtual void start(QueuePair& queue_pair) = 0;

  /// `handler` runs on this fabric's thread for each request whose handshake data has arrived. Port 0
  /// takes a free one.
  virtual Result<std::unique_ptr<Listener>> listen(const Endpoint& local, RequestHandler handler) = 0;
  /// Makes the queue pair that will accept `request` on THIS fabric, which may be on another thread than
  /// the listener's: call it on this fabric's thread. Post receives, then start().
  virtual Result<std::unique_ptr<QueuePair>> make_acceptor(std::unique_ptr<ConnectionRequest> request,
                                                           QueuePairOptions options, QueuePairEvents& events) = 0;
  /// Refuses `request` with private data for the peer. On the listener's or this fabric's thread.
  virtual void reject(std::unique_ptr<ConnectionRequest> request, Octets private_data) = 0;
};

}  // namespace rpcrdma::fabric
