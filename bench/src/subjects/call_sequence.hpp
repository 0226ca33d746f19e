// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <vector>

#include "link.hpp"
#include "service.hpp"
#include "timing.hpp"

namespace rpcrdma::bench {

/// If the durations of the calls are not needed, sequences read the clock once for this number of calls. With several
/// calls in progress, raw_tcp reads it even less often.
constexpr std::uint64_t kCallsPerLook = 16;

/// State that the sequences of one run share.
struct Run {
  std::uint32_t bytes = 0;
  Clock::time_point end;
  bool over = false;  // whether the end has been reached
  std::uint64_t done = 0;
  std::uint32_t active = 0;                // sequences that have not ended
  std::vector<double>* samples = nullptr;  // durations of the calls in microseconds; null if not needed
  error_code failed;
};

/// Calls of procedure P on one link, one after another until the end of the run, or until a call of the run fails.
template <class P>
class CallSequence {
 public:
  /// `buffer` receives the data of a READ, and holds the data of a WRITE.
  CallSequence(Run& run, rpc::Client& rpc, BufferRef buffer)
      : run_(run), rpc_(rpc), buffer_(buffer.slice(0, run.bytes)) {
    if constexpr (std::is_same_v<P, service::Read>) {
      args_.count = run.bytes;
      options_.into({&buffer_, 1});
    } else if constexpr (std::is_same_v<P, service::Write>) {
      args_.data.set_parts({&buffer_, 1});
    }
  }
  CallSequence(const CallSequence&) = delete;
  CallSequence& operator=(const CallSequence&) = delete;

  void start() {
    ++run_.active;
    call();
  }

 private:
  void call() {
    if (run_.samples != nullptr) started_ = Clock::now();
    rpc_.async_call<P>(args_, options_, [this](error_code failed, const auto&) { finished(failed); });
  }

  void finished(error_code failed) {
    if (failed) run_.failed = failed;
    ++run_.done;
    if (run_.samples != nullptr || run_.done % kCallsPerLook == 0) {
      const auto now = Clock::now();
      if (run_.samples != nullptr) run_.samples->push_back(microseconds(now - started_));
      run_.over = now >= run_.end;
    }
    if (!run_.over && !run_.failed) return call();
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
