// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// bulk_data: a DDP-eligible counted opaque (RFC 8166 section 3.4.1), for use in .x files. On the wire it is `opaque
// data<>` or `string path<>`; in memory it refers to its bytes instead of containing them.
#include <rpc/rpc.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "rpcrdma/base/buffer_ref.hpp"
#include "rpcrdma/base/export.hpp"

/// The place of the bytes of a bulk_data.
// NOLINTNEXTLINE(readability-identifier-naming): as rpcgen names types
enum class bulk_kind : std::uint32_t {
  octets = 0,  ///< in memory at `octets`: part of a message, a copy (`owned`), or unregistered memory of the sender
  parts,       ///< in registered memory at `parts[0..part_count)`
  item,        ///< incoming argument: item number `item` of the call's Payload, not pulled yet
  placed,      ///< incoming result: at the start of the buffers that the caller provided for it
};

/// Trivial, as rpcgen puts it into unions; all zero is the empty item. Owns nothing, unless `owned` is set: then it
/// owns a copy, which xdr_free() frees.
///
/// Outgoing. set_parts() refers to registered memory, which must stay valid and unchanged until the message is no
/// longer used (client: completion of the call; server: the release handler of reply()). set_octets() refers to
/// unregistered memory, which is copied to the message (or to a buffer of the pool, if the peer offers a Write chunk);
/// it is meant for small items such as paths.
///
/// Incoming, server. The kind is `item` if the client reduced the argument and the data has not been pulled yet: fetch
/// it with async_fetch(). The kind is `parts` if the data has been pulled, and `octets` if it arrived in the message.
/// This data is valid until the reply is sent.
///
/// Incoming, client. The kind is `placed` if the caller provided buffers for the result. Otherwise it is `octets`, and
/// the data is valid as long as the Decoded<T>.
// [8166-3.4.4.3-a] the only type that can be reduced is an opaque
// NOLINTNEXTLINE(readability-identifier-naming): as rpcgen names types
struct bulk_data {
  std::uint32_t length;             ///< bytes, without pad
  bulk_kind kind;                   ///< the place of the bytes
  const std::byte* octets;          ///< if kind is octets
  const rpcrdma::BufferRef* parts;  ///< if kind is parts
  std::uint32_t part_count;         ///< if kind is parts
  std::uint32_t item;               ///< if kind is item
  bool owned;                       ///< `octets` is a copy, freed by xdr_free()

  /// Makes this object refer to the unregistered memory `from`, which must stay valid until the message is encoded.
  void set_octets(std::span<const std::byte> from) noexcept {
    *this = {};
    length = static_cast<std::uint32_t>(from.size());
    octets = from.data();
  }
  /// As set_octets(), with the characters of a text.
  void set_text(std::string_view from) noexcept { set_octets(std::as_bytes(std::span(from))); }
  /// Makes this object refer to the bytes of all buffers in `from`, one after the other. The buffers are registered
  /// memory. If this data is reduced, it is not copied. The array `from` must stay valid for the same time as the
  /// memory of the buffers.
  void set_parts(std::span<const rpcrdma::BufferRef> from) noexcept {
    *this = {};
    kind = bulk_kind::parts;
    parts = from.data();
    part_count = static_cast<std::uint32_t>(from.size());
    for (const rpcrdma::BufferRef& part : from) length += part.size;
  }
  /// The pieces of memory, if the kind is `parts`.
  std::span<const rpcrdma::BufferRef> part_span() const noexcept { return {parts, part_count}; }
  /// The bytes of kind `octets`; empty for the other kinds.
  std::span<const std::byte> octet_span() const noexcept {
    if (kind != bulk_kind::octets) return {};
    return {octets, length};
  }
  /// The bytes of octet_span() as text.
  std::string_view text() const noexcept {
    const auto in = octet_span();
    return {reinterpret_cast<const char*>(in.data()), in.size()};
  }
};
static_assert(std::is_trivial_v<bulk_data>);

/// Encodes to an xdr::Encoder and decodes from an xdr::Decoder; fails on any other stream.
extern "C" RPCRDMA_EXPORT bool_t xdr_bulk_data(XDR* xdrs, bulk_data* data);
