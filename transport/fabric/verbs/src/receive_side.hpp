// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <infiniband/verbs.h>

#include <vector>

#include "rpcrdma/base/error.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric::verbs {

/// The receive side of a queue pair. Holds the contexts of the receives in the order of posting, and the chain of work
/// requests for the next submit().
///
/// used() counts the receives that occupy a place in the receive queue. take() subtracts a receive without a context.
/// A receive with a context counts until its callback runs. The caller of take() therefore passes used() to the
/// CompletionDispatcher, which subtracts the receive at that time.
class ReceiveSide {
 public:
  explicit ReceiveSide(std::uint32_t depth);

  error_code append(BufferRef buffer, WorkContext* context);
  error_code submit(ibv_qp* queue_pair);
  /// Takes the oldest receive; false if there is none.
  bool take(WorkContext*& context) noexcept;
  std::uint32_t* used() noexcept { return &used_; }
  /// Whether any receive has ever been taken.
  bool any_taken() const noexcept { return head_ != 0; }

 private:
  std::vector<WorkContext*> ring_;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
  std::uint32_t used_ = 0;
  std::vector<ibv_recv_wr> chain_;
  std::vector<ibv_sge> pieces_;
};

}  // namespace rpcrdma::fabric::verbs
