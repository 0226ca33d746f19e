// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "posix/hint_store.hpp"
#include "posix/write_back.hpp"

namespace rpcrdma::nfsd {

/// The files that are being written, one WriteBack each, however many have it open. Synchronized.
class WriteBacks {
 public:
  /// `verifier` is what clients compare (RFC 1813 section 3.3.7); it outlives the files.
  explicit WriteBacks(std::atomic<std::uint64_t>& verifier) noexcept : verifier_(verifier) {}

  /// Of an object, which is open: or its number may be another's soon.
  std::shared_ptr<WriteBack> of(const ObjectId& id);
  /// Forgets those that nobody uses.
  void tidy();
  std::size_t size() const;

 private:
  std::atomic<std::uint64_t>& verifier_;
  mutable std::mutex mutex_;
  std::unordered_map<ObjectId, std::shared_ptr<WriteBack>, ObjectIdHash> files_;
};

}  // namespace rpcrdma::nfsd
