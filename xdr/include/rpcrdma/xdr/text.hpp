// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// text_data: a string<> or opaque<> that is not DDP-eligible. It refers to its bytes instead of containing them, so the
// bytes need no terminating zero. Decoding fails without an allocation if a peer claims a length that exceeds the rest
// of the message.
#include <rpc/rpc.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "rpcrdma/base/export.hpp"

/// Trivial; all zero is the empty string. Decoded in place: valid as long as the message (server: until the reply is
/// sent; client: as long as the Decoded<T>).
// NOLINTNEXTLINE(readability-identifier-naming): as rpcgen names types
struct text_data {
  std::uint32_t length;  ///< bytes
  bool owned;            ///< `data` is a copy of a string that spans pieces of a message; xdr_free() frees it
  const char* data;      ///< not terminated by a zero

  text_data() noexcept = default;
  /// Refers to `from`: see set().
  text_data(std::string_view from) noexcept { set(from); }  // NOLINT(google-explicit-constructor)
  /// Refers to `from`: see set().
  text_data(const char* from) noexcept { set(from); }  // NOLINT(google-explicit-constructor)
  /// Refers to `from`: see set().
  text_data(const std::string& from) noexcept { set(from); }  // NOLINT(google-explicit-constructor)

  /// Refers to `from`, whose characters must stay valid and unchanged until the message has been encoded. A call has
  /// been encoded when the function that makes the call returns. For a reply, the characters must stay valid until the
  /// handler `release` of ServerCall::reply() has run.
  void set(std::string_view from) noexcept {
    owned = false;
    length = static_cast<std::uint32_t>(from.size());
    data = from.data();
  }
  /// Returns the text. Text that has been decoded is valid while the message from which it was decoded exists. Text
  /// that was passed to set() is valid while its characters exist.
  std::string_view view() const noexcept { return {data, length}; }
};
static_assert(std::is_trivial_v<text_data>);

/// Encodes to an xdr::Encoder, decodes from an xdr::Decoder, and frees in xdr_free(); fails on any other stream.
extern "C" RPCRDMA_EXPORT bool_t xdr_text_data(XDR* xdrs, text_data* text);
/// Does the same as xdr_text_data(), but fails if the text is longer than `max_length` bytes. The limit applies to
/// encoding and to decoding.
extern "C" RPCRDMA_EXPORT bool_t xdr_bounded_text(XDR* xdrs, text_data* text, std::uint32_t max_length);
