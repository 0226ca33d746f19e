// SPDX-License-Identifier: BSD-3-Clause
// Decodes DDP-eligible items: reduced arguments (by position), reduced results (in order), and items in the stream.
#include <algorithm>
#include <cstring>

#include "rpcrdma/xdr/decoder.hpp"

namespace rpcrdma::xdr {
namespace {

std::uint64_t capacity(std::span<const BufferRef> parts) noexcept {
  std::uint64_t sum = 0;
  for (const BufferRef& part : parts) sum += part.size;
  return sum;
}

}  // namespace

/// The next item that is not empty, or null. Read chunks of length zero and unused Write chunks are empty.
const PayloadItem* Decoder::next_item() const noexcept {
  for (std::size_t i = item_; i < message_->items.size(); ++i)
    if (message_->items[i].length != 0) return &message_->items[i];
  return nullptr;
}

bool Decoder::bulk(bulk_data& out) noexcept {
  out = {};
  out.length = u32();
  const PayloadItem* item = ok() && out.length != 0 ? next_item() : nullptr;
  const EligibleRange range{position_, out.length};
  bool done = false;
  if (item != nullptr && item->position == PayloadItem::kNoPosition) {
    done = reduced_result(out);
  } else if (item != nullptr && item->position == position_) {
    done = reduced_argument(out);
  } else {
    done = inline_bulk(out);
  }
  if (!done) {
    fail();
    if (!out.owned) out = {};
  }
  if (done && range.length != 0 && eligible_.size() < kMaxRanges) eligible_.push_back(range);
  if (destination_ < destinations_.size()) ++destination_;
  return done;
}

/// Advances position_ past a reduced item, whose bytes are in a chunk and not in the stream. `padded_length` is the
/// length of the item with its pad, which the caller has checked. Returns false if the next bytes of the stream do not
/// have the position at which the item ends.
bool Decoder::jump(std::uint32_t padded_length) noexcept {
  end_run();
  const PayloadPiece* current = piece();
  if (current != nullptr && run_end_ == current->octets.size) {
    ++piece_;
    run_end_ = 0;
    current = piece();
  }
  if (padded_length > UINT32_MAX - position_) return false;
  position_ += padded_length;
  return current == nullptr || current->position + run_end_ == position_;
}

bool Decoder::reduced_argument(bulk_data& out) noexcept {
  const PayloadItem* item = next_item();
  // [8166-3.4.5.2-b] [8166-3.4.5.2-d] the chunk may include the pad; [8166-4.5.2-b] any other length leads to
  // GARBAGE_ARGS
  const bool fits = item->length == out.length || (out.length <= UINT32_MAX - 3 && item->length == pad4(out.length));
  if (!fits || !jump(pad4(out.length))) {
    fail(DecodeFailure::bad_item);
    return false;
  }
  item_ = static_cast<std::size_t>(item - message_->items.data()) + 1;
  out.kind = bulk_kind::item;
  out.item = static_cast<std::uint32_t>(item_ - 1);
  // If an RDMA Read has already fetched the argument, refers to the memory that holds it.
  if (!item->parts.empty() && capacity(item->parts) >= out.length) {
    out.kind = bulk_kind::parts;
    out.parts = item->parts.data();
    out.part_count = static_cast<std::uint32_t>(item->parts.size());
  }
  return true;
}

bool Decoder::reduced_result(bulk_data& out) noexcept {
  const PayloadItem* item = next_item();
  // [8166-3.4.6.2-c] the chunk must contain exactly the item, without its pad
  if (item->length != out.length) {
    fail(DecodeFailure::bad_item);
    return false;
  }
  item_ = static_cast<std::size_t>(item - message_->items.data()) + 1;
  out.item = static_cast<std::uint32_t>(item_ - 1);
  out.kind = bulk_kind::placed;
  // Does not call jump(), unlike reduced_argument(): in a reply, the positions of the pieces do not count the item, so
  // there is no gap to skip.
  return true;
}

/// True if a Write chunk with room has not been used by a result yet.
bool Decoder::chunk_left() const noexcept {
  for (std::size_t i = item_; i < message_->items.size(); ++i) {
    const PayloadItem& item = message_->items[i];
    if (item.position != PayloadItem::kNoPosition) continue;
    if (capacity(item.parts) != 0 || (i < destinations_.size() && capacity(destinations_[i]) != 0)) return true;
  }
  return false;
}

bool Decoder::inline_bulk(bulk_data& out) noexcept {
  // [8166-6.1-d] A server must use a Write chunk that the call offers for a result. Fails if a result that is not empty
  // is inline, although a Write chunk with room is left.
  if (out.length != 0 && chunk_left()) {
    fail(DecodeFailure::ignored_chunk);
    return false;
  }
  if (destination_ < destinations_.size() && !destinations_[destination_].empty())
    return place(out, destinations_[destination_]);
  const std::uint32_t length = out.length;
  if (!view(length, out.octets, out.owned)) return false;
  skip(pad4(length) - length);
  return ok();
}

/// Copies a result from the stream to the caller's buffers.
bool Decoder::place(bulk_data& out, std::span<const BufferRef> destination) noexcept {
  std::uint32_t left = out.length;
  for (const BufferRef& part : destination) {
    const std::uint32_t step = std::min(left, part.size);
    if (step > remaining_ || !take(part.data, step)) return false;
    left -= step;
  }
  if (left != 0) return false;
  skip(pad4(out.length) - out.length);
  out.kind = bulk_kind::placed;
  return ok();
}

bool Decoder::finish() noexcept {
  if (ok() && next_item() != nullptr) fail(DecodeFailure::bad_item);
  return ok();
}

}  // namespace rpcrdma::xdr
