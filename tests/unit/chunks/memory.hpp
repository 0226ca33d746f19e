// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <vector>

#include "rpcrdma/base/payload.hpp"

namespace rpcrdma::transport {

/// Memory for plans. A plan uses addresses of this memory, but does not read or write there.
struct TestMemory {
  std::unique_ptr<std::byte[]> octets{new std::byte[1u << 22]};  // not initialized
  std::uint32_t used = 64;

  BufferRef zeros() { return {octets.get(), 4, 1}; }
  /// Returns memory that is not adjacent to any other piece.
  BufferRef piece(std::uint32_t size) {
    const BufferRef out{octets.get() + used, size, 1};
    used += size + 16;
    return out;
  }
  /// Returns a message: `head` bytes, an item for each length in `items`, and `tail` bytes. A count word precedes each
  /// item but the first.
  Payload message(std::uint32_t head, const std::vector<std::uint32_t>& items, std::uint32_t tail = 0,
                  std::uint32_t parts = 1) {
    Payload out;
    out.pieces.push_back({0, piece(head)});
    out.length = head;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i != 0) {
        out.pieces.push_back({out.length, piece(4)});
        out.length += 4;
      }
      PayloadItem& item = out.items.emplace_back();
      item.position = out.length;
      item.length = items[i];
      for (std::uint32_t at = 0; at < items[i]; at += (items[i] + parts - 1) / parts)
        item.parts.push_back(piece(std::min((items[i] + parts - 1) / parts, items[i] - at)));
      out.length += (items[i] + 3) & ~3u;
    }
    if (tail != 0) {
      out.pieces.push_back({out.length, piece(tail)});
      out.length += tail;
    }
    return out;
  }
};

}  // namespace rpcrdma::transport
