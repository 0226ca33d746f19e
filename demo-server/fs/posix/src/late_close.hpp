// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <mutex>

#include "descriptor_cache.hpp"

namespace rpcrdma::nfsd {

/// Closes files later that were let go of where nothing may block: with the last descriptor of a removed file its
/// blocks are freed, of a large one for a long time. Synchronized; outlives the files that it makes.
class LateClose {
 public:
  LateClose() = default;
  ~LateClose() { close_all(); }
  LateClose(const LateClose&) = delete;
  LateClose& operator=(const LateClose&) = delete;

  /// While it lives, no file is closed on this thread: one of which it lets go as the last waits for close_all(). Does
  /// not nest.
  class Hold {
   public:
    Hold() noexcept;
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
  };

  std::shared_ptr<OpenFile> make();
  /// Closes what waits. May block.
  void close_all() noexcept;

 private:
  void release(std::unique_ptr<OpenFile> file) noexcept;

  std::mutex mutex_;
  std::unique_ptr<OpenFile> waiting_;  // a list
};

}  // namespace rpcrdma::nfsd
