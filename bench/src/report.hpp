// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>
#include <vector>

#include "subject.hpp"

namespace rpcrdma::bench {

/// One line of the result: our value beside one peer's, both medians over the rounds of one run.
struct Row {
  Case which;
  std::string peer;
  double ours;
  double peer_value;
  double spread;  ///< of our rounds: (largest - smallest) / median
};

/// Runs `which` on `ours` and on each peer that can, in turn, `rounds` times, after one unmeasured round each.
std::vector<Row> compare(Case which, Subject& ours, const std::vector<Subject*>& peers, int rounds,
                         std::chrono::milliseconds budget);
void print_table(const std::vector<Row>& rows);
void print_json(const Row& row);

}  // namespace rpcrdma::bench
