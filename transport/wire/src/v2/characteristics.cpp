// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/wire/v2/characteristics.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include "characteristic_codec.hpp"

namespace rpcrdma::wire::v2 {
namespace {

/// The size of an xcharval with an empty value, in bytes.
constexpr std::size_t kMinCharacteristic = 8;
constexpr std::uint32_t kValueSize = 4;  // every known characteristic has a value of this size

/// The value of SmallerReceives begins with this name, because another implementation may use the same code for an
/// experiment of its own.
constexpr std::string_view kExperimentName = "rpcrdma1";

Octets name_of_experiment() noexcept { return std::as_bytes(std::span(kExperimentName)); }

std::uint32_t largest_value(CharacteristicId id) noexcept {
  switch (id) {
    case CharacteristicId::receive_buffer_size: return UINT32_MAX;
    case CharacteristicId::requester_remote_invalidation: return 1;
    case CharacteristicId::backward_request_support: return static_cast<std::uint32_t>(BackwardSupport::general);
  }
  return 0;
}

}  // namespace

bool operator==(const Characteristic& a, const Characteristic& b) noexcept {
  return a.id == b.id && a.value == b.value && std::ranges::equal(a.data, b.data);
}

SmallerReceives::SmallerReceives(std::uint32_t size) noexcept {
  Writer out(data_);
  out.octets(name_of_experiment());
  out.u32(size);
}

std::optional<std::uint32_t> SmallerReceives::size_in(const Characteristic& value) noexcept {
  if (value.id != kSmallerReceivesWanted || value.data.size() != kExperimentName.size() + 4) return std::nullopt;
  Reader in(value.data);
  if (!std::ranges::equal(in.octets(kExperimentName.size()), name_of_experiment())) return std::nullopt;
  return in.u32();
}

void Subset::assign(boost::container::small_vector<std::uint32_t, 1> words) noexcept {
  while (!words.empty() && words.back() == 0) words.pop_back();
  words_ = std::move(words);
}

void decode(Reader& in, Characteristic& out) noexcept {
  out = {};
  out.id = in.u32();
  const std::uint32_t size = in.u32();
  const Octets data = in.octets(size);  // [xchar-2.1-a] fails if the value extends beyond the message
  in.skip(pad4(std::size_t{size}) - size);
  if (!in.ok()) return;
  if (!out.known()) {
    out.data = data;  // [xchar-2.1-d] an unknown id is no error
    return;
  }
  // [xchar-2.1-c] The value of a known id has a fixed length. A shorter value is invalid. This function treats a longer
  // value as invalid, too.
  if (size != kValueSize) return in.fail();
  out.value = Reader(data).u32();
  if (out.value > largest_value(CharacteristicId{out.id})) in.fail();  // [xchar-2.1-b] the value is out of range
}

void decode(Reader& in, CharacteristicList& out) {
  out.clear();
  const std::uint32_t count = in.u32();
  // Check the count before the list grows: the message must be long enough to hold it.
  if (count > in.remaining() / kMinCharacteristic || count > kMaxCharacteristics) in.fail();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) decode(in, out.emplace_back());
}

void decode(Reader& in, Subset& out) {
  const std::uint32_t count = in.u32();
  if (count > in.remaining() / 4) in.fail();
  boost::container::small_vector<std::uint32_t, 1> words;
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    const std::uint32_t word = in.u32();
    // Ignores the words for positions from kMaxCharacteristics on, because no accepted list has elements there.
    if (i < kMaxCharacteristics / 32) words.push_back(word);
  }
  out.assign(std::move(words));
}

void encode(Writer& out, const Characteristic& value) noexcept {
  out.u32(value.id);
  if (value.known()) {
    out.u32(kValueSize);
    out.u32(value.value);
    return;
  }
  out.u32(static_cast<std::uint32_t>(value.data.size()));
  out.octets(value.data);
  out.zeros(pad4(value.data.size()) - value.data.size());
}

void encode(Writer& out, const CharacteristicList& list) noexcept {
  out.u32(static_cast<std::uint32_t>(list.size()));
  for (const Characteristic& value : list) encode(out, value);
}

void encode(Writer& out, const Subset& subset) noexcept {
  out.u32(static_cast<std::uint32_t>(subset.words().size()));
  for (const std::uint32_t word : subset.words()) out.u32(word);
}

}  // namespace rpcrdma::wire::v2
