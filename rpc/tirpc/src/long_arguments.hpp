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

  /// `call` must have been delivered, that is, passed to CallHandler::on_call(). After `call` has been ended, more(),
  /// place() and arrived() must not be called.
  LongArguments(transport::IncomingCall& call, Runner& runner)
      : call_(call), runner_(runner), message_(call.payload()) {}

  /// The message. `pieces` holds the parts that have arrived in pool memory so far; `length` is that of the whole
  /// message.
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
  // Owns the pool memory of the pieces that more() has appended to message_.pieces.
  std::vector<memory::RegisteredBuffer> pieces_;
  // The position in the message at which the next Read begins. All earlier bytes have arrived or have been requested.
  std::uint32_t asked_ = message_.pieces.front().octets.size;
  // The Read of the next piece into pool memory. When more() returns a piece, it has posted the Read of the next one.
  Transfer ahead_;
  // The Read that place() posts into the program's memory. arrived() waits for it.
  Transfer direct_;
};

}  // namespace rpcrdma::tirpc
