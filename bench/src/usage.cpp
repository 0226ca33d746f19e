// SPDX-License-Identifier: BSD-3-Clause
#include "usage.hpp"

#include <time.h>
#include <unistd.h>

namespace rpcrdma::bench {
namespace {

double processor_time(pid_t process) {
  clockid_t clock{};
  timespec spent{};
  if (process < 0 || ::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &spent) != 0) return 0;
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) / 1e9;
}

}  // namespace

Totals Totals::of(const tally::Counts& counts, const fabric::Counters& fabric, pid_t process) {
  return {.process = process,
          .counted = true,
          .processor = processor_time(process),
          .allocations = counts.allocations,
          .sends = counts.sends,
          .receives = counts.receives,
          .empty_receives = counts.empty_receives,
          .waits = counts.waits,
          .yields = counts.yields,
          .others = counts.others,
          .fabric = fabric};
}

Totals Totals::here(const fabric::Counters& fabric) { return of(tally::here(), fabric, ::getpid()); }

Totals Totals::unknown(pid_t process) { return {.process = process, .processor = processor_time(process)}; }

}  // namespace rpcrdma::bench
