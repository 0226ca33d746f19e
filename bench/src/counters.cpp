// SPDX-License-Identifier: BSD-3-Clause
#include "counters.hpp"

#include <fmt/core.h>

#include <cstdio>

namespace rpcrdma::bench {
namespace {

Cost cost_of(const Totals& before, const Totals& after, std::uint64_t operations) {
  const auto each = [&](auto member) {
    return static_cast<double>(member(after) - member(before)) / static_cast<double>(operations);
  };
  Cost out{};
  out.allocations = each([](const Totals& t) { return t.allocations; });
  out.copied = each([](const Totals& t) { return t.fabric.copied; });
  out.system_calls =
      each([](const Totals& t) { return t.sends + t.receives + t.empty_receives + t.waits + t.yields + t.others; });
  out.sends = each([](const Totals& t) { return t.sends; });
  out.receives = each([](const Totals& t) { return t.receives; });
  out.empty_receives = each([](const Totals& t) { return t.empty_receives; });
  out.waits = each([](const Totals& t) { return t.waits; });
  out.yields = each([](const Totals& t) { return t.yields; });
  out.work_requests = each([](const Totals& t) { return t.fabric.work_requests; });
  out.completions = each([](const Totals& t) { return t.fabric.completions; });
  out.batches = each([](const Totals& t) { return t.fabric.batches; });
  return out;
}

std::vector<Cost> costs_of(const Contender& one, const std::string& name, const Usage& before, const Usage& after,
                           std::uint64_t operations) {
  std::vector<Cost> costs{cost_of(before.client, after.client, operations),
                          cost_of(before.server, after.server, operations)};
  costs[0].side = "client";
  costs[1].side = "server";
  for (Cost& cost : costs) {
    cost.name = name;
    cost.who = one.name;
  }
  return costs;
}

/// With this many operations, the cost of the run itself and of reading the usage is negligible.
constexpr std::uint64_t kEnough = 500;
constexpr std::chrono::seconds kLongest{10};

}  // namespace

std::vector<Cost> count(const Contender& one, const std::string& name, std::chrono::milliseconds budget) {
  for (;; budget *= 2) {
    const Usage before = one.subject->usage();
    const std::optional<Outcome> outcome = one.subject->run(one.which, budget);
    const Usage after = one.subject->usage();
    if (!outcome || outcome->operations == 0) return {};
    if (outcome->operations >= kEnough || budget > kLongest)
      return costs_of(one, name, before, after, outcome->operations);
  }
}

void print_table(const std::vector<Cost>& costs) {
  fmt::print(
      "\nFor each operation:\n{:<25} {:<15} {:<6} {:>6} {:>7} {:>8} {:>6} {:>8} {:>6} {:>6} {:>6} {:>6} {:>8} {:>7}\n",
      "case", "who", "side", "allocs", "copied", "syscalls", "sends", "receives", "empty", "waits", "yields", "posted",
      "complete", "batches");
  for (const Cost& cost : costs) {
    fmt::print(
        "{:<25} {:<15} {:<6} {:>6.2f} {:>7.0f} {:>8.2f} {:>6.2f} {:>8.2f} {:>6.2f} {:>6.2f} {:>6.2f} {:>6.2f} {:>8.2f} "
        "{:>7.2f}\n",
        cost.name, cost.who, cost.side, cost.allocations, cost.copied, cost.system_calls, cost.sends, cost.receives,
        cost.empty_receives, cost.waits, cost.yields, cost.work_requests, cost.completions, cost.batches);
  }
}

void print_json(const Cost& cost) {
  fmt::print(
      "{{\"case\":\"{}\",\"who\":\"{}\",\"side\":\"{}\",\"allocations\":{:.4f},\"copied\":{:.2f},\"system_calls\":{:."
      "3f},"
      "\"sends\":{:.3f},\"receives\":{:.3f},\"empty_receives\":{:.3f},\"waits\":{:.3f},\"yields\":{:.3f},\"work_"
      "requests\":{:.3f},"
      "\"completions\":{:.3f},\"batches\":{:.3f}}}\n",
      cost.name, cost.who, cost.side, cost.allocations, cost.copied, cost.system_calls, cost.sends, cost.receives,
      cost.empty_receives, cost.waits, cost.yields, cost.work_requests, cost.completions, cost.batches);
  std::fflush(stdout);
}

}  // namespace rpcrdma::bench
