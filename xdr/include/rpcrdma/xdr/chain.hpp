// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// XDR routines for linked lists (`struct node { ...; node *next; }`, RFC 4506 section 4.19). In memory the items are an
// array. The routines process the items in a loop, not by recursion, so a long list does not exhaust the stack. The
// size of the array is at most a small multiple of the size of the message.
#include <rpc/rpc.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "rpcrdma/xdr/boolean.hpp"

namespace rpcrdma::xdr {

/// Ensures that the array `items`, which has `count` items, has room for one more item. If `count` is 0 or a power of
/// two, the array is full, and the function enlarges it. Returns false if memory is exhausted.
template <class T>
bool grow_chain(std::uint32_t count, T*& items) noexcept {
  if ((count & (count - 1)) != 0) return true;
  const std::size_t room = count == 0 ? 1 : std::size_t{count} * 2;
  void* moved = std::realloc(static_cast<void*>(items), room * sizeof(T));
  if (moved == nullptr) return false;
  items = static_cast<T*>(moved);
  return true;
}

template <class T>
bool_t decode_chain(XDR* xdrs, std::uint32_t* count, T** items, bool_t (*each)(XDR*, T*)) noexcept {
  *count = 0;
  *items = nullptr;
  for (;;) {
    bool_t follows = FALSE;
    if (!xdr_strict_bool(xdrs, &follows)) return FALSE;
    if (!follows) return TRUE;
    if (!grow_chain(*count, *items)) return FALSE;
    T* item = *items + *count;
    std::memset(static_cast<void*>(item), 0, sizeof(T));
    ++*count;
    if (!each(xdrs, item)) return FALSE;  // xdr_free() frees the items decoded so far
  }
}

/// Encodes, decodes or frees an array. A decoded array is allocated by malloc() and belongs to the value until
/// xdr_free(); the caller owns an array to encode.
template <class T>
bool_t xdr_chain(XDR* xdrs, std::uint32_t* count, T** items, bool_t (*each)(XDR*, T*)) noexcept {
  static_assert(std::is_trivial_v<T>);
  if (xdrs->x_op == XDR_DECODE) return decode_chain(xdrs, count, items, each);
  for (std::uint32_t i = 0; i < *count; ++i) {
    bool_t follows = TRUE;
    if (!xdr_strict_bool(xdrs, &follows)) return FALSE;
    if (!each(xdrs, *items + i)) return FALSE;
  }
  if (xdrs->x_op == XDR_ENCODE) {
    bool_t follows = FALSE;
    return xdr_strict_bool(xdrs, &follows);
  }
  std::free(*items);
  *items = nullptr;
  *count = 0;
  return TRUE;
}

}  // namespace rpcrdma::xdr
