// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>

#include "fpdu_reader.hpp"
#include "fpdu_writer.hpp"
#include "initiator.hpp"
#include "request.hpp"
#include "rpcrdma/base/post_memory.hpp"
#include "rpcrdma/fabric/completion_dispatcher.hpp"
#include "wire/read_request.hpp"
#include "work.hpp"

namespace rpcrdma::fabric::iwarp {

/// One RDMAP stream over one TCP connection: all of a queue pair but its handle. Split over files by event: posting,
/// transmitting, receiving (socket and segments, tagged, untagged), completing, connecting, ending.
///
/// Kept by its handle, its windows and its handlers on the io_context.
class Stream final : public std::enable_shared_from_this<Stream>,
                     private SegmentSink,
                     private CompletionDispatcher::Owner {
 public:
  /// idle --start--> connecting --Reply--> established --disconnect()--> closing --both ends--> closed.
  /// Any of them --abort(), error--> closed. In `closing` what was posted still goes out.
  enum class State : std::uint8_t { idle, connecting, established, closing, closed };

  Stream(std::shared_ptr<FabricState> fabric, QueuePairOptions options, QueuePairEvents& events);

  // Posting (stream_post.cpp).
  error_code post_receive(BufferRef buffer, WorkContext* context);
  error_code post_send(std::span<const BufferRef> gather, const SendOptions& options, WorkContext* context);
  error_code post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                        WorkContext* context);
  error_code post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset, WorkContext* context);
  Result<Segment> bind(Exposure& exposure, BufferRef memory, Access access);
  error_code invalidate(Exposure& exposure, WorkContext* context);
  void submit();
  /// A window comes and goes.
  void adopt(Exposure& exposure);
  void forget(Exposure& exposure) noexcept;

  // Connecting (stream_connect.cpp).
  void connect(const Endpoint& peer);
  void set_request(std::unique_ptr<Request> request) { request_ = std::move(request); }
  void accept();
  State state() const noexcept { return state_; }

  // Ending (stream_end.cpp).
  void disconnect();
  void abort();
  /// No callback from here on.
  void quiesce() noexcept;

 private:
  enum class Parting : std::uint8_t { close, reset, farewell };
  enum class Sending : std::uint8_t { nothing, work, response };

  // Posting.
  error_code may_post() const noexcept;
  Work& add_work(Work::Kind kind, WorkContext* context) noexcept;
  error_code add_gather(std::span<const BufferRef> gather, Work::Kind kind, WorkContext* context, Work** work) noexcept;
  void unbind(Exposure& exposure) noexcept;

  // Connecting.
  void connected(Initiator::Outcome outcome);
  void establish(Socket socket, const Agreement& agreement, ConnectionInfo info);
  void post_ready_to_receive(ReadyToReceive kind);
  void start_nudge_timer(std::chrono::milliseconds after);

  // Transmitting (stream_transmit.cpp).
  void transmit();
  void await_writable();
  bool add_frame() noexcept;
  void choose() noexcept;
  void add_empty_write() noexcept;
  void add_work_frame(Work& work) noexcept;
  void add_send_frame(Work& work) noexcept;
  void add_write_frame(Work& work) noexcept;
  void add_read_frame(Work& work) noexcept;
  void add_payload(Work& work, std::uint32_t count) noexcept;
  void add_response_frame() noexcept;
  void batch_written() noexcept;
  void shut_down_if_drained();

  // Receiving (stream_receive.cpp): the socket, and the segments that FpduReader finds.
  bool may_read() const noexcept;
  void read();
  void on_read(error_code error, std::size_t count);
  void received(error_code error, std::size_t count);
  void on_end_of_stream();
  std::byte* on_segment(const DdpHeader& header, std::uint32_t payload) noexcept override;
  void on_segment_end() noexcept override;
  void on_framing_error(const TerminateCode& error) noexcept override;
  /// Notes that the segment at hand may not be. Always null.
  std::byte* refuse(const TerminateCode& error, FabricError why = FabricError::protocol_violation) noexcept;

  // Tagged segments (stream_tagged.cpp).
  std::byte* on_write(const DdpHeader& header, std::uint32_t payload) noexcept;
  std::byte* on_response(const DdpHeader& header, std::uint32_t payload) noexcept;
  void write_placed() noexcept;
  void response_placed() noexcept;

  // Untagged segments (stream_untagged.cpp).
  std::byte* on_send(const DdpHeader& header, std::uint32_t payload) noexcept;
  std::byte* on_read_request(const DdpHeader& header, std::uint32_t payload) noexcept;
  std::byte* on_terminate(const DdpHeader& header, std::uint32_t payload) noexcept;
  void send_placed() noexcept;
  bool invalidate_by_peer(Receive& receive, std::uint32_t stag) noexcept;
  void read_requested() noexcept;
  const TerminateCode* check_source(const ReadRequest& request, Exposure** exposure) const noexcept;
  void terminated() noexcept;

  // Completing (stream_complete.cpp).
  void unpin(Exposure* exposure) noexcept;
  void retire() noexcept;
  void flush() noexcept;
  void complete(WorkContext* context, const Completion& completion, std::uint32_t& slots) noexcept;
  void wake() { dispatcher_.wake(shared_from_this()); }
  void progress();
  void on_dispatched() noexcept override;

  // Ending.
  /// Ends this side: all outstanding work is flushed, on_disconnected(why) follows.
  void end(error_code why, Parting parting = Parting::close, std::vector<std::byte> last_words = {}) noexcept;
  /// Ends it with a Terminate for the segment at hand.
  void violate(const TerminateCode& error, FabricError why) noexcept;
  void part(Parting parting, std::vector<std::byte> last_words) noexcept;
  void arm_close_timer();

  const std::shared_ptr<FabricState> fabric_;
  QueuePairOptions options_;
  const std::uint64_t number_;
  State state_ = State::idle;

  CompletionDispatcher dispatcher_;
  PostMemory read_memory_;   // of the pending read
  PostMemory write_memory_;  // of the pending wait until the socket is writable
  Socket socket_;
  boost::asio::steady_timer timer_;       // the nudge, then the end
  std::shared_ptr<Initiator> initiator_;  // while connecting
  std::unique_ptr<Request> request_;      // an acceptor's, until accept()
  ConnectionInfo info_;
  Agreement agreement_;
  std::uint32_t mulpdu_ = kMinMulpdu;

  // The send queue. Numbers: head <= sent_ <= cursor_ <= submitted_ <= tail, but that finished work may be retired
  // before sent_ has passed it.
  Ring<Work> works_;
  std::uint64_t sent_ = 0;       // everything before it has been written to the socket
  std::uint64_t cursor_ = 0;     // frames are being made of this one
  std::uint64_t submitted_ = 0;  // for the wire
  std::uint32_t send_slots_ = 0;
  Ring<std::uint64_t> reads_out_;  // works that await their Response
  std::uint32_t send_msn_ = kFirstMsn;
  std::uint32_t read_msn_ = kFirstMsn;

  // The peer's Reads. Numbers: head <= response_cursor_ <= tail.
  Ring<InboundRead> reads_in_;
  std::uint64_t response_cursor_ = 0;  // frames are being made of this one

  FpduWriter writer_;
  Sending sending_ = Sending::nothing;  // the message that frames are being made of
  bool work_was_last_ = false;
  bool may_transmit_ = false;     // the responder waits for the first FPDU
  bool empty_write_due_ = false;  // the nudge, or the ready-to-receive indication
  bool writable_awaited_ = false;
  error_code write_error_;
  bool shut_down_ = false;    // our direction has ended
  bool peer_closed_ = false;  // theirs has

  // The receive queue. Numbers: head <= placing_ <= tail.
  Ring<Receive> receives_;
  std::uint64_t placing_ = 0;  // the one being filled
  std::uint32_t placed_ = 0;   // octets of its message so far
  std::uint32_t receive_slots_ = 0;
  std::uint32_t expected_send_ = kFirstMsn;
  std::uint32_t expected_read_ = kFirstMsn;

  // The segment at hand.
  FpduReader reader_{*this};
  std::size_t planned_ = 0;  // octets that the last plan had room for
  DdpHeader segment_;
  std::uint32_t segment_payload_ = 0;
  Exposure* placement_ = nullptr;  // pinned by it
  std::optional<TerminateCode> refusal_;
  FabricError refusal_reason_ = FabricError::protocol_violation;
  std::array<std::byte, 64> control_{};  // payload of Read Requests and Terminates
  bool any_segment_ = false;

  std::vector<Exposure*> exposures_;  // of this stream's windows
};

}  // namespace rpcrdma::fabric::iwarp
