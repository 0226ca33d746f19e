// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "stream/read_responder.hpp"
#include "stream/send_side.hpp"

namespace rpcrdma::fabric::iwarp {

/// Chooses the next message to send. Work requests and Read Responses take turns, message by message. An empty Write
/// that is due is sent before the next message.
class FrameSource {
 public:
  FrameSource(SendSide& sends, ReadResponder& responder) noexcept : sends_(sends), responder_(responder) {}

  /// Makes fill() add an empty RDMA Write before the next message. The Write is the ready-to-receive indication, or one
  /// of the Writes by which Stream::start_nudge_timer() makes the peer process what it has received.
  void demand_empty_write() noexcept { empty_write_due_ = true; }
  /// Adds frames to `writer` until it is full or there is nothing to send.
  void fill(FpduWriter& writer) noexcept {
    while (writer.has_room(sending_ != Sending::nothing) && add_frame(writer)) {
    }
  }

 private:
  enum class Sending : std::uint8_t { nothing, work, response };

  bool add_frame(FpduWriter& writer) noexcept;
  void choose() noexcept;

  SendSide& sends_;
  ReadResponder& responder_;
  Sending sending_ = Sending::nothing;  // the message that is being cut into frames
  bool work_was_last_ = false;
  bool empty_write_due_ = false;
};

}  // namespace rpcrdma::fabric::iwarp
