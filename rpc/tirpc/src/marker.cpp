// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "rpcrdma/tirpc.h"
#include "rpcrdma/xdr/decoder.hpp"
#include "rpcrdma/xdr/encoder.hpp"

namespace rpcrdma::tirpc {
namespace {

/// Copies a decoded opaque to memory as xdr_bytes() does: to `*to` or, if `*to` is null, to memory from malloc().
bool_t deliver(xdr::Decoder& in, const bulk_data& from, char** to, u_int* size) {
  *size = from.length;
  if (from.length == 0) return TRUE;
  if (*to == nullptr) *to = static_cast<char*>(std::malloc(from.length));
  if (*to == nullptr) return FALSE;
  char* at = *to;
  if (from.kind == bulk_kind::octets) {
    std::memcpy(at, from.octets, from.length);
    return TRUE;
  }
  std::uint32_t left = from.length;
  for (const BufferRef& part : in.item(from.item).parts) {
    const std::uint32_t step = std::min(left, part.size);
    std::memcpy(at, part.data, step);
    at += step;
    left -= step;
  }
  return left == 0 ? TRUE : FALSE;
}

}  // namespace
}  // namespace rpcrdma::tirpc

bool_t xdr_rpcrdma_bytes(XDR* xdrs, char** bytes, u_int* size, u_int max_size) {
  using namespace rpcrdma;
  if (xdrs->x_op == XDR_FREE) return xdr_bytes(xdrs, bytes, size, max_size);
  bulk_data data{};
  if (xdr::Encoder* encoder = xdr::Encoder::of(xdrs)) {
    if (*size > max_size) return FALSE;
    data.set_octets(std::as_bytes(std::span(*bytes, *size)));
    encoder->bulk(data);
    return encoder->ok();
  }
  xdr::Decoder* decoder = xdr::Decoder::of(xdrs);
  if (decoder == nullptr) return xdr_bytes(xdrs, bytes, size, max_size);
  bool_t done = decoder->bulk(data) && data.length <= max_size;
  done = done && tirpc::deliver(*decoder, data, bytes, size);
  if (data.owned) std::free(const_cast<std::byte*>(data.octets));  // NOLINT: malloc'd by the decoder
  return done;
}
