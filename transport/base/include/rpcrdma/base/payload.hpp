// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A Payload is the form of an RPC message between the RPC layer and the transport: the reduced message in pieces, and
// the DDP-eligible items with their XDR positions (RFC 8166 section 3.4).
#include <boost/container/small_vector.hpp>

#include "rpcrdma/base/buffer_ref.hpp"

namespace rpcrdma {

/// Consecutive bytes of the message that are not part of an item. Positions count bytes of the unreduced XDR stream,
/// from the RPC XID at 0 (RFC 8166 section 3.4.5).
struct PayloadPiece {
  std::uint32_t position = 0;
  BufferRef octets;
};

/// One DDP-eligible data item: the bytes that follow the count word, without their pad.
struct PayloadItem {
  /// The value of `position` for a result that arrived in a Write chunk. A Write chunk, unlike a Read chunk, does not
  /// state where its item begins in the unreduced stream.
  static constexpr std::uint32_t kNoPosition = 0xffffffff;

  std::uint32_t position = 0;  ///< where the item begins in the unreduced stream, a multiple of 4; or kNoPosition
  std::uint32_t length = 0;    ///< bytes
  /// The buffers that hold the bytes, in order. Empty while an incoming item has not been pulled yet.
  boost::container::small_vector<BufferRef, 1> parts;
};

/// A reduced message and its items. A Payload refers to the memory of the message, but does not own it. One Payload is
/// used for many messages, one after the other, so that its vectors keep their capacity.
struct Payload {
  /// In ascending order of position. A gap between two pieces is the place of an item and its pad.
  boost::container::small_vector<PayloadPiece, 4> pieces;
  boost::container::small_vector<PayloadItem, 1> items;  ///< ascending by position, unless they have kNoPosition
  /// Bytes of the unreduced stream, item pads included. Items that have kNoPosition are not counted.
  std::uint32_t length = 0;

  void clear() noexcept {
    pieces.clear();
    items.clear();
    length = 0;
  }
  /// Returns the size of the reduced stream in bytes: the sum of the sizes of all pieces.
  std::uint32_t reduced_length() const noexcept {
    std::uint32_t sum = 0;
    for (const PayloadPiece& piece : pieces) sum += piece.octets.size;
    return sum;
  }
};

}  // namespace rpcrdma
