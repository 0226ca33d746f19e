// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "subject.hpp"
#include "wakeup.hpp"

namespace rpcrdma::bench {

/// A subject, its name in the result, and the case that it runs.
struct Contender {
  std::string name;
  Subject* subject;
  Case which;
};

/// One line of the result: our value and one peer's, both medians over the rounds of one run.
struct Row {
  std::string name;
  std::string unit;
  std::string peer;
  double ours;
  double peer_value;
  double spread;  ///< spread of our rounds: (largest - smallest) / median
};

/// Runs `ours` and each of the peers in turn, `rounds` times, after one unmeasured round each.
std::vector<Row> compare(const Contender& ours, const std::vector<Contender>& peers, int rounds,
                         std::chrono::milliseconds budget);
void print_table(const std::vector<Row>& rows);
void print_json(const Row& row);

/// Prints the time to wake a thread on this machine, which is a part of the latency of subjects that do not poll.
void print_machine(const WakeUp& wakeup, Placement placement, bool json);
/// Prints the name of a subject that is not measured, and the reason.
void print_left_out(std::string_view name, std::string_view why, bool json);

}  // namespace rpcrdma::bench
