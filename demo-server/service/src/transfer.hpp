// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <vector>

#include "request.hpp"
#include "rpcrdma/nfsd/memory/paged_data.hpp"
#include "rpcrdma/nfsd/service/slab_registry.hpp"

namespace rpcrdma::nfsd {

class Transfers;

/// Everything that a READ or WRITE holds on to until its reply has been sent.
struct Transfer {
  Target target;
  Caller caller;
  memory::RegisteredBuffer buffer;  ///< bulk data of a file on a disk
  PageRun run;                      ///< bulk data of a file in memory
  BufferRefs parts;                 ///< where the data is, in order

  void clear() noexcept {
    target.exported.reset();
    buffer.reset();
    run.clear();
    parts.clear();
  }
};

struct RecycleTransfer {
  Transfers* owner = nullptr;
  void operator()(Transfer* transfer) const noexcept;
};
using TransferPtr = std::unique_ptr<Transfer, RecycleTransfer>;

/// Keeps Transfers for reuse. They are taken and given back on one thread, whatever happens in between.
class Transfers {
 public:
  TransferPtr take() {
    if (rest_.empty()) {
      all_.push_back(std::make_unique<Transfer>());
      rest_.reserve(all_.size());
      return {all_.back().get(), RecycleTransfer{this}};
    }
    Transfer* transfer = rest_.back();
    rest_.pop_back();
    return {transfer, RecycleTransfer{this}};
  }

 private:
  friend struct RecycleTransfer;
  std::vector<std::unique_ptr<Transfer>> all_;
  std::vector<Transfer*> rest_;
};

inline void RecycleTransfer::operator()(Transfer* transfer) const noexcept {
  transfer->clear();
  owner->rest_.push_back(transfer);
}

}  // namespace rpcrdma::nfsd
