// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "timing.hpp"

namespace rpcrdma::bench {
namespace {

double spread_of(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  std::vector<double> copy = values;
  return (*high - *low) / median(copy);
}

double run(const Contender& one, std::chrono::milliseconds budget) {
  const std::optional<Outcome> outcome = one.subject->run(one.which, std::max(budget, one.which.least));
  if (!outcome) throw std::runtime_error(one.name + " does not support " + one.which.name);
  return outcome->value;
}

}  // namespace

std::vector<Row> compare(const Contender& ours, const std::vector<Contender>& peers, int rounds,
                         std::chrono::milliseconds budget) {
  run(ours, budget);
  for (const Contender& peer : peers) run(peer, budget);
  std::vector<double> own;
  std::vector<std::vector<double>> theirs(peers.size());
  for (int round = 0; round < rounds; ++round) {
    own.push_back(run(ours, budget));
    for (std::size_t i = 0; i < peers.size(); ++i) theirs[i].push_back(run(peers[i], budget));
  }
  const double spread = spread_of(own);
  const double own_median = median(own);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < peers.size(); ++i)
    rows.push_back({ours.which.name, ours.which.unit, peers[i].name, own_median, median(theirs[i]), spread});
  return rows;
}

void print_table(const std::vector<Row>& rows) {
  fmt::print("{:<26} {:>5} {:>11}  {:<15} {:>11} {:>7} {:>7}\n", "case", "unit", "ours", "peer", "peer value", "ratio",
             "spread");
  for (const Row& row : rows) {
    fmt::print("{:<26} {:>5} {:>11.1f}  {:<15} {:>11.1f} {:>7.2f} {:>6.0f}%\n", row.name, row.unit, row.ours, row.peer,
               row.peer_value, row.ours / row.peer_value, 100 * row.spread);
  }
}

void print_json(const Row& row) {
  fmt::print(
      "{{\"case\":\"{}\",\"unit\":\"{}\",\"ours\":{:.3f},\"peer\":\"{}\",\"peer_value\":{:.3f},\"ratio\":{:.4f},"
      "\"spread\":{:.4f}}}\n",
      row.name, row.unit, row.ours, row.peer, row.peer_value, row.ours / row.peer_value, row.spread);
  std::fflush(stdout);
}

void print_machine(const WakeUp& wakeup, Placement placement, bool json) {
  if (json) {
    fmt::print("{{\"wakeup_us\":{:.2f},\"wakeup_90_us\":{:.2f}}}\n", wakeup.median, wakeup.percentile_90);
  } else {
    const char* where = are_apart(placement)               ? "on another processor"
                        : placement == Placement::together ? "on the same processor"
                                                           : "on any processor";
    fmt::print("waking a thread {}: {:.1f} us, nine of ten within {:.1f} us\n", where, wakeup.median,
               wakeup.percentile_90);
  }
  std::fflush(stdout);
}

void print_left_out(std::string_view name, std::string_view why, bool json) {
  if (json) {
    std::string text;  // `why`, with an apostrophe in place of each character that JSON would have to escape
    for (const char c : why) text += c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ' ? '\'' : c;
    fmt::print("{{\"left_out\":\"{}\",\"why\":\"{}\"}}\n", name, text);
  } else {
    fmt::print("left out: {}: {}\n", name, why);
  }
  std::fflush(stdout);
}

}  // namespace rpcrdma::bench
