// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "outgoing_call.hpp"
#include "rpcrdma/xdr/decoder.hpp"

namespace rpcrdma::tirpc {

/// The source of a decoder that decodes a Long Reply while the server is still writing it into the Reply chunk.
class EarlyReply final : public xdr::Source {
 public:
  /// A function that runs the event loop until it has handled an event. It returns false if the connection is lost.
  using Wait = UniqueFunction<bool()>;

  /// Requires that the first bytes of the reply to `call` have arrived. more() uses `wait` to wait for further bytes.
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
