// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// One connection of the transport, of a client or a server: a queue pair with its negotiated thresholds, posted
// receives, send credits and windows. Passes received messages on as calls, replies or errors.
//
// Threads: everything here belongs to the thread of the fabric's io_context.
#include <array>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "rpcrdma/base/histogram.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/base/recycler.hpp"
#include "rpcrdma/base/weak_guard.hpp"
#include "rpcrdma/connection/call_statistics.hpp"
#include "rpcrdma/connection/characteristics.hpp"
#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/connection/options.hpp"
#include "rpcrdma/connection/receive.hpp"
#include "rpcrdma/connection/receive_budget.hpp"
#include "rpcrdma/connection/receive_buffers.hpp"
#include "rpcrdma/connection/send_credits.hpp"
#include "rpcrdma/connection/traffic.hpp"
#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/wire/header.hpp"
#include "rpcrdma/wire/private_data.hpp"

namespace rpcrdma::transport {

class Control;

/// The client is the side that opened the connection. It sends the calls of the forward direction (RFC 8167 section 2).
enum class Role : std::uint8_t { client, server };

/// The user of a connection. It must outlive the connection, or call Connection::destroy() first.
class ConnectionEvents {
 public:
  virtual void on_connected() noexcept = 0;
  /// The connection has ended, and its queue pair is quiesced: posted and exposed memory is not accessed any more.
  /// Runs once, as the last event, also when connecting failed.
  virtual void on_disconnected(error_code why) noexcept = 0;
  /// An RPC call. An RDMA_NOMSG is a call if it has a Position-Zero Read chunk (version one) or the direction call
  /// (version two). `message` may be moved from; `message.header` is valid while this function runs, and its contents
  /// may be swapped out to keep them.
  virtual void on_call(Received& message) noexcept = 0;
  /// An RPC reply, or any other RDMA_NOMSG.
  virtual void on_reply(Received& message) noexcept = 0;
  /// An RDMA_ERROR, unless it answers an optional message of this side.
  virtual void on_peer_error(Received& message) noexcept = 0;
  /// A message whose header cannot be decoded, or whose payload is neither a call nor a reply (bad_chunks). Optional
  /// messages with bad_option or bad_direction are answered without this event.
  virtual void on_bad_message(wire::WireError error, Received& message) noexcept = 0;
  /// The end of a batch of completions. Send credits, receives and memory may have become free.
  virtual void on_batch_end() noexcept = 0;
  // For the optional messages of version two:
  /// The credits that this side's replies grant at present.
  virtual std::uint32_t granted_credits() const noexcept { return 1; }
  /// This side's support of the reverse direction (xcharext-01 section 3.3).
  virtual BackwardSupport backward_support() const noexcept { return BackwardSupport::none; }
  /// The size of this side's receives has changed.
  virtual void on_receive_size(std::uint32_t /*from*/, std::uint32_t /*to*/) noexcept {}

