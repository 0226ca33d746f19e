// SPDX-License-Identifier: BSD-3-Clause
// Decoding keeps the limit on segments. A decoded header encodes to the same bytes.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "rpcrdma/wire/header.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rpcrdma;
  static wire::Header header;
  static std::vector<std::byte> again;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  constexpr std::size_t kMost = 100;
  const auto length = wire::decode({bytes, size}, header, {.max_segments = kMost});
  if (header.chunks.segment_count() > kMost) std::abort();
  if (!length) return 0;
  if (*length > size || wire::encoded_size(header) != *length) std::abort();
  again.resize(*length);
  const auto written = wire::encode(header, again);
  if (!written || *written != *length || std::memcmp(again.data(), bytes, *length) != 0) std::abort();
  return 0;
}
