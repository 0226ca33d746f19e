// SPDX-License-Identifier: BSD-3-Clause
#include "counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace rpcrdma::proxy {
namespace {

std::string underscored(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

}  // namespace

std::string Counters::text() const {
  std::string out = fmt::format("connections={} unframed={} frames={} bytes={}", connections, unframed, frames, bytes);
  for (std::size_t i = 0; i < messages.size(); ++i)
    out += fmt::format(" {}={}", underscored(kKindNames[i]), messages[i]);
  out += fmt::format(" faults={} skipped={}", std::accumulate(faults.begin(), faults.end(), std::uint64_t{0}), skipped);
  for (std::size_t i = 0; i < faults.size(); ++i) out += fmt::format(" {}={}", underscored(kActionNames[i]), faults[i]);
  return out;
}

}  // namespace rpcrdma::proxy
