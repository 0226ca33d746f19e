// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/xdr/decoder.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace rpcrdma::xdr {
namespace {

Decoder* self(XDR* xdrs) noexcept { return static_cast<Decoder*>(xdrs->x_private); }

bool_t get_long(XDR* xdrs, long* value) {
  *value = static_cast<std::int32_t>(self(xdrs)->u32());
  return self(xdrs)->ok();
}

bool_t get_bytes(XDR* xdrs, char* to, u_int count) {
  // A request for 1 to 3 bytes that end at a multiple of 4 is for the pad of an item (RFC 4506 section 3). `to` is then
  // a static buffer of libtirpc, which is never read. The pad is skipped and not copied to `to`, because copies by
  // several threads to the same buffer would be a data race.
  if (count != 0 && count < 4 && self(xdrs)->position() % 4 == 4 - count) {
    self(xdrs)->skip(count);
    return self(xdrs)->ok();
  }
  return self(xdrs)->copy(std::as_writable_bytes(std::span(to, count)));
}

u_int position(XDR* xdrs) { return self(xdrs)->position(); }
bool_t no_put_long(XDR*, const long*) { return FALSE; }
bool_t no_put_bytes(XDR*, const char*, u_int) { return FALSE; }
bool_t set_position(XDR* xdrs, u_int to) { return self(xdrs)->set_position(to); }
std::int32_t* in_place(XDR* xdrs, u_int count) { return self(xdrs)->in_place(count); }
void nothing_to_destroy(XDR*) {}
bool_t no_control(XDR*, int, void*) { return FALSE; }

const XDR::xdr_ops kOperations{get_long,     no_put_long, get_bytes,          no_put_bytes, position,
                               set_position, in_place,    nothing_to_destroy, no_control};

}  // namespace

Decoder::Decoder(const Payload& message, MessageKeeper* keeper) noexcept
    : message_(&message), keeper_(keeper), remaining_(message.reduced_length()) {
  xdr_.x_op = XDR_DECODE;
  xdr_.x_ops = &kOperations;
  xdr_.x_private = this;
  if (!message.pieces.empty()) position_ = message.pieces.front().position;
  if (position_ != 0) fail();
}

void Decoder::set_source(Source& source) noexcept {
  source_ = &source;
  remaining_ = message_->length;
}

Decoder* Decoder::of(XDR* xdrs) noexcept { return xdrs->x_ops == &kOperations ? self(xdrs) : nullptr; }

void Decoder::fail(DecodeFailure why) noexcept {
  if (failure_ != DecodeFailure::none) return;
  failure_ = why;
  remaining_ = 0;
  end_run();
}

/// The current piece, which may be used up or begin after a reduced item; null if there is none.
const PayloadPiece* Decoder::piece() const noexcept {
  return piece_ < message_->pieces.size() ? &message_->pieces[piece_] : nullptr;
}

bool Decoder::copy(MutableOctets to) noexcept {
  if (to.size() > remaining_) {
    fail();
    return false;
  }
  constexpr std::size_t kLong = 1u << 16;
  if (source_ != nullptr && to.size() >= kLong) return take_long(to);
  return take(to.data(), static_cast<std::uint32_t>(to.size()));
}

/// Reads a long opaque into `to`. Copies the first bytes from the pieces of the message. Meanwhile the source may
/// transfer the remaining bytes directly to the end of `to`.
bool Decoder::take_long(MutableOctets to) noexcept {
  const std::uint32_t first = source_->place(position_, to);
  const auto rest = static_cast<std::uint32_t>(to.size()) - first;
  take(to.data(), first);
  if (rest != 0 && !source_->arrived()) fail();
  if (!ok()) return false;
  end_run();
  position_ += rest;
  remaining_ -= rest;
  return true;
}

std::int32_t* Decoder::in_place(std::uint32_t count) noexcept {
  if (!ok() || count == 0 || count % 4 != 0 || !next_run()) return nullptr;
  if (count > run_ || reinterpret_cast<std::uintptr_t>(at_) % 4 != 0) return nullptr;
  return reinterpret_cast<std::int32_t*>(advance(count));
}

