// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/rpc/decoded.hpp"

#include <new>

namespace rpcrdma::rpc {

const Payload* MessageCopy::keep(const Payload& from) {
  try {
    memory_ = std::make_unique_for_overwrite<std::byte[]>(from.reduced_length());
    copy_ = from;
  } catch (const std::bad_alloc&) {
    memory_.reset();
    return nullptr;
  }
  std::byte* at = memory_.get();
  for (PayloadPiece& piece : copy_.pieces) {
    if (piece.octets.size != 0) std::memcpy(at, piece.octets.data, piece.octets.size);
    piece.octets.data = at;
    at += piece.octets.size;
  }
  return &copy_;
}

}  // namespace rpcrdma::rpc
