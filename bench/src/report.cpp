// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "timing.hpp"

namespace rpcrdma::bench {
namespace {

double spread_of(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  std::vector<double> copy = values;
  return (*high - *low) / median(copy);
}

}  // namespace

std::vector<Row> compare(Case which, Subject& ours, const std::vector<Subject*>& peers, int rounds,
                         std::chrono::milliseconds budget) {
  std::vector<Subject*> able;
  for (Subject* peer : peers) {
    if (peer->run(which, budget)) able.push_back(peer);  // the unmeasured round
  }
  if (!ours.run(which, budget)) return {};
  std::vector<double> own;
  std::vector<std::vector<double>> theirs(able.size());
  for (int round = 0; round < rounds; ++round) {
    own.push_back(ours.run(which, budget).value());
    for (std::size_t i = 0; i < able.size(); ++i) theirs[i].push_back(able[i]->run(which, budget).value());
  }
  const double spread = spread_of(own);
  const double own_median = median(own);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < able.size(); ++i) {
    rows.push_back({which, std::string(able[i]->name()), own_median, median(theirs[i]), spread});
  }
  return rows;
}

void print_table(const std::vector<Row>& rows) {
  fmt::print("{:<16} {:>6} {:>12} {:<10} {:>12} {:>7} {:>7}\n", "case", "unit", "ours", "peer", "peer value", "ratio",
             "spread");
  for (const Row& row : rows) {
    fmt::print("{:<16} {:>6} {:>12.1f} {:<10} {:>12.1f} {:>7.2f} {:>6.0f}%\n", info(row.which).name,
               info(row.which).unit, row.ours, row.peer, row.peer_value, row.ours / row.peer_value, 100 * row.spread);
  }
}

void print_json(const Row& row) {
  fmt::print(
      "{{\"case\":\"{}\",\"unit\":\"{}\",\"ours\":{:.3f},\"peer\":\"{}\",\"peer_value\":{:.3f},\"ratio\":{:.4f},"
      "\"spread\":{:.4f}}}\n",
      info(row.which).name, info(row.which).unit, row.ours, row.peer, row.peer_value, row.ours / row.peer_value,
      row.spread);
}

}  // namespace rpcrdma::bench
