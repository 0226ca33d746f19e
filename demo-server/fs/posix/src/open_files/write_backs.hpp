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

/// The files being written, with one WriteBack for each file. Synchronized.
class WriteBacks {
 public:
  using Clock = WriteBack::Clock;

  /// `verifier` is the write verifier that clients compare (RFC 1813 section 3.3.7); it must outlive this object. If
  /// `max_files` files are in use, of() for a further file synchronizes and closes one of those that WriteBack::wrote()
  /// keeps open: the one written longest ago.
  WriteBacks(std::atomic<std::uint64_t>& verifier, std::size_t max_files) noexcept
      : verifier_(verifier), max_files_(max_files) {}
  ~WriteBacks();
  WriteBacks(const WriteBacks&) = delete;
  WriteBacks& operator=(const WriteBacks&) = delete;

  /// The object must be open; otherwise its number may be given to another object. May block, to synchronize another
  /// file.
  std::shared_ptr<WriteBack> of(const ObjectId& id);
  /// Reports that a name of the object has been removed. If it was the last one, closes the kept file.
  void unnamed(const ObjectId& id);
  /// Drops unused entries; synchronizes files whose last write was some seconds ago and is not synchronized yet; closes
  /// files that other programs have removed. May block. Does nothing while another thread runs tidy().
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
