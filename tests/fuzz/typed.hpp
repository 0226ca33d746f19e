// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Decodes fuzzed messages as the arguments or results of procedures. The input has these fields:
// - one byte that selects the procedure;
// - one byte of flags: kResult selects the results instead of the arguments, kItem means that an item is reduced;
// - one byte: the size of the pieces into which the message is cut;
// - only with kItem, two bytes for the position of the item, in words of four bytes, and four bytes for its length;
// - the message, up to the end of the input.
#include <cstring>
#include <optional>
#include <utility>

#include "input.hpp"
#include "message.hpp"
#include "rpcrdma/rpc/procedure.hpp"

namespace rpcrdma::fuzz {

inline constexpr std::uint8_t kResult = 1;
inline constexpr std::uint8_t kItem = 2;

template <class T>
using Routine = bool_t (*)(XDR*, T*);

template <class T>
test::Bytes encoded(Routine<T> routine, const T& value) {
  test::OutMessage message;
  xdr::Encoder out(message.out());
  require(out.encode(routine, value));
  return message.reduced();
}

/// Decodes the value at the start of `octets`; returns its encoding, or nothing if it cannot be decoded. Sets `end` to
/// the length of the value, and `whole` to whether nothing follows it.
template <class T>
std::optional<test::Bytes> again(Routine<T> routine, Octets octets, std::size_t step, std::uint32_t& end, bool& whole) {
  test::InMessage message;
  cut(message, octets, step);
  xdr::Decoder in(message.payload());
  T value{};
  std::optional<test::Bytes> out;
  if (in.decode(routine, value)) {
    end = in.position();
    whole = in.finish() && end == octets.size();
    out = encoded(routine, value);
  }
  test::xdr_release(routine, value);
  return out;
}

/// Decodes a message without chunks, once whole and once in pieces of `step` bytes; both must give the same value. The
/// encoding of the value must be as long as the decoded bytes, and must decode to the same value. (The bytes may
/// differ, as pads need not be zero.)
template <class T>
void check_inline(Routine<T> routine, Octets octets, std::size_t step) {
  std::uint32_t ends[3]{};
  bool whole[3]{};
  const auto first = again<T>(routine, octets, 0, ends[0], whole[0]);
  const auto second = again<T>(routine, octets, step, ends[1], whole[1]);
  require(first == second && ends[0] == ends[1] && whole[0] == whole[1]);
  if (!first) return;
  require(first->size() == ends[0]);
  const auto third = again<T>(routine, *first, 0, ends[2], whole[2]);
  require(third == first && whole[2]);
}

/// Decodes a message of which one item is in a chunk. The position and the length of the item come from the input, so
/// they may be wrong.
template <class T>
void check_reduced(Routine<T> routine, Input& in, std::size_t step, bool result) {
  const std::uint32_t position = std::uint32_t{in.u16()} * 4;
  const std::uint32_t length = in.u32();
  const Octets octets = in.rest();
  std::byte room[64];
  const BufferRef part{room, sizeof room, 1};
  const std::span<const BufferRef> parts(&part, 1);
  test::InMessage message;
  if (result) {
    cut(message, octets, step);
    message.write_item(parts, length % (sizeof room + 1));
  } else {
    const std::size_t before = std::min<std::size_t>(position, octets.size());
    cut(message, octets.first(before), step);
    message.piece(octets.subspan(before), position + pad4(length % 0x100000));
    message.item(position, length % 0x100000);
  }
  xdr::Decoder decoder(message.payload());
  if (result) decoder.set_destinations({&parts, 1});
  T value{};
  if (decoder.decode(routine, value) && decoder.finish()) require(decoder.position() <= message.payload().length);
  test::xdr_release(routine, value);
}

template <rpc::Procedure P>
void check(Input in) {
  const std::uint8_t flags = in.u8();
  const std::size_t step = in.u8();
  const bool result = (flags & kResult) != 0;
  if ((flags & kItem) != 0) {
    if (result) return check_reduced<typename P::Result>(&P::xdr_result, in, step, true);
    return check_reduced<typename P::Args>(&P::xdr_args, in, step, false);
  }
  if (result) return check_inline<typename P::Result>(&P::xdr_result, in.rest(), step);
  check_inline<typename P::Args>(&P::xdr_args, in.rest(), step);
}

/// The first byte of the input selects one of `P...`.
template <rpc::Procedure... P>
int check_one_of(Input in) {
  constexpr void (*kChecks[])(Input) = {&check<P>...};
  const std::size_t index = in.u8() % sizeof...(P);
  kChecks[index](in);
  return 0;
}

}  // namespace rpcrdma::fuzz
