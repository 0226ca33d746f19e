// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <mutex>

#include "descriptor_cache.hpp"

namespace rpcrdma::nfsd {

/// Defers the close of files released by a thread that must not block: closing the last descriptor of a removed file
/// frees its blocks, which takes long for a large file. Synchronized; must outlive the files that it makes.
class LateClose {
 public:
  LateClose() = default;
  ~LateClose() { close_all(); }
  LateClose(const LateClose&) = delete;
  LateClose& operator=(const LateClose&) = delete;

  /// While this object exists, its thread closes no file that make() returned: a file whose last reference the thread
  /// releases waits for close_all(). Does not nest.
  class Hold {
   public:
    Hold() noexcept;
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
  };

  std::shared_ptr<OpenFile> make();
  /// Closes the waiting files. May block.
  void close_all() noexcept;

 private:
  void release(std::unique_ptr<OpenFile> file) noexcept;

  std::mutex mutex_;
  std::unique_ptr<OpenFile> waiting_;  // head of a linked list
};

}  // namespace rpcrdma::nfsd
