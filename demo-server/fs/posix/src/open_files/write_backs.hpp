// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "locate/object_id.hpp"
#include "write_back.hpp"

namespace rpcrdma::nfsd {

/// The files that are being written, with one WriteBack for each file. Any thread may use this object at any time.
class WriteBacks {
 public:
  using Clock = WriteBack::Clock;

  /// `verifier` is the write verifier that clients compare (RFC 1813 section 3.3.7). It must outlive this object.
  /// WriteBack::wrote() keeps files with unsynchronized data open. If `max_files` files are in use, of() for a further
  /// file synchronizes the kept file that was written longest ago, so that this file no longer has to be kept open.
  WriteBacks(std::atomic<std::uint64_t>& verifier, std::size_t max_files) noexcept
      : verifier_(verifier), max_files_(max_files) {}
  ~WriteBacks();
  WriteBacks(const WriteBacks&) = delete;
  WriteBacks& operator=(const WriteBacks&) = delete;

  /// Returns the WriteBack of the file `id`. Makes it if there is none. The caller must hold the file open, because
  /// otherwise the file system may give its inode number to another file. If there are `max_files` files already, this
  /// function may block until another file is synchronized.
  std::shared_ptr<WriteBack> of(const ObjectId& id);
  /// To be called after a name of the object has been removed. If the object has no name left, closes the file that
  /// its WriteBack keeps open.
  void unnamed(const ObjectId& id);
  /// Drops unused entries. Synchronizes each file whose last write was some seconds ago and is not synchronized yet.
  /// Closes files that other programs have removed. May block. Does nothing while another thread runs tidy().
  void tidy(Clock::time_point now);
  std::size_t size() const;

 private:
  using File = std::shared_ptr<WriteBack>;

  void forget_unused();
  File written_longest_ago() const;

  std::atomic<std::uint64_t>& verifier_;
  const std::size_t max_files_;
  std::mutex tidying_;
  mutable std::mutex mutex_;
  std::unordered_map<ObjectId, File, ObjectIdHash> files_;
};

}  // namespace rpcrdma::nfsd
