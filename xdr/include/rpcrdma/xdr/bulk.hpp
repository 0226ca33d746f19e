// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// bulk_data: a DDP-eligible counted opaque (RFC 8166 section 3.4.1), for use in .x files. It stands for
// `opaque data<>` or `string path<>` on the wire, but names its octets instead of holding them.
#include <rpc/rpc.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "rpcrdma/base/buffer_ref.hpp"

/// What a bulk_data's octets are.
// NOLINTNEXTLINE(readability-identifier-naming): as rpcgen names types
enum class bulk_kind : std::uint32_t {
  octets = 0,  ///< in memory at `octets`: part of a message, or the sender's own unregistered memory
  parts,       ///< in registered memory at `parts[0..part_count)`
  item,        ///< incoming argument: item number `item` of the call's Payload, not pulled yet
  placed,      ///< incoming result: in the buffers that the caller gave for it, from their start
};

/// Trivial, so that it can stand in the unions that rpcgen makes; all zero is the empty item. Owns nothing,
/// but for the rare copy that `owned` tells of, which xdr_free() gives back.
///
/// Outgoing. set_parts(): by reference, in registered memory that stays valid and unchanged until the
/// message is done with (client: the call's completion; server: the release handler of reply()).
/// set_octets(): unregistered memory, copied into the message (or, where a peer's Write chunk demands it,
/// into a buffer of the pool); meant for small items such as paths.
///
/// Incoming, server: `item` when the client reduced it: fetch it with async_fetch(); else `octets`, in place in
/// the message, valid until the reply is sent. Incoming, client: `placed` when it lies in the buffers that the
/// caller gave for results; else `octets`, valid as long as the Decoded<T>.
// NOLINTNEXTLINE(readability-identifier-naming): as rpcgen names types
// [8166-3.4.4.3-a] the only type that can be reduced is an opaque
struct bulk_data {
  std::uint32_t length;  ///< octets, without pad
  bulk_kind kind;
  const std::byte* octets;
  const rpcrdma::BufferRef* parts;
  std::uint32_t part_count;
  std::uint32_t item;
  bool owned;

  void set_octets(std::span<const std::byte> from) noexcept {
    *this = {};
    length = static_cast<std::uint32_t>(from.size());
    octets = from.data();
  }
  void set_text(std::string_view from) noexcept { set_octets(std::as_bytes(std::span(from))); }
  /// The array `from` itself must stay valid as long as the octets. Its sizes add up to the length.
  void set_parts(std::span<const rpcrdma::BufferRef> from) noexcept {
    *this = {};
    kind = bulk_kind::parts;
    parts = from.data();
    part_count = static_cast<std::uint32_t>(from.size());
    for (const rpcrdma::BufferRef& part : from) length += part.size;
  }
  std::span<const rpcrdma::BufferRef> part_span() const noexcept { return {parts, part_count}; }
  /// The octets of kind `octets`; empty for the others.
  std::span<const std::byte> octet_span() const noexcept {
    if (kind != bulk_kind::octets) return {};
    return {octets, length};
  }
  std::string_view text() const noexcept {
    const auto in = octet_span();
    return {reinterpret_cast<const char*>(in.data()), in.size()};
  }
};
static_assert(std::is_trivial_v<bulk_data>);

/// Encodes to an xdr::Encoder and decodes from an xdr::Decoder; fails on any other stream.
extern "C" bool_t xdr_bulk_data(XDR* xdrs, bulk_data* data);
