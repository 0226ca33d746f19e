// SPDX-License-Identifier: BSD-3-Clause
#include "rewrite.hpp"

#include <algorithm>

#include "crc32c.hpp"

namespace rpcrdma::proxy {
namespace {

constexpr std::size_t kBits = 8;

bool is_start_up(const Frame& frame) noexcept {
  return frame.kind == Kind::mpa_request || frame.kind == Kind::mpa_reply;
}

bool is_tagged(const Frame& frame) noexcept { return frame.kind == Kind::write || frame.kind == Kind::read_response; }

/// The place of a field in a frame: the number of its first bit, and how many bits it has. Bit 0 is the most
/// significant bit of the first byte.
struct Place {
  std::size_t bit, count;
};

std::optional<Place> place_of(Field field, const Frame& frame) noexcept {
  constexpr Place kDdpVersion{kDdpControlOffset * kBits + 6, 2}, kRdmapVersion{kRdmapControlOffset * kBits, 2};
  constexpr Place kQueue{kQueueOffset * kBits, 32}, kMsn{kMsnOffset * kBits, 32}, kStag{kStagOffset * kBits, 32};
  if (field == Field::any) {
    const std::size_t from = is_start_up(frame) ? 0 : kLengthSize * kBits;
    return Place{from, frame.size * kBits - from};
  }
  if (is_start_up(frame) || frame.kind == Kind::other) return std::nullopt;
  if (field == Field::ddp_version) return kDdpVersion;
  if (field == Field::rdmap_version) return kRdmapVersion;
  if (field == Field::stag) return is_tagged(frame) ? std::optional(kStag) : std::nullopt;
  if (is_tagged(frame)) return std::nullopt;
  return field == Field::queue ? kQueue : kMsn;
}

}  // namespace

std::optional<std::size_t> bit_to_flip(Fault& fault, const Frame& frame) {
  // To correct the CRC would undo a change of the CRC itself.
  const std::size_t spared = fault.rule.fix_crc && !is_start_up(frame) ? kCrcSize : 0;
  const std::size_t bits = (frame.size - spared) * kBits;
  if (const auto bit = fault.rule.bit) return *bit < bits ? std::optional<std::size_t>(*bit) : std::nullopt;
  const auto place = place_of(fault.rule.field, frame);
  if (!place) return std::nullopt;
  const std::size_t count = std::min(place->count, bits - place->bit);
  return place->bit + fault.dice.below(static_cast<std::uint32_t>(count));
}

void flip_bit(MutableOctets frame, std::size_t bit) noexcept { frame[bit / kBits] ^= std::byte{0x80} >> (bit % kBits); }

std::optional<std::uint32_t> lower_credits(MutableOctets fpdu, std::uint32_t grant) noexcept {
  constexpr std::size_t kOffset = kLengthSize + kUntaggedSize + kCreditOffset;
  if (fpdu.size() < kOffset + sizeof grant) return std::nullopt;
  const MutableOctets word = fpdu.subspan(kOffset, sizeof grant);
  const std::uint32_t before = Reader(word).u32();
  if (before <= grant) return std::nullopt;
  Writer(word).u32(grant);
  return before;
}

void write_crc(MutableOctets fpdu) noexcept {
  if (fpdu.size() < kLengthSize + kCrcSize) return;
  std::uint32_t crc = crc32c(fpdu.first(fpdu.size() - kCrcSize));
  for (std::byte& byte : fpdu.last(kCrcSize)) {  // least significant byte first (RFC 5044 section 4.4)
    byte = static_cast<std::byte>(crc & 0xFF);
    crc >>= 8;
  }
}

}  // namespace rpcrdma::proxy
