// SPDX-License-Identifier: BSD-3-Clause
#include "tapped.hpp"

#include <stdexcept>

#include "rpcrdma/capture/capture.hpp"

namespace rpcrdma::bench {

fabric::OpenOptions with_capture(fabric::OpenOptions options, const std::filesystem::path& file) {
  if (file.empty()) return options;
  auto capture = capture::Capture::open({.file = file, .size = 512u << 20, .snap = 128}, Log());
  if (!capture) throw std::runtime_error(file.string() + ": " + capture.error().message());
  options.tap = std::move(*capture);
  return options;
}

}  // namespace rpcrdma::bench
