// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/responder/responder.hpp"
#include "rpcrdma/xdr/decoder.hpp"

namespace rpcrdma::tirpc {

/// A long call whose arguments are read from the client while they are decoded. Where registration is cheap, long
/// opaques are read directly into the program's memory. Everything else is read piece by piece into pool memory, one
/// piece ahead.
///
/// A Read in progress keeps this object alive, and with it the memory of the piece. The call cannot be answered until
/// the Read is over. Belongs to one thread, which runs the event loop while it waits.
class LongArguments final : public xdr::Source, public std::enable_shared_from_this<LongArguments> {
 public:
  /// The number of bytes of a long call that are read before it is dispatched. A shorter call needs one Read.
  static constexpr std::uint32_t kFirst = 1u << 16;

  /// `call` has been delivered. It must not be ended while a Read is in progress.
  LongArguments(transport::IncomingCall& call, Runner& runner)
      : call_(call), runner_(runner), message_(call.payload()) {}

  /// The part of the message that has arrived.
  const Payload& message() const noexcept { return message_; }

  bool more() override;
  std::uint32_t place(std::uint32_t position, MutableOctets to) override;
  bool arrived() override;

 private:
  /// One transfer, into memory of the pool or of the program.
  struct Transfer {
    memory::RegisteredBuffer memory;
    std::uint32_t position = 0;
    bool under_way = false;
    bool good = false;
  };
  void read_ahead();
  void read(Transfer& transfer, memory::RegisteredBuffer memory);
  bool finish(const Transfer& transfer);

  transport::IncomingCall& call_;
  Runner& runner_;
  Payload message_;
  std::vector<memory::RegisteredBuffer> pieces_;               // pieces of the message, except the first
  std::uint32_t asked_ = message_.pieces.front().octets.size;  // bytes of the message requested so far
  Transfer ahead_;                                             // the next piece
  Transfer direct_;
};

}  // namespace rpcrdma::tirpc
