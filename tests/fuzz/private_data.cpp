// SPDX-License-Identifier: BSD-3-Clause
// If private data is found in the input, it encodes to bytes in which the same private data is found.
#include <cstdlib>

#include "rpcrdma/wire/private_data.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rpcrdma;
  const auto found = wire::find_private_data({reinterpret_cast<const std::byte*>(data), size});
  if (!found) return 0;
  const auto bytes = wire::encode(*found);
  const auto again = wire::find_private_data(bytes);
  if (!again || *again != *found) std::abort();
  const wire::Thresholds thresholds = wire::negotiate(*found, *found);
  if (thresholds.send < wire::kMinThreshold || thresholds.send > wire::kMaxThreshold) std::abort();
  return 0;
}
