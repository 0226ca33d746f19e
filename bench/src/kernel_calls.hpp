// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::bench {

/// Counts the system calls of a process, including those that bypass the C library, with a tracepoint of the kernel.
/// Needs root and a kernel with tracing. While a KernelCalls exists, system calls take longer on the whole machine.
class KernelCalls {
 public:
  /// Counts from now on in all threads of `process`, and in those that they start.
  explicit KernelCalls(pid_t process);
  /// The calls so far; nothing if they cannot be counted.
  std::optional<std::uint64_t> count() const;

 private:
  std::vector<Fd> events_;  // one for each thread; empty if nothing is counted
};

}  // namespace rpcrdma::bench
