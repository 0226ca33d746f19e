// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <optional>

#include "core.hpp"
#include "peer_watch.hpp"
#include "queue_pair_state.hpp"
#include "receive_side.hpp"
#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/base/linger.hpp"
#include "rpcrdma/fabric/completion_dispatcher.hpp"
#include "send_side.hpp"
#include "window.hpp"

namespace rpcrdma::fabric::verbs {

/// A reliable connection on rdma_cm: its device objects and its state (queue_pair_state.hpp). SendSide and ReceiveSide
/// hold the outstanding work, and WindowTable holds the windows. The dispatcher runs the callbacks. PeerWatch decides
/// when to probe the peer. The methods are spread over files by event: queue_pair.cpp (making, posting, quiescing),
/// establish.cpp (connecting, accepting), completions.cpp (polling), ending.cpp (every other way to end).
class VerbsQueuePair final : public QueuePair,
                             private CmHandler,
                             private CompletionHandler,
                             private CompletionDispatcher::Owner,
                             private PeerWatch::Owner {
 public:
  enum class Role : std::uint8_t { connector, acceptor };

  /// For an acceptor, `request` is the connection request of the peer. For a connector, it has the peer's address only.
  static Result<std::unique_ptr<QueuePair>> make(const std::shared_ptr<Core>& core, CmId id, Role role,
                                                 const ConnectionInfo& request, QueuePairOptions options,
                                                 QueuePairEvents& events);
  VerbsQueuePair(const std::shared_ptr<Core>& core, CmId id, Role role, const ConnectionInfo& request,
                 QueuePairOptions options, QueuePairEvents& events);
  ~VerbsQueuePair() override;

  /// Keeps the result of bind_to_port() until rdma_connect() has returned, or until the connection has ended.
  void keep_port(Fd port) noexcept { port_ = std::move(port); }
  void start();

  error_code post_receive(BufferRef buffer, WorkContext* context) override;
  error_code post_send(std::span<const BufferRef> gather, const SendOptions& options, WorkContext* context) override;
  error_code post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                        WorkContext* context) override;
  error_code post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset, WorkContext* context) override;
  Result<std::unique_ptr<Window>> make_window() override;
  Result<Segment> bind(Window& window, BufferRef memory, Access access) override;
  error_code invalidate(Window& window, WorkContext* context) override;
  std::uint64_t read_waits() const noexcept override { return sends_.read_waits(); }
  void submit() override;
  void disconnect() override;
  void abort() override;
  void quiesce() noexcept override;

  /// To be called when the device is lost. Ends the connection, and releases the device objects. If an iWARP handshake
  /// is in progress, the rdma_cm_id, the queue pair and the completion queues are released only when the handshake
  /// ends. The user's callbacks run later, not within this function.
  void on_device_lost();

 private:
  using State = QueuePairState;
  using Event = QueuePairEvent;

  error_code create();
  error_code may_post() const noexcept;
  void submit_receives();
  error_code invalidate_key(VerbsWindow& window, WorkContext* context);
  /// Takes the transition of `event`; false if there is none.
  bool advance(Event event) noexcept;

  // Defined in establish.cpp:
  void on_cm_event(CmEvent event) noexcept override;
  error_code resolve();
  error_code connect();
  error_code connect_in_thread(const rdma_conn_param& wanted);
  void on_connect_returned(error_code failed);
  error_code accept();
  rdma_conn_param parameters() const noexcept;
  void on_peer_accepted(CmEvent event);
  void on_peer_rejected(CmEvent event);
  void establish(Event how);
  void arm_timer(std::chrono::milliseconds after);
  void on_timer();

  // Defined in completions.cpp:
  void on_completions() noexcept override;
  void on_dispatched() noexcept override { after_dispatch(); }
  void probe_peer() noexcept override;
  bool probing_peer() const noexcept override { return sends_.probing(); }
  bool heard_from_peer() const noexcept override { return receives_.any_taken(); }
  void poll();
  bool deliver();
  bool collects() const noexcept;
  void after_dispatch();
  void collect();
  bool collect_some();
  error_code expect_sends();
  void schedule_poll();
  void collect_receives(std::span<const ibv_wc> batch);
  void collect_sends(std::span<const ibv_wc> batch);
  void note_flush();
  void collect_receive(const ibv_wc& completion);
  void collect_send(const ibv_wc& completion);
  void collect_software();
  void complete(SendSide::Slot& slot, error_code status);
  error_code accept_message(const ibv_wc& completion, Completion& result);
  error_code violation(std::string_view what);
  void note_failure(const ibv_wc& completion, bool receive);

  // Defined in ending.cpp:
  void end_later(error_code why);
  void on_flush_unasked(error_code lost);
  error_code reason_of_disconnect() const noexcept;
  void hang_up();
  void finish(error_code why);
  void collect_rest();
  bool flush_rest();
  bool handshake_waits() const noexcept;
  void stop_receives() noexcept;
  void leave_to_kernel() noexcept;
  void drop_id() noexcept;
  void release_device() noexcept;

  const std::shared_ptr<Core> core_;
  const Role role_;
  State state_ = State::idle;
  QueuePairOptions options_;
  ConnectionInfo info_;
  Log log_;  // about this connection

  Fd port_;  // reserves the local port
  CmId id_;
  std::unique_ptr<BlockingCall> connecting_;  // rdma_connect, until it has returned
  NotifiedQueue received_;                    // completions of receives
  NotifiedQueue sent_;                        // completions of the send queue
  SendSide sends_;
  ReceiveSide receives_;
  std::shared_ptr<WindowTable> windows_;
  // A handler that the dispatcher has posted to the io_context also owns the dispatcher. The handler may run after this
  // object is destroyed.
  std::shared_ptr<CompletionDispatcher> dispatcher_;
  boost::asio::steady_timer timer_;
  PeerWatch peer_watch_;

  bool receives_flushed_ = false;       // a receive was flushed, for which note_flush() has not been called
  bool sends_flushed_ = false;          // the same for an operation of the send queue
  bool polling_ = false;                // in poll(), which arms sent_ at its end if that is necessary
  bool deferring_ = false;              // deferral_ runs
  boost::asio::steady_timer deferral_;  // bounds the time for which completions stay uncollected
  bool poll_scheduled_ = false;
  Linger linger_;
  bool ending_ = false;              // finish() has been posted
  std::optional<error_code> fault_;  // failure of a work request, or a violation by the peer; the connection then ends
  SelfPointer<VerbsQueuePair> self_{*this};
};

}  // namespace rpcrdma::fabric::verbs
