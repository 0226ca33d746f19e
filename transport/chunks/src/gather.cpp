// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/chunks/gather.hpp"

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::transport {

void append(GatherList& list, BufferRef part) {
  if (part.size == 0) return;
  if (!list.empty()) {
    BufferRef& last = list.back();
    if (last.local_key == part.local_key && last.data + last.size == part.data) {
      last.size += part.size;
      return;
    }
  }
  list.push_back(part);
}

std::uint64_t total_size(std::span<const BufferRef> parts) noexcept {
  std::uint64_t sum = 0;
  for (const BufferRef& part : parts) sum += part.size;
  return sum;
}

void append_stream(GatherList& list, const Payload& payload, const ItemFlags& reduced, BufferRef zeros) {
  auto piece = payload.pieces.begin();
  for (std::size_t i = 0; i < payload.items.size(); ++i) {
    const PayloadItem& item = payload.items[i];
    for (; piece != payload.pieces.end() && piece->position < item.position; ++piece) append(list, piece->octets);
    if (reduced[i]) continue;
    for (const BufferRef& part : item.parts) append(list, part);
    append(list, zeros.slice(0, pad4(item.length) - item.length));
  }
  for (; piece != payload.pieces.end(); ++piece) append(list, piece->octets);
}

}  // namespace rpcrdma::transport
