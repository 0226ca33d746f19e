// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <optional>

#include "aside.hpp"
#include "presence.hpp"
#include "receive_queue.hpp"
#include "send_queue.hpp"
#include "window.hpp"

namespace rpcrdma::fabric::verbs {

/// What a queue pair takes from its fabric.
struct FabricParts {
  boost::asio::io_context& context;
  std::shared_ptr<Presence> presence;
  std::shared_ptr<Device> device;
  VerbsOptions options;
  Log log;
  std::shared_ptr<Counters> counters = std::make_shared<Counters>();
};

/// A reliable connection on rdma_cm. Its methods are spread over files by what happens: queue_pair.cpp (making,
/// posting), establish.cpp (connecting, accepting), completions.cpp (polling), keepalive.cpp (peers that are idle, or
/// do not begin to talk), ending.cpp (every way to end).
class VerbsQueuePair final : public QueuePair, private CmHandler, private CompletionHandler {
 public:
  enum class Role : std::uint8_t { connector, acceptor };
  /// What each state waits for.
  enum class State : std::uint8_t {
    idle,         ///< start()
    resolving,    ///< ADDR_RESOLVED
    routing,      ///< ROUTE_RESOLVED
    connecting,   ///< ESTABLISHED, after rdma_connect
    accepting,    ///< ESTABLISHED, after rdma_accept
    settling,     ///< the timer that gives an iWARP acceptor its moment
    established,  ///< work
    draining,     ///< disconnect(): the send queue to run empty
    hanging_up,   ///< DISCONNECTED after rdma_disconnect, or the timer
    peer_fault,   ///< DISCONNECTED after an iWARP device flushed, or the timer
    ended,        ///< nothing; on_disconnected has run or runs next
  };

  /// `request`: what the peer asked for, if we are the acceptor.
  static Result<std::unique_ptr<QueuePair>> make(const FabricParts& parts, CmId id, Role role,
                                                 const ConnectionInfo& request, QueuePairOptions options,
                                                 QueuePairEvents& events);
  VerbsQueuePair(const FabricParts& parts, CmId id, Role role, const ConnectionInfo& request, QueuePairOptions options,
                 QueuePairEvents& events);
  ~VerbsQueuePair() override;

  void start();

  error_code post_receive(BufferRef buffer, WorkContext* context) override;
  error_code post_send(std::span<const BufferRef> gather, const SendOptions& options, WorkContext* context) override;
  error_code post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                        WorkContext* context) override;
  error_code post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset, WorkContext* context) override;
  Result<std::unique_ptr<Window>> make_window() override;
  Result<Segment> bind(Window& window, BufferRef memory, Access access) override;
  error_code invalidate(Window& window, WorkContext* context) override;
  void submit() override;
  void disconnect() override;
  void abort() override;
  void quiesce() noexcept override;

  /// Points to this as long as it lives, and to null afterwards.
  const std::shared_ptr<VerbsQueuePair*>& self() const noexcept { return self_; }
  /// Ends the connection, and leaves nothing of it to the device, which is gone. Runs callbacks.
  void on_device_lost();

 private:
  /// Tells a method whether a callback it made destroyed the queue pair.
  class Alive {
   public:
    explicit Alive(const VerbsQueuePair& queue_pair) : self_(queue_pair.self_) {}
    explicit operator bool() const noexcept { return *self_ != nullptr; }

   private:
    std::shared_ptr<VerbsQueuePair*> self_;
  };

  error_code create();
  error_code may_post() const noexcept;
  void submit_receives();
  error_code invalidate_key(VerbsWindow& window, WorkContext* context);

  // establish.cpp
  void on_cm_event(CmEvent event) noexcept override;
  error_code resolve();
  error_code connect();
  error_code connect_aside(const rdma_conn_param& wanted);
  void on_connect_returned(error_code failed);
  error_code accept();
  rdma_conn_param parameters() const noexcept;
  void on_peer_accepted(CmEvent event);
  void establish();
  void arm_timer(std::chrono::milliseconds after);
  void on_timer();

  // completions.cpp
  void on_completions() noexcept override;
  void on_device_trouble() noexcept override;
  void poll();
  void poll_batches();
  void schedule_poll();
  void deliver(std::span<const ibv_wc> batch);
  void deliver_receive(const ibv_wc& completion);
  void deliver_sends(const ibv_wc& completion);
  void deliver_software();
  void complete(SendQueue::Slot& slot, error_code status);
  error_code accept_message(const ibv_wc& completion, Completion& result);
  error_code violation(std::string_view what);
  void note_failure(const ibv_wc& completion);
  void end_batch();

  // keepalive.cpp
  void watch_peer();
  void on_quiet_quarter();
  void nudge_later();
  void on_nothing_heard_yet();

  // ending.cpp
  void end_later(error_code why);
  void on_flush_unasked(error_code lost);
  error_code reason_of_disconnect() const noexcept;
  void hang_up();
  void finish(error_code why);
  void deliver_rest();
  bool flush_rest();
  bool handshake_waits() const noexcept;
  void stop_receives() noexcept;
  void leave_to_kernel() noexcept;
  void drop_id() noexcept;
  void destroy_queue_pair() noexcept;
  void release_device() noexcept;

  FabricParts parts_;
  const Role role_;
  State state_ = State::idle;
  QueuePairOptions options_;
  QueuePairEvents& events_;
  ConnectionInfo info_;
  std::shared_ptr<VerbsQueuePair*> self_;  // null inside once this is destroyed

  CmId id_;
  std::unique_ptr<Aside> connecting_;  // rdma_connect, while it may not have returned
  CompletionQueue completions_;
  SendQueue sends_;
  ReceiveQueue receives_;
  std::shared_ptr<WindowTable> windows_;
  Watch::Interest cm_interest_;
  Watch::Interest completion_interest_;
  Watch::Interest async_interest_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer keepalive_timer_;
  boost::asio::steady_timer nudge_timer_;
  unsigned nudges_ = 0;
  unsigned quiet_quarters_ = 0;  // of the keepalive time, since the device completed anything

  bool batch_open_ = false;  // callbacks since the last on_batch_end
  bool delivering_ = false;  // callbacks of a batch are running
  bool poll_scheduled_ = false;
  bool ending_ = false;              // a deferred finish() is on its way
  std::optional<error_code> fault_;  // the first failure of an operation, which is why the connection ends
};

}  // namespace rpcrdma::fabric::verbs
