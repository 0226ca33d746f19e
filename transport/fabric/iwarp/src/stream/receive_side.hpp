// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "fabric_state.hpp"
#include "rpcrdma/fabric/completion_dispatcher.hpp"
#include "stream/exposure.hpp"
#include "stream/placement.hpp"
#include "wire/ddp.hpp"

namespace rpcrdma::fabric::iwarp {

/// The receive queue of a stream: the peer's Sends fill the posted receives in order.
///
/// Ownership. Buffers and contexts belong to the poster; a segment is placed directly into its receive.
/// Error handling. Each segment is checked before it is placed; flush() completes the remaining receives.
class ReceiveSide {
 public:
  ReceiveSide(FabricState& fabric, CompletionDispatcher& dispatcher, std::uint32_t depth);

  error_code post(BufferRef buffer, WorkContext* context);

  Placement place(const DdpHeader& header, std::uint32_t payload) noexcept;
  /// To be called when a segment is complete.
  void placed(std::uint32_t payload) noexcept { placed_ += payload; }
  /// To be called when the last segment of a message is complete. If the message has invalidated an exposure, `revoked`
  /// is this exposure and `stag` is its STag. Otherwise `revoked` is null, and `stag` is not used.
  void delivered(Exposure* revoked, std::uint32_t stag) noexcept;

  /// To be called when the window of `exposure` is destroyed.
  void forget(const Exposure& exposure) noexcept;
  /// Completes the receives of delivered messages in order. Stops before the first receive whose message has
  /// invalidated an exposure that is still pinned.
  void retire() noexcept;
  /// Completes the remaining receives as flushed. To be called when the connection has ended.
  void flush() noexcept;

 private:
  struct Receive {
    BufferRef buffer;
    WorkContext* context = nullptr;
    std::uint32_t length = 0;
    std::optional<std::uint32_t> invalidated;
    Exposure* exposure = nullptr;  // invalidated by the message: the receive completes when no frame pins the exposure
  };
  void complete(WorkContext* context, const Completion& completion) noexcept;

  FabricState& fabric_;
  CompletionDispatcher& dispatcher_;
  const std::uint32_t depth_;
  // Positions in the ring: head <= placing_ <= tail.
  Ring<Receive> receives_;
  std::uint64_t placing_ = 0;  // the receive for the Send that arrives now or next; tail if none is posted for it
  std::uint32_t placed_ = 0;   // bytes of this Send that have been placed so far
  std::uint32_t slots_ = 0;
  std::uint32_t expected_msn_ = kFirstMsn;
};

}  // namespace rpcrdma::fabric::iwarp
