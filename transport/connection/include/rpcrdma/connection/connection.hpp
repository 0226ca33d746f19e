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

#include "rpcrdma/base/after_handler.hpp"
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
  /// An RPC call has arrived. In version one, an RDMA_NOMSG is a call if it has a Position-Zero Read chunk. In version
  /// two, it is a call if the direction in its header is Direction::call. To keep the payload, this function may move
  /// `message.lease` to another object. The header is reused for the next message. To keep the contents of the header,
  /// this function may swap them with those of another Header.
  virtual void on_call(Received& message) noexcept = 0;
  /// An RPC reply. An RDMA_NOMSG that is not a call is reported as a reply, although its RPC message has not been read.
  virtual void on_reply(Received& message) noexcept = 0;
  /// An RDMA_ERROR, unless it answers an optional message of this side.
  virtual void on_peer_error(Received& message) noexcept = 0;
  /// A message whose header cannot be decoded, or whose payload is neither a call nor a reply. In the second case
  /// `error` is bad_chunks. If the content or the direction of an optional message is invalid, the connection answers
  /// the message itself, and this event does not occur.
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

/// Limits the number of log lines that peers can cause on the connections that share this object. Used on one thread.
struct PeerLogLimits {
  LogLimit messages;  ///< limits the lines about messages and calls
  LogLimit ends;      ///< limits the lines about connections that end or are not accepted
};

struct ConnectionSetup {
  fabric::Fabric* fabric = nullptr;
  memory::Pool* pool = nullptr;
  Role role = Role::client;
  ConnectionOptions options;
  std::uint32_t max_segments = 256;  ///< the most segments in a received header
  /// The number of send credits for the RDMA Reads, RDMA Writes and windows of chunks. The connection has one more send
  /// credit for each call that this side may have outstanding.
  std::uint32_t chunk_work = 256;
  Log log;  ///< the connection becomes the subject of the lines
  /// Limits the number of log lines that peers can cause. Connections of one thread may share the object, which must
  /// outlive them. Null: no limit.
  PeerLogLimits* log_limits = nullptr;
  /// Limits the memory that the receives of several connections take together. The object must outlive the connections
  /// that share it. If the pointer is null, there is no common limit.
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
  /// Whether the version is settled. With VersionChoice::one or two it is settled from the start. With
  /// VersionChoice::automatic, a client settles it when it decodes a message of version two, or when fall_back() is
  /// called. A server settles it when it decodes its first message, but changes from version one to two if a message of
  /// version two follows. An RDMA_ERROR does not settle it.
  bool version_settled() const noexcept { return version_settled_; }
  /// To be called when the server has refused version two but supports version one. Later calls have version one.
  void fall_back() noexcept;
  /// True if the server has refused version two, or has not answered the call that offered it [v2-5.2-c] [v2-5.2-d].
  bool lacks_version_two() const noexcept {
    return setup_.options.version == VersionChoice::automatic &&
           (version_settled_ ? version_ == wire::kVersion : offered_);
  }
  /// The maximum size in bytes of a Send that carries a call of this side. This is the send threshold. Until the
  /// version of the connection is settled, it is at most 1024, because the peer may support version one only.
  std::uint32_t max_call() const noexcept;
  /// The size in bytes of the buffer in which each call or reply of this side begins. This is the send threshold that
  /// applies before any transport characteristics are announced or changed.
  std::uint32_t buffer_size() const noexcept { return buffer_size_; }
  /// The highest value that the send threshold of this connection has had so far.
  std::uint32_t highest_send() const noexcept { return highest_send_; }
  /// True if the peer may invalidate handles of this side by Send with Invalidate. Stays true if the permission ends,
  /// because a reply that is already in transit may still invalidate a handle.
  bool expects_invalidation() const noexcept { return expects_invalidation_; }
  /// The limits of headers that this side accepts.
  const wire::DecodeLimits& decode_limits() const noexcept { return decode_limits_; }
  fabric::Fabric& fabric() noexcept { return *setup_.fabric; }
  memory::Pool& pool() noexcept { return *setup_.pool; }
  /// ConnectionInfo::number; valid even before the connection is established.
  std::uint64_t number() const noexcept { return info_.number; }
  /// A Log whose lines are about this connection.
  const Log& log() const noexcept { return setup_.log; }
  /// A log for a line about a message that the peer has sent, or about a call of either side. PeerLogLimits::messages
  /// limits the number of such lines. `xid` is empty if the XID of the message or call is unknown.
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
  /// Ends the connection immediately; on_disconnected() follows. If abort() is called several times, on_disconnected()
  /// gets the first `why`. FabricError::flushed and not_connected are ignored, because they are only consequences of
  /// the end. If every `why` is ignored, on_disconnected() gets the fabric's reason. The first call of abort() logs its
  /// `message`, if it has one. `xid` is the XID of the call to which the message refers.
  void abort(error_code why, const char* message = nullptr, std::optional<std::uint32_t> xid = {}) noexcept;

