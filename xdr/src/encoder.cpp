// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/xdr/encoder.hpp"

#include <cstring>

namespace rpcrdma::xdr {
namespace {

Encoder* self(XDR* xdrs) noexcept { return static_cast<Encoder*>(xdrs->x_private); }

bool_t put_long(XDR* xdrs, const long* value) {
  self(xdrs)->u32(static_cast<std::uint32_t>(*value));
  return self(xdrs)->ok();
}

bool_t put_bytes(XDR* xdrs, const char* from, u_int count) {
  self(xdrs)->out().octets(std::as_bytes(std::span(from, count)));
  return self(xdrs)->ok();
}

u_int position(XDR* xdrs) { return self(xdrs)->position(); }
bool_t no_get_long(XDR*, long*) { return FALSE; }
bool_t no_get_bytes(XDR*, char*, u_int) { return FALSE; }
bool_t no_set_position(XDR*, u_int) { return FALSE; }
std::int32_t* no_inline(XDR*, u_int) { return nullptr; }
void nothing_to_destroy(XDR*) {}
bool_t no_control(XDR*, int, void*) { return FALSE; }

const XDR::xdr_ops kOperations{no_get_long,     put_long,  no_get_bytes,       put_bytes, position,
                               no_set_position, no_inline, nothing_to_destroy, no_control};

}  // namespace

Encoder::Encoder(PayloadBuilder& out, Staging* staging) noexcept : out_(out), staging_(staging) {
  xdr_.x_op = XDR_ENCODE;
  xdr_.x_ops = &kOperations;
  xdr_.x_private = this;
}

Encoder* Encoder::of(XDR* xdrs) noexcept { return xdrs->x_ops == &kOperations ? self(xdrs) : nullptr; }

void Encoder::counted(Octets value) noexcept {
  if (value.size() > UINT32_MAX - 3) return out_.fail(BuildFailure::too_long);
  out_.u32(static_cast<std::uint32_t>(value.size()));
  out_.octets(value);
  const std::size_t pad = pad4(value.size()) - value.size();
  if (std::byte* at = pad != 0 ? out_.reserve(static_cast<std::uint32_t>(pad)) : nullptr) std::memset(at, 0, pad);
}

void Encoder::bulk(const bulk_data& value) noexcept {
  switch (value.kind) {
    case bulk_kind::parts: out_.u32(value.length); return out_.item(value.part_span());
    case bulk_kind::octets: break;
    case bulk_kind::item:
    case bulk_kind::placed: return out_.fail();  // incoming: references no memory
  }
  if (staging_ == nullptr || value.length == 0) return counted(value.octet_span());
  const BufferRef staged = staging_->stage(value.length);
  if (staged.size != value.length) return out_.fail(BuildFailure::out_of_memory);
  std::memcpy(staged.data, value.octets, value.length);
  out_.u32(value.length);
  out_.item({&staged, 1});
}

}  // namespace rpcrdma::xdr
