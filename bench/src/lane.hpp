// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// One call after another, on one link.
#include <vector>

#include "link.hpp"
#include "service.hpp"
#include "timing.hpp"

namespace rpcrdma::bench {

/// What the lanes of one run share.
struct Run {
  std::uint32_t octets = 0;
  Clock::time_point end;
  std::uint64_t done = 0;
  std::uint32_t active = 0;                // lanes
  std::vector<double>* samples = nullptr;  // durations, where they are wanted
  error_code failed;
};

template <class P>
class Lane {
 public:
  /// `buffer`: where the data of a READ goes, or that of a WRITE is.
  Lane(Run& run, rpc::Client& rpc, BufferRef buffer) : run_(run), rpc_(rpc), buffer_(buffer.slice(0, run.octets)) {
    if constexpr (std::is_same_v<P, service::Read>) {
      args_.count = run.octets;
      options_.into({&buffer_, 1});
    } else if constexpr (std::is_same_v<P, service::Write>) {
      args_.data.set_parts({&buffer_, 1});
    }
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void start() {
    ++run_.active;
    call();
  }

 private:
  void call() {
    started_ = Clock::now();
    rpc_.async_call<P>(args_, options_, [this](error_code failed, const auto&) { finished(failed); });
  }

  void finished(error_code failed) {
    const auto now = Clock::now();
    if (failed) run_.failed = failed;
    ++run_.done;
    if (run_.samples != nullptr) run_.samples->push_back(microseconds(now - started_));
    if (now < run_.end && !run_.failed) return call();
    --run_.active;
  }

  Run& run_;
  rpc::Client& rpc_;
  BufferRef buffer_;
  typename P::Args args_{};
  rpc::CallOptions options_;
  Clock::time_point started_;
};

}  // namespace rpcrdma::bench
