// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "hint_store.hpp"
#include "write_back.hpp"

namespace rpcrdma::nfsd {

/// The files that are being written, one WriteBack each, however many have it open. Synchronized.
class WriteBacks {
 public:
  using Clock = WriteBack::Clock;

  /// `verifier` is what clients compare (RFC 1813 section 3.3.7); it outlives this. Of more than `max_files` that are
  /// open, those that are kept open (WriteBack::wrote) and were written longest ago are synchronized and closed.
  WriteBacks(std::atomic<std::uint64_t>& verifier, std::size_t max_files) noexcept
      : verifier_(verifier), max_files_(max_files) {}
  ~WriteBacks();
  WriteBacks(const WriteBacks&) = delete;
  WriteBacks& operator=(const WriteBacks&) = delete;

  /// Of an object, which is open: or its number may be another's soon. May block, to close another.
  std::shared_ptr<WriteBack> of(const ObjectId& id);
  /// A name of the object is gone. With the last one goes its data.
  void unnamed(const ObjectId& id);
  /// Forgets those that nobody uses; synchronizes what nobody has written or committed for
  /// some seconds; lets go of what has been removed by others. May block, one thread at a time.
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
