// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "outgoing_call.hpp"
#include "rpcrdma/xdr/decoder.hpp"

namespace rpcrdma::tirpc {

/// A long reply that is decoded while the server writes it.
class EarlyReply final : public xdr::Source {
 public:
  /// Runs the event loop until an event has been handled; false when the connection is lost.
  using Wait = UniqueFunction<bool()>;

  /// Requires that a part of the reply of `call` has arrived.
  EarlyReply(const WaitingCall& call, Wait wait);
  /// The part of the reply that has arrived.
  const Payload& message() const noexcept { return message_; }

  bool more() override;
  std::uint32_t place(std::uint32_t, MutableOctets to) override { return static_cast<std::uint32_t>(to.size()); }
  bool arrived() override { return true; }

 private:
  void take(std::uint32_t arrived);

  const WaitingCall& call_;
  Wait wait_;
  Payload message_;
  std::uint32_t taken_ = 0;
};

}  // namespace rpcrdma::tirpc
