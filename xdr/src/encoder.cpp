// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/xdr/encoder.hpp"

#include <algorithm>
#include <cstring>

namespace rpcrdma::xdr {
namespace {

Encoder* self(XDR* xdrs) noexcept { return static_cast<Encoder*>(xdrs->x_private); }

bool_t put_long(XDR* xdrs, const long* value) {
  self(xdrs)->u32(static_cast<std::uint32_t>(*value));
  return self(xdrs)->ok();
}

bool_t put_bytes(XDR* xdrs, const char* from, u_int count) {
  self(xdrs)->octets(std::as_bytes(std::span(from, count)));
  return self(xdrs)->ok();
}

u_int position(XDR* xdrs) { return self(xdrs)->position(); }
bool_t no_get_long(XDR*, long*) { return FALSE; }
bool_t no_get_bytes(XDR*, char*, u_int) { return FALSE; }
bool_t set_position(XDR* xdrs, u_int to) { return self(xdrs)->set_position(to); }
std::int32_t* room_for(XDR* xdrs, u_int count) { return self(xdrs)->room_for(count); }
void nothing_to_destroy(XDR*) {}
bool_t no_control(XDR*, int, void*) { return FALSE; }

const XDR::xdr_ops kOperations{no_get_long,  put_long, no_get_bytes,       put_bytes, position,
                               set_position, room_for, nothing_to_destroy, no_control};

}  // namespace

Encoder::Encoder(PayloadBuilder& out, Staging* staging) noexcept : out_(out), staging_(staging) {
  xdr_.x_op = XDR_ENCODE;
  xdr_.x_ops = &kOperations;
  xdr_.x_private = this;
}

Encoder* Encoder::of(XDR* xdrs) noexcept { return xdrs->x_ops == &kOperations ? self(xdrs) : nullptr; }

void Encoder::octets(Octets value) noexcept {
  if (rewriting_) value = value.subspan(rewrite(value));
  const std::uint32_t at = out_.position();
  if (borrowing_ != nullptr && !value.empty() && borrowing_->borrow(out_, value)) return borrowed_.push_back(at);
  out_.octets(value);
}

std::int32_t* Encoder::room_for(std::uint32_t count) noexcept {
  return rewriting_ || count % 4 != 0 ? nullptr : reinterpret_cast<std::int32_t*>(out_.reserve_aligned(count));
}

void Encoder::rewrite_u32(std::uint32_t value) noexcept {
  std::byte word[4];
  Writer(word).u32(value);
  octets(word);
}

bool Encoder::set_position(std::uint32_t to) noexcept {
  if (!out_.ok() || to > out_.position()) return false;
  if (borrowing_ != nullptr && to < borrowing_->sent()) return false;
  rewriting_ = to != out_.position();
  at_ = to;
  return true;
}

/// Replaces the bytes from at_ on by the first bytes of `value`, at most up to the end of the message. Returns the
/// number of bytes replaced, so that the caller can append the remaining bytes of `value`. Returns value.size() on
/// failure, so that the caller appends nothing.
std::size_t Encoder::rewrite(Octets value) noexcept {
  std::size_t done = 0;
  for (const PayloadPiece& piece : out_.payload().pieces) {
    if (done == value.size()) break;
    // If at_ is before this piece, it is in the gap that a DDP-eligible item leaves. The bytes of an item belong to its
    // owner and cannot be replaced.
    if (at_ < piece.position) break;
    const std::uint32_t offset = at_ - piece.position;
    if (offset >= piece.octets.size) continue;
    if (std::ranges::find(borrowed_, piece.position) != borrowed_.end()) break;
    const std::size_t step = std::min<std::size_t>(value.size() - done, piece.octets.size - offset);
    std::memcpy(piece.octets.data + offset, value.data() + done, step);
    at_ += static_cast<std::uint32_t>(step);
    done += step;
  }
  rewriting_ = at_ != out_.position();
  if (rewriting_ && done != value.size()) out_.fail();
  return out_.ok() ? done : value.size();
}

void Encoder::counted(Octets value) noexcept {
  if (value.size() > UINT32_MAX - 3) return out_.fail(BuildFailure::too_long);
  u32(static_cast<std::uint32_t>(value.size()));
  octets(value);
  constexpr std::byte kZeros[3]{};
  octets(Octets(kZeros, pad4(value.size()) - value.size()));
}

void Encoder::bulk(const bulk_data& value) noexcept {
  switch (value.kind) {
    case bulk_kind::parts:
      if (rewriting_) return out_.fail();  // an item cannot replace bytes of the stream
      out_.u32(value.length);
      return out_.item(value.part_span());
    case bulk_kind::octets: break;
    // A received item of one of these kinds does not refer to its bytes, so the encoder cannot send them.
    case bulk_kind::item:
    case bulk_kind::placed: return out_.fail();
  }
  if (staging_ == nullptr || value.length == 0 || rewriting_) return counted(value.octet_span());
  const BufferRef staged = staging_->stage(value.length);
  if (staged.size != value.length) return out_.fail(BuildFailure::out_of_memory);
  std::memcpy(staged.data, value.octets, value.length);
  out_.u32(value.length);
  out_.item({&staged, 1});
}

}  // namespace rpcrdma::xdr
