// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Messages for tests of the XDR and RPC layers.
#include <cstring>
#include <list>
#include <memory>

#include "rpcrdma/base/payload_builder.hpp"
#include "rpcrdma/xdr/decoder.hpp"
#include "rpcrdma/xdr/encoder.hpp"
#include "support/hex.hpp"

namespace rpcrdma::test {

/// Builds a message in blocks of `block` bytes or more.
class OutMessage final : private PayloadMemory {
 public:
  explicit OutMessage(std::uint32_t block = 4096) : block_(block) { out_.start(next_block(0), this); }

  PayloadBuilder& out() noexcept { return out_; }
  const Payload& payload() const noexcept { return out_.payload(); }
  /// The reduced stream, without items.
  Bytes reduced() const {
    Bytes all;
    for (const PayloadPiece& piece : payload().pieces)
      all.insert(all.end(), piece.octets.data, piece.octets.data + piece.octets.size);
    return all;
  }

 private:
  Result<BufferRef> more_payload_memory(std::uint32_t at_least) override { return next_block(at_least); }
  BufferRef next_block(std::uint32_t at_least) {
    Bytes& memory = memory_.emplace_back(std::max(at_least, block_));
    return {memory.data(), static_cast<std::uint32_t>(memory.size()), 0};
  }
  std::uint32_t block_;
  std::list<Bytes> memory_;
  PayloadBuilder out_;
};

/// A received message: each piece has heap memory of exactly its size, so that the sanitizers find reads beyond it.
class InMessage {
 public:
  /// A message of one piece, with nothing reduced.
  explicit InMessage(Octets octets) { piece(octets, 0); }
  InMessage() = default;

  InMessage& piece(Octets octets, std::uint32_t position) {
    const ExactCopy& copy = memory_.emplace_back(octets);
    auto* data = const_cast<std::byte*>(copy.octets().data());
    payload_.pieces.push_back({position, {data, static_cast<std::uint32_t>(octets.size()), 0}});
    payload_.length = position + static_cast<std::uint32_t>(octets.size());
    return *this;
  }
  InMessage& item(std::uint32_t position, std::uint32_t length) {
    PayloadItem& item = payload_.items.emplace_back();
    item.position = position;
    item.length = length;
    return *this;
  }
  /// Adds a Write chunk: its memory is `room`, of which `length` bytes are written.
  InMessage& write_item(std::span<const BufferRef> room, std::uint32_t length) {
    item(PayloadItem::kNoPosition, length);
    payload_.items.back().parts.assign(room.begin(), room.end());
    return *this;
  }
  const Payload& payload() const noexcept { return payload_; }

 private:
  std::list<ExactCopy> memory_;
  Payload payload_;
};

/// Frees memory that an XDR routine allocated.
template <class T>
void xdr_release(bool_t (*routine)(XDR*, T*), T& value) {
  XDR xdrs{};
  xdrs.x_op = XDR_FREE;
  routine(&xdrs, &value);
}

inline BufferRef ref_of(std::span<std::byte> octets) {
  return {octets.data(), static_cast<std::uint32_t>(octets.size()), 1};
}

}  // namespace rpcrdma::test
