// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <boost/container/small_vector.hpp>
#include <deque>
#include <memory>
#include <optional>

#include "core.hpp"
#include "frame.hpp"
#include "rpcrdma/fabric/completion_dispatcher.hpp"

namespace rpcrdma::fabric::loopback {

/// One end of a connection: a queue pair, to which LoopbackQueuePair is the user's handle. The member functions are
/// spread over files by event: posting, moving frames, arriving, completing, connecting.
class End : public std::enable_shared_from_this<End> {
 public:
  enum class State { idle, connecting, established, closing, closed };

  End(std::shared_ptr<Core> core, std::shared_ptr<FabricState> fabric, QueuePairOptions options,
      QueuePairEvents& events);

  // Posting (end_post.cpp).
  error_code post_receive(BufferRef buffer, WorkContext* context);
  error_code post_send(std::span<const BufferRef> gather, const SendOptions& options, WorkContext* context);
  error_code post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                        WorkContext* context);
  error_code post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset, WorkContext* context);
  Result<Segment> bind(const std::shared_ptr<WindowState>& window, BufferRef memory, Access access);
  error_code invalidate(const std::shared_ptr<WindowState>& window, WorkContext* context);
  void submit();
  std::uint64_t read_waits() const noexcept { return read_waits_; }
  void unbind(WindowState& window) noexcept;

  // Connecting and ending (end_connect.cpp, except die(), which is in end_complete.cpp).
  void enlist() { number_ = core_->enlist(shared_from_this()); }
  void start_connecting(const Endpoint& peer);
  void start_accepting();
  void set_connector(std::weak_ptr<End> connector, ConnectionInfo info);
  void disconnect();
  void abort();
  void quiesce() noexcept;
  /// To be called when the device of this side is lost: ends both sides of the connection.
  void lose_device();
  /// Ends this side: flushes all outstanding work; on_disconnected(why) follows.
  void die(error_code why) noexcept;

  // Called by the Core, each at most once in a turn (end_frames.cpp, end_arrive.cpp, end_complete.cpp).
  void move_frames();
  void dispatch() { dispatcher_.run(1); }
  bool busy() const noexcept;

  const std::shared_ptr<Core>& core() const noexcept { return core_; }
  FabricState& fabric() const noexcept { return *fabric_; }
  State state() const noexcept { return state_; }

 private:
  struct Work {
    enum class Kind : std::uint8_t { send, write, read, bind, invalidate };
    enum class Stage : std::uint8_t { posted, waiting, done };
    Kind kind;
    Stage stage = Stage::posted;
    WorkContext* context = nullptr;
    boost::container::small_vector<BufferRef, 4> gather;
    std::uint32_t length = 0;
    SendOptions options;
    std::uint32_t handle = 0;
    std::uint64_t offset = 0;
    std::shared_ptr<WindowState> window;
  };
  struct Receive {
    BufferRef buffer;
    WorkContext* context;
  };
  enum class Arrival { taken, wait, dead };

  error_code may_post(LoopbackOperation operation) noexcept;
  error_code check_gather(std::span<const BufferRef> gather, std::uint32_t& length) const noexcept;
  Work& add_work(Work::Kind kind, WorkContext* context);

  void establish(const ConnectionInfo& info);
  void answer(const std::shared_ptr<End>& connector);

  void transmit();
  bool transmit(Work& work);
  void send_frame(Frame frame);
  void enqueue(Frame frame);
  void serve_reads();
  void retire();
  void complete(WorkContext& context, Completion completion, std::uint32_t& slots, std::uint32_t count) noexcept;
  void flush() noexcept;

  void arrive();
  Arrival take(Frame& frame);
  Arrival take_send(Frame& frame);
  Arrival take_write(Frame& frame);
  Arrival take_read_request(Frame& frame);
  Arrival take_read_response(Frame& frame);
  Arrival take_close();
  Arrival violation(error_code ours, error_code peers) noexcept;
  /// Returns the window that the peer's RDMA Write or Read Request `frame` names. Returns null if the peer may not
  /// access the range of `frame` in this way.
  std::shared_ptr<WindowState> accessed(const Frame& frame, Access access) const noexcept;

  std::shared_ptr<Core> core_;
  std::shared_ptr<FabricState> fabric_;
  QueuePairOptions options_;
  std::uint64_t number_ = 0;
  State state_ = State::idle;
  std::weak_ptr<End> peer_;
  ConnectionInfo info_;
  CompletionDispatcher dispatcher_;
  boost::asio::steady_timer timer_;

  // The send queue, oldest first. submit() permits transmit() to process the first `submitted_` entries. transmit() has
  // already processed the first `transmitted_` of them.
  std::deque<Work> work_;
  std::size_t submitted_ = 0;
  std::size_t transmitted_ = 0;
  std::uint32_t send_slots_ = 0;
  std::uint32_t silent_slots_ = 0;  // slots that unsignalled work holds until later signalled work completes
  std::uint32_t reads_out_ = 0;
  // The number of Reads that this side has posted and the peer has not answered. It includes the Reads whose requests
  // wait in the send queue. reads_out_ counts only those whose requests have been sent.
  std::uint32_t unanswered_reads_ = 0;
  std::uint64_t read_waits_ = 0;
  std::deque<Receive> receives_;
  std::uint32_t receive_slots_ = 0;

  std::deque<Frame> incoming_;
  std::deque<Frame> reads_in_;  // Read Requests of the peer that this side has accepted and not yet answered
  bool close_sent_ = false;
};

}  // namespace rpcrdma::fabric::loopback
