// SPDX-License-Identifier: BSD-3-Clause
// MPA Request and Reply frames: a decoded frame encodes to bytes that decode to the same frame.
#include <cstdlib>

#include "wire/mpa_startup.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rpcrdma::fabric::iwarp;
  for (const StartupFrame::Kind kind : {StartupFrame::Kind::request, StartupFrame::Kind::reply}) {
    StartupFrame frame;
    if (decode({reinterpret_cast<const std::byte*>(data), size}, kind, frame) != StartupError::none) continue;
    StartupFrame again;
    if (decode(encode(frame), kind, again) != StartupError::none || again != frame) std::abort();
  }
  return 0;
}
