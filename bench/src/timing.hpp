// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <chrono>
#include <vector>

#include "subject.hpp"

namespace rpcrdma::bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

inline double microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

/// The middle value; `values` must not be empty and is reordered.
inline double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The rate in the unit of `which`, from the operations done and the seconds that they took.
inline Outcome rate(const Case& which, std::uint64_t operations, double seconds) {
  const double per_second = static_cast<double>(operations) / seconds;
  return {which.unit == "MB/s" ? per_second * which.bytes / 1e6 : per_second, operations};
}

/// The median of durations in microseconds.
inline Outcome typical(std::vector<double>& samples) { return {median(samples), samples.size()}; }

/// Calls `operation` again and again for `budget`, and gives the median of the durations in microseconds.
template <class Operation>
Outcome median_round_trip(std::chrono::milliseconds budget, Operation&& operation) {
  std::vector<double> samples;
  samples.reserve(1 << 18);
  const auto end = Clock::now() + budget;
  for (auto start = Clock::now(); start < end;) {
    operation();
    const auto stop = Clock::now();
    samples.push_back(microseconds(stop - start));
    start = stop;
  }
  return typical(samples);
}

/// Calls `operation` again and again for `budget`, and gives the rate in the unit of `which`.
template <class Operation>
Outcome sequential_rate(const Case& which, std::chrono::milliseconds budget, Operation&& operation) {
  const auto start = Clock::now();
  std::uint64_t done = 0;
  do {
    operation();
    ++done;
  } while (Clock::now() - start < budget);
  return rate(which, done, seconds_since(start));
}

/// The maximum number of connections that a round makes. It is low because each connection leaves a port in TIME_WAIT
/// for a minute, and the number of ports is limited.
constexpr std::uint32_t kSetupsInARound = 250;

/// Calls `operation`, which makes and ends a connection, for `budget`, but at most kSetupsInARound times.
template <class Operation>
Outcome setup_rate(const Case& which, std::chrono::milliseconds budget, Operation&& operation) {
  const auto start = Clock::now();
  std::uint64_t done = 0;
  do {
    operation();
    ++done;
  } while (done < kSetupsInARound && Clock::now() - start < budget);
  return rate(which, done, seconds_since(start));
}

/// Measures a case whose operations run one after the other. Gives the median duration if the unit of the case is "us",
/// otherwise the rate.
template <class Operation>
Outcome one_by_one(const Case& which, std::chrono::milliseconds budget, Operation&& operation) {
  if (which.unit == "us") return median_round_trip(budget, operation);
  return sequential_rate(which, budget, operation);
}

}  // namespace rpcrdma::bench
