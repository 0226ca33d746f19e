// SPDX-License-Identifier: BSD-3-Clause
// Operation. Decoding copies bytes of the Reply chunk as they arrive: they are still in the processor's cache, and the
// server sends more meanwhile. Only the end of the call shows that the bytes are the reply: see
// WaitingCall::conclude().
// Ownership. The memory of the Reply chunk belongs to the WaitingCall, which must outlive this object. The peer may
// write to it until the call is over; each byte is read once, or checked after it has been copied.
#include "early_reply.hpp"

namespace rpcrdma::tirpc {

EarlyReply::EarlyReply(const WaitingCall& call, Wait wait) : call_(call), wait_(std::move(wait)) {
  message_.length = call.reply_memory.size;
  take(call.arrived());
}

void EarlyReply::take(std::uint32_t arrived) {
  message_.pieces.push_back({taken_, call_.reply_memory.slice(taken_, arrived - taken_)});
  taken_ = arrived;
}

bool EarlyReply::more() {
  while (call_.arrived() <= taken_)
    // wait_() returns false if the connection is lost. If the call has ended as well during this wait, the loop checks
    // once more whether bytes have arrived before the end.
    if (call_.over() || (!wait_() && !call_.over())) return false;
  take(call_.arrived());
  return true;
}

}  // namespace rpcrdma::tirpc
