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
  double kernel_calls;    ///< system calls as counted by the kernel
  double allocations;
  double copied;
  double system_calls;
  double sends;
  double receives;
  double empty_receives;
  double waits;
  double yields;
  double work_requests;
  double completions;
  double batches;
};

/// Counts the costs in a new run of a contender that has run before. If the machine permits it, the kernel counts the
/// system calls in one more run. A run that makes too few operations is repeated with twice the budget, until the
/// budget exceeds 10 s. Returns nothing if the run that counts the costs makes no operation.
std::vector<Cost> count(const Contender& one, const std::string& name, std::chrono::milliseconds budget);
void print_table(const std::vector<Cost>& costs);
void print_json(const Cost& cost);

}  // namespace rpcrdma::bench
