// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace rpcrdma::observe {

/// The resources that this process uses, as the kernel reports them.
struct ProcessUse {
  double cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;

  static ProcessUse now() {
    ProcessUse out;
    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) == 0) out.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    std::ifstream statm("/proc/self/statm");
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    if (statm >> size >> resident) out.resident_bytes = resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return out;
  }

 private:
  static double seconds(const timeval& time) noexcept {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  }
};

}  // namespace rpcrdma::observe
