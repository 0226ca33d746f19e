// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <utility>

namespace rpcrdma {

/// A function to post to an io_context. Calls `run` when the io_context runs it. If the io_context is destroyed before
/// that, the destructor of this object calls `otherwise`. Neither may throw.
template <class Run, class Otherwise>
class RunOrElse {
 public:
  /// Calls neither function yet.
  RunOrElse(Run run, Otherwise otherwise) noexcept : run_(std::move(run)), otherwise_(std::move(otherwise)) {}
  RunOrElse(RunOrElse&& from) noexcept
      : run_(std::move(from.run_)),
        otherwise_(std::move(from.otherwise_)),
        pending_(std::exchange(from.pending_, false)) {}
  RunOrElse& operator=(RunOrElse&&) = delete;
  ~RunOrElse() {
    if (pending_) otherwise_();
  }
  /// Calls `run`. The destructor then does not call `otherwise`.
  void operator()() {
    pending_ = false;
    run_();
  }

 private:
  Run run_;
  Otherwise otherwise_;
  bool pending_ = true;
};

}  // namespace rpcrdma
