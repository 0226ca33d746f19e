// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "rpcrdma/base/unique_function.hpp"
#include "rpcrdma/nfsd/exports/handle_codec.hpp"

namespace rpcrdma::nfsd {

/// A part of a call that may block. The thread that runs the job passes its own HandleCodec. A job has room for 192
/// bytes of captures, which is enough for the jobs of the services, so that making such a job allocates no memory.
using Job = UniqueFunction<void(const HandleCodec&), 192>;

/// A FIFO queue of jobs. Allocates memory only to hold more jobs than ever before. Not thread-safe.
class JobQueue {
 public:
  /// A queue that holds `room` jobs without a further allocation; at least one.
  explicit JobQueue(std::size_t room = 64) : ring_(room) {}

  bool empty() const noexcept { return count_ == 0; }
  std::size_t size() const noexcept { return count_; }

  void push(Job job) {
    if (count_ == ring_.size()) {
      std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(first_), ring_.end());
      first_ = 0;
      ring_.resize(ring_.size() * 2);
    }
    ring_[(first_ + count_++) % ring_.size()] = std::move(job);
  }
  /// Removes the first job, and returns it. The queue must not be empty.
  Job pop() noexcept {
    Job job = std::move(ring_[first_]);
    first_ = (first_ + 1) % ring_.size();
    --count_;
    return job;
  }

 private:
  std::vector<Job> ring_;  // count_ jobs, of which the first is at first_
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace rpcrdma::nfsd
