// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>

#include "fabric_state.hpp"
#include "framing/fpdu_writer.hpp"
#include "rpcrdma/fabric/completion_dispatcher.hpp"
#include "stream/exposure.hpp"
#include "stream/placement.hpp"

namespace rpcrdma::fabric::iwarp {

/// One work request of the send queue, from posting to completion.
struct Work {
  enum class Kind : std::uint8_t { send, write, read, invalidate };

  Kind kind = Kind::send;
  bool done = false;
  bool holds_slot = true;  ///< occupies a slot of the send queue; the ready-to-receive indication does not
  WorkContext* context = nullptr;
  std::array<BufferRef, kMaxWorkGather> gather;  ///< the data; for a Read, the sink
  std::uint32_t pieces = 0;
  std::uint32_t length = 0;
  SendOptions options;       ///< for a Send
  std::uint32_t handle = 0;  ///< for a Write or a Read: the peer's STag
  std::uint64_t offset = 0;
  Exposure* exposure = nullptr;  ///< for an invalidation: the state of its window; null once the window is destroyed

  // Progress.
  std::uint32_t sent = 0;  ///< bytes in the frames made so far; for a Read, bytes received
  std::uint32_t piece = 0;
  std::uint32_t piece_offset = 0;
  std::uint32_t sink_stag = 0;  ///< for a Read: the STag of the sink
};

/// The send queue of a stream: Sends, Writes, Reads and invalidations, which complete in order of posting.
///
/// Operation. The post functions append work requests to the queue. After submit(), add_frame() makes the frames of the
/// work requests in the order of the queue [5040-5.5-d] [5040-5.1-b] [5041-5.3-a]. A Send or Write is done when its
/// frames have been written to the socket. A Read is done when its whole Response has been placed. An invalidation is
/// done when no transfer uses the window any more. retire() completes a work request and removes it from the queue when
/// this work request and all earlier ones are done.
///
/// Ownership. Buffers, windows and contexts belong to the caller of the post function.
/// Error handling. A post function that fails has no effect. flush() completes the outstanding work requests with an
/// error.
class SendSide {
 public:
  SendSide(FabricState& fabric, CompletionDispatcher& dispatcher, std::uint32_t depth);
  /// To be called when the connection is established. `mulpdu`: the maximum number of bytes of one ULPDU; `reads`: ORD.
  void start(std::uint32_t mulpdu, std::uint32_t reads);

  error_code post_send(std::span<const BufferRef> gather, const SendOptions& options, WorkContext* context);
  error_code post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                        WorkContext* context);
  error_code post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset, WorkContext* context);
  /// Posts an invalidation of the window of `exposure`, but does not unbind the window. If there is no error, the
  /// caller must unbind it.
  error_code post_invalidate(Exposure& exposure, WorkContext* context);
  /// Posts and submits the ready-to-receive indication: an empty Send or Read.
  void post_indication(Work::Kind kind) noexcept;
  void submit() noexcept { submitted_ = works_.tail(); }
  bool empty() const noexcept { return works_.empty(); }
  /// As QueuePair::read_waits().
  std::uint64_t read_waits() const noexcept { return read_waits_; }
  /// To be called when the window of `exposure` is destroyed. Afterwards, the outstanding invalidations of this window
  /// no longer refer to `exposure`.
  void forget(const Exposure& exposure) noexcept;

  /// Advances past the submitted invalidations that are next in the send queue, because an invalidation needs no frame.
  void skip_invalidations() noexcept;
  /// Whether add_frame() may be called. True if a submitted work request still needs frames. Exception: false if the
  /// next such work request is an RDMA Read, and the maximum number of Reads is outstanding.
  bool has_message() noexcept;
  /// Makes the next frame; true if it is the last frame of its message. Requires has_message().
  bool add_frame(FpduWriter& writer) noexcept;
  /// To be called when all frames made so far have been written to the socket.
  void written() noexcept;

  // To be called for each segment of a Read Response: place_response() when the header has arrived, and
  // response_placed() when the segment is complete. place_response() returns where the payload belongs, or refuses the
  // segment; response_placed() must not be called for a refused segment.
  Placement place_response(const DdpHeader& header, std::uint32_t payload) noexcept;
  void response_placed(const DdpHeader& header, std::uint32_t payload) noexcept;

  /// Completes work requests in order, up to the first that is not done.
  void retire() noexcept;
  /// Completes the remaining work as flushed. To be called when the connection has ended.
  void flush() noexcept;

 private:
  error_code has_room() const noexcept;
  Work& add(Work::Kind kind, WorkContext* context) noexcept;
  error_code add_gather(std::span<const BufferRef> gather, Work::Kind kind, WorkContext* context, Work** work) noexcept;
  bool add_send_frame(Work& work, FpduWriter& writer) noexcept;
  bool add_write_frame(Work& work, FpduWriter& writer) noexcept;
  bool add_read_frame(Work& work, FpduWriter& writer) noexcept;
  bool finish_frame(Work& work, const DdpHeader& header, std::uint32_t count, FpduWriter& writer) noexcept;
  void complete(const Work& work, error_code status) noexcept;

  FabricState& fabric_;
  CompletionDispatcher& dispatcher_;
  const std::uint32_t depth_;
  std::uint32_t mulpdu_ = kMinMulpdu;
  std::uint32_t max_reads_ = 1;

  // The positions in the ring usually satisfy head <= sent_ <= cursor_ <= submitted_ <= tail. Exception: a work
  // request may complete and leave the ring before written() has moved sent_ past it. sent_ is then less than head
  // until the next call of written().
  Ring<Work> works_;
  std::uint64_t sent_ = 0;       // all work before this position has been written to the socket
  std::uint64_t cursor_ = 0;     // the work request that is being cut into frames
  std::uint64_t submitted_ = 0;  // all work before this position may be sent
  std::uint32_t slots_ = 0;
  Ring<std::uint64_t> reads_;           // positions in works_ of the Reads that await their Response
  std::uint32_t unanswered_reads_ = 0;  // Reads that the user posted and the peer has not answered
  std::uint64_t read_waits_ = 0;
  std::uint32_t send_msn_ = kFirstMsn;
  std::uint32_t read_msn_ = kFirstMsn;
};

}  // namespace rpcrdma::fabric::iwarp