  // Transport characteristics, in version two.
  Characteristics characteristics() const noexcept;
  /// Returns null with VersionChoice::one. The exchange that it returns is valid while this Connection object exists.
  CharacteristicsExchange* exchange() noexcept;
  /// request_characteristics() and change_characteristics() do the same as CharacteristicsExchange::async_request() and
  /// async_change().
  void request_characteristics(const CharacteristicChange& wanted, CharacteristicsHandler handler);
  void change_characteristics(const CharacteristicChange& wanted, CharacteristicsHandler handler);
  /// The number of this side's call credits that an optional message holds at present: 0 or 1.
  std::uint32_t held_credits() const noexcept;
  /// False if the peer has announced that it does not accept reverse calls.
  bool peer_takes_reverse_calls() const noexcept;
  /// True if the peer is known to accept reverse calls with chunks. Either the peer has announced this, or this side
  /// has inferred it from a reverse call with chunks that the peer has sent.
  bool peer_takes_reverse_chunks() const noexcept;
  /// Returns whether offer_smaller_receives() may be called. The memory for receives must be short, and the state must
  /// be ExchangeState::active. This side's receives must be larger than their first size, and must not be growing. This
  /// side must not have made an offer since it last lowered their size or began to raise it.
  bool may_offer_smaller_receives() const noexcept;
  /// Tells the peer that this side would accept a request for the size that its receives had at first. Requires
  /// may_offer_smaller_receives().
  void offer_smaller_receives() noexcept;
  /// To be called when ConnectionEvents::backward_support() has changed.
  void backward_support_changed() noexcept;
  /// To be called for each version-two call of this side; `size` is the number of bytes that the call would have
  /// without chunks. The policy may then ask the peer for larger or smaller Receives.
  void note_own_call(std::uint64_t size) noexcept;
  /// To be called when a reply of version two has been planned for the current send threshold. When that reply has been
  /// posted, the caller passes the result of this function to plan_posted(). This side does not ask the peer for
  /// smaller receives while a reply that was planned for a higher threshold has not been posted yet.
  std::uint8_t plan_made() noexcept {
    ++open_plans_[plan_epoch_];
    return plan_epoch_;
  }
  void plan_posted(std::uint8_t epoch) noexcept;
  /// Ends the connection immediately, without any further event. Posted and exposed memory is not accessed afterwards.
  void destroy() noexcept;

  /// The following three functions post work. If one of them fails, the connection is aborted and on_disconnected()
  /// follows, unless the connection has ended already. There is one exception: if post_read() fails with
  /// FabricError::locked_memory, the connection stays as it is.
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
  /// Exposes `memory` to the peer through `window`. The result is the segment to send to the peer. If this function
  /// fails, the connection stays as it is.
  Result<Segment> bind(fabric::Window& window, BufferRef memory, fabric::Access access);
  /// Posts the invalidation of `window`. On failure the connection is aborted, unless it has ended already.
  error_code invalidate(fabric::Window& window, fabric::WorkContext* context) noexcept;

  /// The entries of the send queue for the Sends of calls, and for the work requests of chunks: RDMA Reads, RDMA
  /// Writes, binds and invalidations.
  SendCredits& send_queue() noexcept { return send_queue_; }
  /// The entries of the send queue for the Sends of replies: one for each call that the peer may have outstanding, and
  /// some for RDMA_ERROR messages.
  SendCredits& reply_queue() noexcept { return reply_queue_; }
  /// True if entries of send_queue() or reply_queue() are reserved. When they are returned, on_batch_end() runs.
  bool has_work() const noexcept {
    return send_queue_.free() != send_queue_.capacity() || reply_queue_.free() != reply_queue_.capacity();
  }
  /// Adds receives until receives() is at least `count`, as far as the options and the memory allow, and posts them.
  /// Returns receives(). This number includes the receives whose message a ReceiveLease holds.
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
  /// To be called before work is posted that should not wait for other handlers. Outside a batch, the work is then
  /// submitted at the end of the present handler of the io_context, if AfterHandler permits it. If AfterHandler does
  /// not, or if a submission has already been scheduled, this call changes nothing.
  void submit_soon() noexcept;
  /// The numbers of work requests of the send queue that were posted with a context since the start, and of those that
  /// have completed. If the two numbers differ and `completed` does not grow for a long time, the peer has probably
  /// stopped answering Reads or accepting Writes and Sends.
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
  /// Returns the present time. Within a batch of completions, the function reads the clock only the first time that it
  /// is called, and later returns the same time again.
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
  void scheduled_submit() noexcept;
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
  // For each value of plan_epoch_: the number of replies that were planned while it had this value, and that have not
  // been posted yet.
  std::array<std::uint32_t, 2> open_plans_{};
  const std::uint32_t first_receive_size_;
  ReceiveBuffers receives_;
  std::unique_ptr<Control> control_;  // null with VersionChoice::one
  std::unique_ptr<fabric::QueuePair> queue_pair_;
  Recycler<fabric::Window> windows_;  // declared after queue_pair_, which must outlive its windows
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
  AfterHandler after_handler_;
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
