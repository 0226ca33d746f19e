// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <functional>
#include <vector>

#include "report.hpp"

namespace rpcrdma::bench {

/// Runs `measure` in a process of its own, so that each run starts with new servers and clients, and returns its rows.
/// Call it while this process has a single thread. Throws std::runtime_error if the run fails; the run prints the
/// reason.
std::vector<Row> run_apart(const std::function<std::vector<Row>()>& measure);

/// For each row of the first run, prints the minimum, the median and the maximum over all runs.
void print_summary(const std::vector<std::vector<Row>>& runs, bool json);

}  // namespace rpcrdma::bench
