// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "pipes.hpp"
#include "request.hpp"
#include "rpcrdma/nfsd/memory/paged_data.hpp"
#include "rpcrdma/nfsd/service/slab_registry.hpp"

namespace rpcrdma::nfsd {

class Transfers;

/// Resources that a call holds, at most until its reply has been sent.
struct Transfer {
  Target target;
  Caller caller;
  memory::RegisteredBuffer buffer;  ///< bulk data of a file on a disk; entries of a listing; SYMLINK's path
  PageRun run;                      ///< bulk data of a file of a memory export
  PipePtr pipe;                     ///< bulk data of a READ over TCP
  std::vector<std::byte> bytes;     ///< the same, if the file system could not put it into `pipe`
  BufferRefs parts;                 ///< the bulk data, in order: parts of one of these, or of the call message
  std::string path;                 ///< the path that READLINK returns

  void clear() noexcept {
    target.exported.reset();
    buffer.reset();
    run.clear();
    pipe.reset();
    std::vector<std::byte>().swap(bytes);
    parts.clear();
    path.clear();
  }
};

struct RecycleTransfer {
  Transfers* owner = nullptr;
  void operator()(Transfer* transfer) const noexcept;
};
using TransferPtr = std::unique_ptr<Transfer, RecycleTransfer>;

/// A free list of Transfers. Take and return them on one thread; in between any thread may use them.
class Transfers {
 public:
  TransferPtr take() {
    if (idle_.empty()) {
      all_.push_back(std::make_unique<Transfer>());
      idle_.reserve(all_.size());
      return {all_.back().get(), RecycleTransfer{this}};
    }
    Transfer* transfer = idle_.back();
    idle_.pop_back();
    return {transfer, RecycleTransfer{this}};
  }

 private:
  friend struct RecycleTransfer;
  std::vector<std::unique_ptr<Transfer>> all_;
  std::vector<Transfer*> idle_;
};

inline void RecycleTransfer::operator()(Transfer* transfer) const noexcept {
  transfer->clear();
  owner->idle_.push_back(transfer);
}

}  // namespace rpcrdma::nfsd
