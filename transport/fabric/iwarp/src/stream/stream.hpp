// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>

#include "framing/fpdu_reader.hpp"
#include "rpcrdma/base/linger.hpp"
#include "rpcrdma/base/post_memory.hpp"
#include "setup/initiator.hpp"
#include "setup/request.hpp"
#include "stream/frame_source.hpp"
#include "stream/receive_side.hpp"
#include "stream/stream_state.hpp"

namespace rpcrdma::fabric::iwarp {

/// A queue pair: one RDMAP stream over one TCP connection. An IwarpQueuePair is the user's handle to the stream.
///
/// Most of the state belongs to the parts of the stream. SendSide, ReceiveSide and ReadResponder own the queues.
/// Exposures owns the list of windows, and StreamState the state of the connection. FrameSource decides which message
/// is sent next. The class Stream connects these parts to the socket. Its functions are in five files: stream.cpp
/// (posting and completing work), stream_connect.cpp, stream_transmit.cpp, stream_receive.cpp and stream_end.cpp.
///
/// The user's handle, each window and some handlers on the io_context keep the stream alive.
class Stream final : public std::enable_shared_from_this<Stream>,
                     private SegmentSink,
                     private CompletionDispatcher::Owner {
 public:
  Stream(std::shared_ptr<FabricState> fabric, QueuePairOptions options, QueuePairEvents& events);

  // Posting (stream.cpp).
  error_code post_receive(BufferRef buffer, WorkContext* context);
  error_code post_send(std::span<const BufferRef> gather, const SendOptions& options, WorkContext* context);
  error_code post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                        WorkContext* context);
  error_code post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset, WorkContext* context);
  Result<Segment> bind(Exposure& exposure, BufferRef memory, Access access);
  error_code invalidate(Exposure& exposure, WorkContext* context);
  void submit();
  std::uint64_t read_waits() const noexcept { return sends_.read_waits(); }
  // adopt() is to be called when a window is created, forget() when it is destroyed.
  void adopt(Exposure& exposure) { exposures_.adopt(exposure); }
  void forget(Exposure& exposure) noexcept;

  /// The TCP retransmissions of the socket; also valid after the end of the connection.
  std::uint64_t retransmissions() noexcept {
    return socket_.is_open() ? fabric::iwarp::retransmissions(socket_) : retransmissions_;
  }

  // Connecting (stream_connect.cpp).
  void set_request(std::unique_ptr<Request> request) { request_ = std::move(request); }
  /// Connects to `peer` or, if there is none, accepts the Request. Call once.
  void start(const std::optional<Endpoint>& peer);

  // Ending (stream_end.cpp).
  void disconnect();
  void abort();
  /// Ends the connection without telling the user: no callback of QueuePairEvents or WorkContext starts after this
  /// call.
  void quiesce() noexcept;

 private:
  using Event = StreamState::Event;
  enum class Parting : std::uint8_t { close, reset, farewell };

  // Connecting.
  void connect(const Endpoint& peer);
  void connected(Initiator::Outcome outcome);
  void accept();
  void establish(Socket socket, const Agreement& agreement, ConnectionInfo info);
  bool within_host() const;
  std::uint32_t choose_mulpdu();
  void post_ready_to_receive(ReadyToReceive kind);
  void start_nudge_timer(std::chrono::milliseconds after);

  // Transmitting (stream_transmit.cpp).
  void transmit();
  void await_writable();
  void batch_written() noexcept;
  bool drained() const noexcept;
  void shut_down_if_drained();

  // Receiving (stream_receive.cpp): the socket, and the segments that FpduReader finds.
  void read();
  void on_read(error_code error, std::size_t count);
  bool linger(error_code& error, std::size_t& count);
  bool read_now(error_code& error, std::size_t& count);
  void received(error_code error, std::size_t count);
  void on_end_of_stream();
  Target on_segment(const DdpHeader& header, std::uint32_t payload) noexcept override;
  void on_segment_end() noexcept override;
  void on_framing_error(const TerminateCode& error) noexcept override;
  Placement place(const DdpHeader& header, std::uint32_t payload) noexcept;
  Placement place_terminate(const DdpHeader& header, std::uint32_t payload) noexcept;
  void refuse(const Placement& refusal) noexcept;
  void send_placed() noexcept;
  void write_placed() noexcept;
  void read_requested() noexcept;
  void terminated() noexcept;

  // Completing (stream.cpp).
  void retire() noexcept;
  void flush() noexcept;
  void wake() { dispatcher_.wake(shared_from_this()); }
  void progress();
  void on_dispatched() noexcept override;

  // Ending (stream_end.cpp).
  /// Ends the connection, unless it has ended already. `parting` says how the socket is closed. `last_words` are sent
  /// only with Parting::farewell. This function flushes all outstanding work. on_disconnected(why) follows.
  void end(error_code why, Parting parting = Parting::close, std::vector<std::byte> last_words = {}) noexcept;
  /// Ends the connection with a Terminate for the current segment. Exception: if `error` is an error of MPA and
  /// may_transmit_ is false, this side sends no Terminate.
  void violate(const TerminateCode& error, FabricError why) noexcept;
  void part(Parting parting, std::vector<std::byte> last_words) noexcept;
  void arm_close_timer();

  const std::shared_ptr<FabricState> fabric_;
  const QueuePairOptions options_;
  Log log_;  // about this connection, from start() on
  StreamState state_;
  CompletionDispatcher dispatcher_;

  PostMemory read_memory_;   // for the handler of the pending read
  PostMemory write_memory_;  // for the handler that waits until the socket is writable
  Socket socket_;
  bool has_waited_ = false;            // await_writable() has been called
  std::uint64_t retransmissions_ = 0;  // the result of retransmissions() after socket_ has been closed
  // Has one of two uses at a time: start_nudge_timer() uses the timer after an initiator has connected, and
  // arm_close_timer() uses it from disconnect() on.
  boost::asio::steady_timer timer_;
  std::shared_ptr<Initiator> initiator_;  // sets up the connection of an initiator; null before and after the set-up
  std::unique_ptr<Request> request_;      // the connection request that an acceptor accepts; null after accept()
  ConnectionInfo info_;
  Agreement agreement_;

  Exposures exposures_;
  SendSide sends_;
  ReceiveSide receives_;
  ReadResponder responder_;

  // Transmitting.
  FrameSource source_{sends_, responder_};
  FpduWriter writer_;
  // Whether this side may send FPDUs. An initiator may send from the end of the set-up on, and an acceptor only from
  // the peer's first valid FPDU on.
  bool may_transmit_ = false;
  bool writable_awaited_ = false;
  error_code write_error_;

  // Receiving.
  FpduReader reader_{*this};
  std::size_t planned_ = 0;  // bytes of the buffers that reader_.plan() returned last
  Linger linger_;
  bool any_segment_ = false;
  struct {
    DdpHeader header;
    std::uint32_t payload = 0;
    const std::byte* at = nullptr;       // where its payload is placed
    Placement refusal;                   // with CRCs: takes effect when the CRC has been found correct
  } segment_;                            // the segment that is arriving
  std::array<std::byte, 64> control_{};  // payload of Read Requests and Terminates
};

}  // namespace rpcrdma::fabric::iwarp
