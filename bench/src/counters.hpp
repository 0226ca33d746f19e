// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>
#include <vector>

#include "report.hpp"
#include "usage.hpp"

namespace rpcrdma::bench {

/// The cost of one operation on one side of a contender: averages over a run. A value that cannot be measured is
/// NaN.
struct Cost {
  std::string name;  ///< name of the case
  std::string who;
  std::string side;
  double processor_us;    ///< microseconds of processor time, in the process and in the kernel on its behalf
  double processor_s_gb;  ///< seconds of processor time for 10^9 bytes of bulk data
  double kernel_calls;    ///< all system calls, as counted by the kernel in a separate run
  double allocations;
  double copied;
  double system_calls;  ///< the system calls that the counters in the process see, such as `sends` and `waits`
  double sends;
  double receives;
  double empty_receives;
  double waits;
  double yields;
  double work_requests;
  double completions;
  double batches;
};

/// Returns the costs of a contender that has run before. Makes a run in which the processes count their own costs. If
/// the machine permits it, makes another run in which the kernel counts the system calls. `budget` is the time for a
/// run. While a run makes too few operations and its budget is at most 10 s, the function repeats the run with twice
/// the budget. Returns nothing if a run in which the processes count makes no operation.
std::vector<Cost> count(const Contender& one, const std::string& name, std::chrono::milliseconds budget);
void print_table(const std::vector<Cost>& costs);
void print_json(const Cost& cost);

}  // namespace rpcrdma::bench
