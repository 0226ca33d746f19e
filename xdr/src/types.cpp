// SPDX-License-Identifier: BSD-3-Clause
// The XDR routines of types that rpcgen does not generate: booleans, arrays, optional data, bulk items, texts, file
// handles.
#include <cstdlib>

#include "rpcrdma/xdr/boolean.hpp"
#include "rpcrdma/xdr/bulk.hpp"
#include "rpcrdma/xdr/decoder.hpp"
#include "rpcrdma/xdr/encoder.hpp"
#include "rpcrdma/xdr/file_handle.hpp"
#include "rpcrdma/xdr/limits.hpp"
#include "rpcrdma/xdr/text.hpp"

using rpcrdma::xdr::Decoder;
using rpcrdma::xdr::Encoder;

bool_t xdr_strict_bool(XDR* xdrs, bool_t* value) {
  if (xdrs->x_op == XDR_FREE) return TRUE;
  long word = *value;
  const bool_t done = xdrs->x_op == XDR_ENCODE ? XDR_PUTLONG(xdrs, &word) : XDR_GETLONG(xdrs, &word);
  if (!done || (word != FALSE && word != TRUE)) return FALSE;
  *value = static_cast<bool_t>(word);
  return TRUE;
}

bool_t xdr_limited_array(XDR* xdrs, char** items, u_int* count, u_int max_count, u_int size, xdrproc_t each) {
  Decoder* decoder = xdrs->x_op == XDR_DECODE ? Decoder::of(xdrs) : nullptr;
  if (decoder == nullptr) return xdr_array(xdrs, items, count, max_count, size, each);
  const std::uint32_t claimed = decoder->u32();
  // An element takes at least 4 bytes.
  if (!decoder->ok() || claimed > max_count || claimed > decoder->remaining() / 4) return FALSE;
  if (claimed != 0 && *items == nullptr) *items = static_cast<char*>(std::calloc(claimed, size));
  if (claimed != 0 && *items == nullptr) return FALSE;
  // Grows with the items, so that xdr_free() frees those decoded so far, and touches no others.
  *count = 0;
  while (*count < claimed)
    if (!each(xdrs, *items + std::size_t{(*count)++} * size)) return FALSE;
  return TRUE;
}

bool_t xdr_limited_pointer(XDR* xdrs, char** data, u_int size, xdrproc_t each) {
  constexpr std::uint32_t kMaxDepth = 10'000;  // a level of a list of integers takes 160 bytes of the stack
  thread_local std::uint32_t depth = 0;
  bool_t follows = *data != nullptr ? TRUE : FALSE;
  if (!xdr_strict_bool(xdrs, &follows)) return FALSE;
  if (!follows) {
    *data = nullptr;
    return TRUE;
  }
  if (depth == kMaxDepth && xdrs->x_op != XDR_FREE) return FALSE;
  ++depth;
  const bool_t done = xdr_reference(xdrs, data, size, each);
  --depth;
  return done;
}

bool_t xdr_bulk_data(XDR* xdrs, bulk_data* data) {
  if (xdrs->x_op == XDR_FREE) {
    if (data->owned) std::free(const_cast<std::byte*>(data->octets));  // NOLINT: malloc'd by the decoder
    *data = {};
    return TRUE;
  }
  if (Encoder* encoder = Encoder::of(xdrs)) {
    encoder->bulk(*data);
    return encoder->ok();
  }
  Decoder* decoder = Decoder::of(xdrs);
  return decoder != nullptr && decoder->bulk(*data);
}

bool_t xdr_bounded_text(XDR* xdrs, text_data* text, std::uint32_t max_length) {
  if (xdrs->x_op == XDR_FREE) {
    if (text->owned) std::free(const_cast<char*>(text->data));  // NOLINT: malloc'd by the decoder
    *text = {};
    return TRUE;
  }
  if (Encoder* encoder = Encoder::of(xdrs)) {
    if (text->length > max_length) encoder->out().fail();
    encoder->counted(std::as_bytes(std::span(text->data, text->length)));
    return encoder->ok();
  }
  Decoder* decoder = Decoder::of(xdrs);
  return decoder != nullptr && decoder->text(*text, max_length);
}

bool_t xdr_text_data(XDR* xdrs, text_data* text) { return xdr_bounded_text(xdrs, text, UINT32_MAX); }

bool_t xdr_nfs_fh3(XDR* xdrs, nfs_fh3* handle) {
  if (xdrs->x_op == XDR_FREE) return TRUE;
  if (!xdr_u_int(xdrs, &handle->length)) return FALSE;
  if (handle->length > kNfs3FileHandleSize) {
    if (xdrs->x_op == XDR_DECODE) handle->length = 0;
    return FALSE;
  }
  return xdr_opaque(xdrs, reinterpret_cast<char*>(handle->data), handle->length);
}
