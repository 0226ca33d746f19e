// SPDX-License-Identifier: BSD-3-Clause
// If a header of version two can be decoded, it encodes to bytes that decode to the same header. The same holds for the
// content of an option.
#include <cstdlib>
#include <vector>

#include "rpcrdma/wire/header.hpp"
#include "rpcrdma/wire/v2/options.hpp"

namespace {

using namespace rpcrdma;
using namespace rpcrdma::wire;

template <class Option>
void check(Octets content) {
  static std::vector<std::byte> again;
  Option option;
  if (!v2::decode(content, option)) return;
  again.resize(content.size());
  const auto size = v2::encode(option, again);
  Option twice;
  if (!size || !v2::decode(Octets(again).first(*size), twice) || twice != option) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Header header;
  static Header twice;
  static std::vector<std::byte> again;
  constexpr std::size_t kMost = 100;
  constexpr DecodeLimits kLimits{.max_segments = kMost, .highest_version = kVersionTwo};
  const auto length = decode({reinterpret_cast<const std::byte*>(data), size}, header, kLimits);
  if (header.chunks.segment_count() > kMost) std::abort();
  if (!length) return 0;
  if (*length > size || encoded_size(header) != *length) std::abort();
  again.assign(reinterpret_cast<const std::byte*>(data), reinterpret_cast<const std::byte*>(data) + size);
  if (!encode(header, again) || !decode(again, twice, kLimits) || twice != header) std::abort();
  if (header.procedure != Procedure::optional) return 0;
  check<v2::InitOption>(header.option);
  check<v2::RequestOption>(header.option);
  check<v2::ResponseOption>(header.option);
  check<v2::UpdateOption>(header.option);
  return 0;
}