/// To be called before the read position or the current piece changes other than by advance().
void Decoder::end_run() noexcept {
  run_end_ = offset();
  run_ = 0;
}

/// Skips pieces that have been read completely. Returns true if the next byte of the message is in the current piece;
/// run_ is then not 0. Returns false if a reduced item comes next, which only bulk() can decode, or if nothing is left.
bool Decoder::next_run() noexcept {
  if (run_ != 0) return true;
  while (const PayloadPiece* current = piece()) {
    if (const std::uint32_t from = run_end_; from < current->octets.size) {
      if (current->position + from != position_) return false;
      at_ = current->octets.data + from;
      run_ = std::min(current->octets.size - from, remaining_);
      run_end_ = from + run_;
      return run_ != 0;
    }
    ++piece_;
    run_end_ = 0;
  }
  return false;
}

bool Decoder::take(std::byte* to, std::uint32_t count) noexcept {
  if (count > remaining_) fail();
  while (ok() && count != 0) {
    if (!next_run()) {
      if (piece() == nullptr && source_ != nullptr && source_->more()) continue;
      fail(piece() != nullptr ? DecodeFailure::bad_item : DecodeFailure::malformed);
      break;
    }
    const std::uint32_t step = std::min(count, run_);
    const std::byte* const from = advance(step);
    if (to != nullptr) {
      std::memcpy(to, from, step);
      to += step;
    }
    count -= step;
  }
  return ok();
}

/// If there is a MessageKeeper and it has not copied the message yet, calls it to copy the message. Decoding continues
/// in the copy. Values decoded in place then refer to the copy, and may outlive the message. Returns false if the copy
/// fails.
bool Decoder::keep() noexcept {
  if (keeper_ == nullptr || kept_) return true;
  const Payload* copy = keeper_->keep(*message_);
  if (copy == nullptr) return false;
  end_run();
  message_ = copy;
  kept_ = true;
  return true;
}

/// Reads the next `count` bytes. If one piece contains them all, `at` then points to them in that piece. Otherwise `at`
/// points to a copy from malloc(), and `owned` is true: the decoded value owns the copy.
bool Decoder::view(std::uint32_t count, const std::byte*& at, bool& owned) noexcept {
  at = nullptr;
  owned = false;
  if (count == 0 && ok()) return true;
  if (count > remaining_ || !ok() || !keep()) {
    fail();
    return false;
  }
  if (next_run() && run_ >= count) {
    at = advance(count);
    return true;
  }
  auto* copy = static_cast<std::byte*>(std::malloc(count));
  if (copy == nullptr || !take(copy, count)) {
    std::free(copy);
    fail();
    return false;
  }
  at = copy;
  owned = true;
  return true;
}

bool Decoder::set_position(std::uint32_t to) noexcept {
  if (!ok()) return false;
  std::uint32_t after = 0;  // the total size of the pieces with an index greater than `i`
  for (std::size_t i = message_->pieces.size(); i-- != 0;) {
    const PayloadPiece& one = message_->pieces[i];
    if (to >= one.position) {
      if (to - one.position > one.octets.size) return false;
      end_run();
      piece_ = i;
      run_end_ = to - one.position;
      position_ = to;
      remaining_ = source_ != nullptr ? message_->length - to : after + one.octets.size - run_end_;
      item_ = 0;
      while (item_ < message_->items.size() && message_->items[item_].position < to) ++item_;
      return true;
    }
    after += one.octets.size;
  }
  return false;
}

bool Decoder::text(text_data& out, std::uint32_t max_length) noexcept {
  out = {};
  const std::uint32_t length = u32();
  if (length > max_length) fail();
  const std::byte* at = nullptr;
  if (!view(length, at, out.owned)) return false;
  out.length = length;
  out.data = reinterpret_cast<const char*>(at);
  skip(pad4(length) - length);
  return ok();
}

}  // namespace rpcrdma::xdr
