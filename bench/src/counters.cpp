// SPDX-License-Identifier: BSD-3-Clause
#include "counters.hpp"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "kernel_calls.hpp"

namespace rpcrdma::bench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

Cost cost_of(const Totals& before, const Totals& after, std::uint64_t operations, std::uint32_t bytes) {
  const auto each = [&](auto member, bool known) {
    if (!known) return kUnknown;
    return static_cast<double>(member(after) - member(before)) / static_cast<double>(operations);
  };
  const auto counted = [&](auto member) { return each(member, after.counted); };
  Cost out{};
  out.processor_us = 1e6 * each([](const Totals& t) { return t.processor; }, after.process >= 0);
  out.processor_s_gb = bytes != 0 ? out.processor_us * 1e3 / bytes : kUnknown;
  out.kernel_calls = kUnknown;
  out.allocations = counted([](const Totals& t) { return t.allocations; });
  out.copied = counted([](const Totals& t) { return t.fabric.copied; });
  out.system_calls =
      counted([](const Totals& t) { return t.sends + t.receives + t.empty_receives + t.waits + t.yields + t.others; });
  out.sends = counted([](const Totals& t) { return t.sends; });
  out.receives = counted([](const Totals& t) { return t.receives; });
  out.empty_receives = counted([](const Totals& t) { return t.empty_receives; });
  out.waits = counted([](const Totals& t) { return t.waits; });
  out.yields = counted([](const Totals& t) { return t.yields; });
  out.work_requests = counted([](const Totals& t) { return t.fabric.work_requests; });
  out.completions = counted([](const Totals& t) { return t.fabric.completions; });
  out.batches = counted([](const Totals& t) { return t.fabric.batches; });
  return out;
}

/// The number of operations that a run should make for a count of its costs. The costs of starting the run and of
/// reading the counters are then negligible.
constexpr std::uint64_t kEnough = 500;
constexpr std::chrono::seconds kLongest{10};

/// Runs `one` again while the kernel counts the system calls of its client and server processes. Sets
/// Cost::kernel_calls of each side for which the kernel gives a count. Does nothing if it gives none for the client.
void count_in_kernel(const Contender& one, std::chrono::milliseconds budget, std::array<Cost, 2>& costs) {
  const Usage usage = one.subject->usage();
  const std::array<KernelCalls, 2> sides{KernelCalls(usage.client.process), KernelCalls(usage.server.process)};
  if (!sides[0].count()) return;
  for (;; budget *= 2) {
    const std::array before{sides[0].count(), sides[1].count()};
    const std::optional<Outcome> outcome = one.subject->run(one.which, budget);
    const std::array after{sides[0].count(), sides[1].count()};
    if (!outcome || outcome->operations == 0) return;
    if (outcome->operations < kEnough && budget <= kLongest) continue;
    for (std::size_t i = 0; i < 2; ++i) {
      if (after[i] && before[i])
        costs[i].kernel_calls = static_cast<double>(*after[i] - *before[i]) / static_cast<double>(outcome->operations);
    }
    return;
  }
}

/// The value with `precision` digits after the point; `unknown` if it is NaN.
std::string text(double value, int precision, const char* unknown) {
  return std::isnan(value) ? unknown : fmt::format("{:.{}f}", value, precision);
}

struct Column {
  const char* heading;
  const char* key;
  double Cost::*value;
  int precision;
};

constexpr std::array kColumns{
    Column{"cpu us", "cpu_us", &Cost::processor_us, 2},
    Column{"s/GB", "cpu_s_per_gb", &Cost::processor_s_gb, 3},
    Column{"kernel", "kernel_calls", &Cost::kernel_calls, 2},
    Column{"allocs", "allocations", &Cost::allocations, 2},
    Column{"copied", "copied", &Cost::copied, 0},
    Column{"syscalls", "system_calls", &Cost::system_calls, 2},
    Column{"sends", "sends", &Cost::sends, 2},
    Column{"receives", "receives", &Cost::receives, 2},
    Column{"empty", "empty_receives", &Cost::empty_receives, 2},
    Column{"waits", "waits", &Cost::waits, 2},
    Column{"yields", "yields", &Cost::yields, 2},
    Column{"posted", "work_requests", &Cost::work_requests, 2},
    Column{"complete", "completions", &Cost::completions, 2},
    Column{"batches", "batches", &Cost::batches, 2},
};

}  // namespace

std::vector<Cost> count(const Contender& one, const std::string& name, std::chrono::milliseconds budget) {
  for (;; budget *= 2) {
    const Usage before = one.subject->usage();
    const std::optional<Outcome> outcome = one.subject->run(one.which, budget);
    const Usage after = one.subject->usage();
    if (!outcome || outcome->operations == 0) return {};
    if (outcome->operations < kEnough && budget <= kLongest) continue;
    std::array<Cost, 2> costs{cost_of(before.client, after.client, outcome->operations, one.which.bytes),
                              cost_of(before.server, after.server, outcome->operations, one.which.bytes)};
    count_in_kernel(one, budget, costs);
    costs[0].side = "client";
    costs[1].side = "server";
    for (Cost& cost : costs) {
      cost.name = name;
      cost.who = one.name;
    }
    if (after.server.process < 0) return {costs[0]};
    return {costs.begin(), costs.end()};
  }
}

void print_table(const std::vector<Cost>& costs) {
  fmt::print("\nFor each operation:\n{:<26} {:<15} {:<6}", "case", "who", "side");
  for (const Column& column : kColumns) fmt::print(" {:>8}", column.heading);
  fmt::print("\n");
  for (const Cost& cost : costs) {
    fmt::print("{:<26} {:<15} {:<6}", cost.name, cost.who, cost.side);
    for (const Column& column : kColumns) fmt::print(" {:>8}", text(cost.*column.value, column.precision, "-"));
    fmt::print("\n");
  }
}

void print_json(const Cost& cost) {
  fmt::print("{{\"case\":\"{}\",\"who\":\"{}\",\"side\":\"{}\"", cost.name, cost.who, cost.side);
  for (const Column& column : kColumns)
    fmt::print(",\"{}\":{}", column.key, text(cost.*column.value, column.precision + 1, "null"));
  fmt::print("}}\n");
  std::fflush(stdout);
}

}  // namespace rpcrdma::bench
