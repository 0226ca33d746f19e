// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <mutex>

#include "descriptor_cache.hpp"

namespace rpcrdma::nfsd {

/// Makes files whose close can be deferred. If the last reference to such a file is released by a thread that must not
/// block, the file is closed later, by close_all(). Closing can block, because closing the last descriptor of a removed
/// file frees its blocks, which takes long for a large file. The functions may be called on any thread. This object
/// must outlive the files that it makes.
class LateClose {
 public:
  LateClose() = default;
  ~LateClose() { close_all(); }
  LateClose(const LateClose&) = delete;
  LateClose& operator=(const LateClose&) = delete;

  /// While a Hold exists, the thread that made it does not close files of make(). If the thread releases the last
  /// reference to such a file, the file stays open until close_all(). A thread may have only one Hold at a time.
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