 protected:
  ~ConnectionEvents() = default;
};

/// Bounds the log lines that the peers of a thread's connections can cause.
struct PeerLogLimits {
  LogLimit messages;  ///< about messages and calls
  LogLimit ends;      ///< about connections that end or are not accepted
};

struct ConnectionSetup {
  fabric::Fabric* fabric = nullptr;
  memory::Pool* pool = nullptr;
  Role role = Role::client;
  ConnectionOptions options;
  std::uint32_t max_segments = 256;  ///< the most segments in a received header
  std::uint32_t chunk_work = 256;    ///< send credits for chunks, in addition to one for each call credit
  Log log;                           ///< the connection becomes the subject of the lines
  /// Shared by the connections of a thread; outlives them. Null: no bound.
  PeerLogLimits* log_limits = nullptr;
  /// Bounds the receives of all connections that share it; must outlive them. Null: no bound common to connections.
  ReceiveBudget* receive_budget = nullptr;
};

class Connection final : public boost::intrusive_ref_counter<Connection, boost::thread_unsafe_counter>,
                         private fabric::QueuePairEvents {
 public:
  /// Starts to connect. Unless this function fails, on_connected() or on_disconnected() follows.
  static Result<boost::intrusive_ptr<Connection>> connect(const ConnectionSetup& setup, const fabric::Endpoint& peer,
                                                          ConnectionEvents& events);
  /// Starts to accept `request`. Unless this function fails, on_connected() or on_disconnected() follows.
  static Result<boost::intrusive_ptr<Connection>> accept(const ConnectionSetup& setup,
                                                         std::unique_ptr<fabric::ConnectionRequest> request,
                                                         ConnectionEvents& events);
  ~Connection();

  Role role() const noexcept { return setup_.role; }
  const ConnectionOptions& options() const noexcept { return setup_.options; }
  const fabric::ConnectionInfo& info() const noexcept { return info_; }
  const wire::Thresholds& thresholds() const noexcept { return thresholds_; }
  /// The version of the calls that this side sends; replies have the version of their call. With
  /// VersionChoice::automatic a client offers version two by its first call, and a server learns the version from the
  /// client's messages.
  std::uint32_t version() const noexcept { return version_; }
  /// Only VersionChoice::automatic makes this false: in a client until it decodes a message of version two or
  /// fall_back() is called, in a server until it decodes its first message. RDMA_ERRORs do not count.
  bool version_settled() const noexcept { return version_settled_; }
  /// To be called when the server has refused version two but supports version one. Later calls have version one.
  void fall_back() noexcept;
  /// True if the server has refused version two, or has not answered the call that offered it [v2-5.2-c] [v2-5.2-d].
  bool lacks_version_two() const noexcept {
    return setup_.options.version == VersionChoice::automatic &&
           (version_settled_ ? version_ == wire::kVersion : offered_);
  }
  /// The largest Send that may carry a call of this side, in bytes: the send threshold, or less while the version is
  /// not settled.
  std::uint32_t max_call() const noexcept;
  /// The size of the buffer in which a call or a reply begins: the send threshold before any change of characteristics.
  std::uint32_t buffer_size() const noexcept { return buffer_size_; }
  /// The largest send threshold of this connection so far.
  std::uint32_t highest_send() const noexcept { return highest_send_; }
  /// True if the peer may invalidate handles of this side, or was once allowed to: replies in transit may still do so.
  bool expects_invalidation() const noexcept { return expects_invalidation_; }
  /// The limits of headers that this side accepts.
  const wire::DecodeLimits& decode_limits() const noexcept { return decode_limits_; }
  fabric::Fabric& fabric() noexcept { return *setup_.fabric; }
  memory::Pool& pool() noexcept { return *setup_.pool; }
  /// ConnectionInfo::number; valid even before the connection is established.
  std::uint64_t number() const noexcept { return info_.number; }
  /// A Log whose lines are about this connection.
  const Log& log() const noexcept { return setup_.log; }
  /// The log for one line about a message that the peer has sent, or about a call of either side. `xid` is empty if it
  /// is unknown.
  LogAbout message_log(std::optional<std::uint32_t> xid) const noexcept {
    LogSubject subject = info_.subject();
    subject.xid = xid;
    return setup_.log.about(subject, setup_.log_limits != nullptr ? &setup_.log_limits->messages : nullptr);
  }
  /// The log for one line about why the connection ends.
  LogAbout end_log() const noexcept {
    return setup_.log.about(info_.subject(), setup_.log_limits != nullptr ? &setup_.log_limits->ends : nullptr);
  }
  /// Logs that the connection has ended, or was not made. To be called in on_disconnected().
  void log_end(error_code why) const;
  bool connected() const noexcept { return connected_; }

  /// Closes the connection in an orderly way; on_disconnected() follows.
  void close() noexcept;
  /// Ends the connection immediately; on_disconnected() follows. It reports the first `why` in place of the fabric's
  /// reason. FabricError::flushed and not_connected do not count: they are only consequences of the end. `message`, if
  /// any, is logged unless the connection has been aborted before; `xid` is that of the call that it is about.
  void abort(error_code why, const char* message = nullptr, std::optional<std::uint32_t> xid = {}) noexcept;

  // Transport characteristics, in version two.
  Characteristics characteristics() const noexcept;
  /// Null with VersionChoice::one. Valid as long as the connection.
  CharacteristicsExchange* exchange() noexcept;
  /// As CharacteristicsExchange::async_request() and async_change().
  void request_characteristics(const CharacteristicChange& wanted, CharacteristicsHandler handler);
  void change_characteristics(const CharacteristicChange& wanted, CharacteristicsHandler handler);
  /// The number of this side's call credits that an optional message holds at present: 0 or 1.
  std::uint32_t held_credits() const noexcept;
  /// False if the peer has announced that it does not accept reverse calls.
  bool peer_takes_reverse_calls() const noexcept;
  /// True if the peer accepts reverse calls with chunks: it has announced that, or its own reverse calls show it.
  bool peer_takes_reverse_chunks() const noexcept;
  /// True if offer_smaller_receives() makes sense: memory is short, the state is ExchangeState::active, this side's
  /// receives are larger than at first and are not being raised, and no offer was made since their size last changed.
  bool may_offer_smaller_receives() const noexcept;
  /// Tells the peer that this side would accept a request for the size that its receives had at first. Requires
  /// may_offer_smaller_receives().
  void offer_smaller_receives() noexcept;
  /// To be called when ConnectionEvents::backward_support() has changed.
  void backward_support_changed() noexcept;
  /// To be called for each version-two call of this side; `size` is the number of bytes that the call would have
  /// without chunks. The policy may then ask the peer for larger or smaller Receives.
  void note_own_call(std::uint64_t size) noexcept;
  /// To be called for each reply of version two that is planned with the current send threshold and posted later.
  /// plan_posted() takes the result. The peer is not asked for smaller receives until all replies that were planned
  /// with a higher threshold have been posted.
  std::uint8_t plan_made() noexcept {
    ++open_plans_[plan_epoch_];
    return plan_epoch_;
  }
  void plan_posted(std::uint8_t epoch) noexcept;
  /// Ends the connection immediately, without any further event. Posted and exposed memory is not accessed afterwards.
  void destroy() noexcept;

  /// The following three functions post work. On failure the connection is aborted, unless it has ended already, and
  /// on_disconnected() follows. Exception: if post_read() fails with FabricError::locked_memory, the connection stays
  /// as it is.
  error_code post_send(std::span<const BufferRef> gather, const fabric::SendOptions& options,
                       fabric::WorkContext* context) noexcept;
  error_code post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                        fabric::WorkContext* context) noexcept;
  error_code post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset,
                       fabric::WorkContext* context) noexcept;

  /// Returns an idle window, which is valid until the connection ends. The caller returns it with give_window() once it
  /// is no longer bound.
  Result<fabric::Window*> take_window();
  void give_window(fabric::Window* window) noexcept { windows_.give_back(*window); }
  /// A failure of bind() does not abort the connection; a failure of invalidate() does.
  Result<Segment> bind(fabric::Window& window, BufferRef memory, fabric::Access access);
  error_code invalidate(fabric::Window& window, fabric::WorkContext* context) noexcept;

  /// Credits for calls and for the reads, writes and windows of chunks.
  SendCredits& send_queue() noexcept { return send_queue_; }
  /// Credits that are reserved for replies: one for each call that the peer may have outstanding, and some for
  /// RDMA_ERROR messages.
  SendCredits& reply_queue() noexcept { return reply_queue_; }
  /// True if send credits are in use. When they are returned, on_batch_end() runs.
  bool has_work() const noexcept {
    return send_queue_.free() != send_queue_.capacity() || reply_queue_.free() != reply_queue_.capacity();
  }
  /// Posts receives until `count` of them are posted or lent, as far as options and memory allow. Returns receives().
  std::uint32_t provide_receives(std::uint32_t count) noexcept;
  /// The number of receives for calls and replies, without receives for optional messages.
  std::uint32_t receives() const noexcept { return receives_.count() - control_receives(); }
  std::size_t receive_octets() const noexcept { return receives_.octets(); }

  /// Every completion handler of a Send, RDMA operation or invalidation on this connection calls this function first.
  /// The end of the batch then submits the work that the handler posts.
  void enter_batch() noexcept {
    in_batch_ = true;
    ++progress_.completed;
  }
  /// The numbers of work requests with a context that were posted and completed since the start. While the two numbers
  /// differ and neither changes, the peer neither answers Reads nor accepts Writes and Sends.
  struct Progress {
    std::uint64_t posted = 0;
    std::uint64_t completed = 0;
  };
  const Progress& progress() const noexcept { return progress_; }
  /// The counters since the start. Still valid after the connection has ended.
  Traffic traffic() const noexcept;
  /// For the counters that the users of the connection update themselves: credits granted, long replies, discarded
  /// messages, and waits for credits, resources or bytes of a budget.
  Traffic& counted() noexcept { return traffic_; }
  /// The present time. Within a batch of completions, all calls return the time of the first call in the batch: a batch
  /// reads the clock once.
  std::chrono::steady_clock::time_point batch_time() noexcept;
  /// To be called when a reply has been posted. Counts in `latency` the nanoseconds from `arrived` until the work of
  /// this batch is submitted. `latency` must outlive the connection.
  void note_reply(Histogram& latency, std::chrono::steady_clock::time_point arrived) {
    replies_.push_back({&latency, arrived});
  }
  /// Counts a call that this side sends or receives, by the form of its header. Returns the kinds of its chunks.
  ChunkKinds count_call(const wire::Header& header) noexcept;
  /// Counts an RDMA_ERROR that this side sends or receives.
  void count_error(wire::ErrorKind kind) noexcept;
  /// The io_context of the fabric, on whose thread the connection is used.
  boost::asio::io_context& context() noexcept { return setup_.fabric->context(); }

 private:
  friend class ReceiveSlot;
  friend class ReceiveLease;
  friend class Control;
  /// `info`: what is known before the connection is made.
  Connection(const ConnectionSetup& setup, fabric::ConnectionInfo info, ConnectionEvents& events);
  fabric::QueuePairOptions queue_pair_options() const;
  wire::PrivateData own_private_data() const noexcept;
  bool may_invalidate_remotely() const noexcept {
    return setup_.options.remote_invalidation && setup_.fabric->capabilities().remote_invalidation;
  }
  std::uint32_t max_receives() const noexcept;
  std::uint32_t first_receives() const noexcept;
  std::uint32_t control_receives() const noexcept;
  std::uint32_t call_credits() const noexcept;
  bool add_receives(std::uint32_t more, bool within_budget);
  void begin_plans() noexcept { plan_epoch_ ^= 1; }
  bool old_plans_posted() const noexcept { return open_plans_[plan_epoch_ ^ 1] == 0; }
  error_code start(Result<std::unique_ptr<fabric::QueuePair>> queue_pair);
  error_code posted(error_code status, const fabric::WorkContext* context = nullptr) noexcept;
  void schedule_submit() noexcept;
  void end_batch() noexcept;
  void note_latencies() noexcept;
  void received(ReceiveSlot& slot, const fabric::Completion& completion) noexcept;
  void learn_version(const wire::Header& header) noexcept;
  void use_version_two() noexcept;
  void dispatch(Received& message) noexcept;
  void undecodable(wire::WireError error, Received& message) noexcept;
  void on_call(Received& message) noexcept;
  void repost(ReceiveSlot& slot) noexcept;
  void finish(error_code why) noexcept;

  void on_established(const fabric::ConnectionInfo& info) noexcept override;
  void on_rejected(const fabric::ConnectionInfo& peer) noexcept override;
  void on_disconnected(error_code why) noexcept override;
  void on_batch_end() noexcept override;

  ConnectionSetup setup_;
  ConnectionEvents* events_;
  wire::Thresholds thresholds_;
  wire::DecodeLimits decode_limits_;
  std::uint32_t version_;
  bool version_settled_;
  bool offered_ = false;  // a message has been sent while version_ was not settled
  fabric::ConnectionInfo info_;
  std::uint32_t buffer_size_ = wire::kMinThreshold;
  std::uint32_t highest_send_ = wire::kMinThreshold;
  bool expects_invalidation_ = false;
  std::uint8_t plan_epoch_ = 0;
  std::array<std::uint32_t, 2> open_plans_{};  // replies planned and not yet posted, by plan_epoch_
  const std::uint32_t first_receive_size_;
  ReceiveBuffers receives_;
  std::unique_ptr<Control> control_;  // null with VersionChoice::one
  std::unique_ptr<fabric::QueuePair> queue_pair_;
  Recycler<fabric::Window> windows_;  // destroyed before the queue pair
  SendCredits send_queue_;
  SendCredits reply_queue_;
  wire::Header header_;  // the header of the message being received; its lists keep their capacity
  error_code reason_;
  Progress progress_;
  Traffic traffic_;
  struct PostedReply {
    Histogram* latency;
    std::chrono::steady_clock::time_point arrived;
  };
  std::vector<PostedReply> replies_;                  // the replies posted in this batch
  std::chrono::steady_clock::time_point batch_time_;  // the clock's epoch if the clock has not been read in this batch
  WeakGuard<Connection> guard_{*this};
  bool connected_ = false;
  bool was_connected_ = false;
  bool closing_ = false;
  bool aborted_ = false;
  bool ended_ = false;
  bool in_batch_ = false;
  bool submit_scheduled_ = false;
};

using ConnectionPtr = boost::intrusive_ptr<Connection>;

}  // namespace rpcrdma::transport
