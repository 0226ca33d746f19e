// SPDX-License-Identifier: BSD-3-Clause
#include "placement.hpp"

#include <sched.h>

#include <stdexcept>
#include <vector>

namespace rpcrdma::bench {
namespace {

/// The processors that this process may use, as read at the first call.
const std::vector<int>& processors() {
  static const std::vector<int> all = [] {
    cpu_set_t set;
    std::vector<int> found;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) throw std::runtime_error("sched_getaffinity failed");
    for (int one = 0; one < CPU_SETSIZE; ++one)
      if (CPU_ISSET(one, &set)) found.push_back(one);
    return found;
  }();
  return all;
}

}  // namespace

Placement parse_placement(std::string_view name) noexcept {
  if (name == "apart") return Placement::apart;
  return name == "together" ? Placement::together : Placement::free;
}

void run_on(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) throw std::runtime_error("sched_setaffinity failed");
}

std::optional<std::pair<int, int>> processors_of(Placement placement) {
  const int first = processors().front();
  if (placement == Placement::together) return std::pair{first, first};
  if (placement == Placement::free || processors().size() == 1) return std::nullopt;
  return std::pair{first, processors()[1]};
}

bool are_apart(Placement placement) {
  const auto both = processors_of(placement);
  return both && both->first != both->second;
}

void place_servers(Placement placement) {
  if (const auto both = processors_of(placement)) run_on(both->first);
}

void place_clients(Placement placement) {
  if (const auto both = processors_of(placement)) run_on(both->second);
}

}  // namespace rpcrdma::bench
