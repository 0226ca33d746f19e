// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/rpc/block_memory.hpp"

#include <algorithm>

namespace rpcrdma::rpc {

BufferRef BlockMemory::next_block(std::uint32_t at_least) {
  if (used_ == blocks_.size()) blocks_.emplace_back();
  std::vector<std::byte>& block = blocks_[used_++];
  if (block.size() < at_least) block.resize(std::max(at_least, used_ == 1 ? kBlock : 16 * kBlock));
  return {block.data(), static_cast<std::uint32_t>(block.size()), 0};
}

std::vector<std::byte> flatten(const Payload& message, std::size_t room_in_front) {
  std::vector<std::byte> flat(room_in_front + message.length);
  const MutableOctets out = MutableOctets(flat).subspan(room_in_front);
  for (const PayloadPiece& piece : message.pieces) Writer(out.subspan(piece.position)).octets(piece.octets.octets());
  for (const PayloadItem& item : message.items) {
    Writer to(out.subspan(item.position));
    for (const BufferRef& part : item.parts) to.octets(part.octets());
  }
  return flat;
}

}  // namespace rpcrdma::rpc
