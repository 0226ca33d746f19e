// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "posix/fd.hpp"
#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

/// A file opened for data. Shared by the operations under way; closed with the last of them.
struct OpenFile {
  Fd fd;
  bool writable = false;
};

/// Keeps the descriptors of files read or written lately, so that an I/O is one system call. Bounded, the
/// least recently used goes first. Synchronized.
class DescriptorCache {
 public:
  using Clock = std::chrono::steady_clock;
  explicit DescriptorCache(std::size_t capacity) : capacity_(capacity) {}

  /// Null if there is none, or none that may be written although `writable` asks for it.
  std::shared_ptr<const OpenFile> find(const NodeKey& key, bool writable);
  void put(const NodeKey& key, std::shared_ptr<const OpenFile> file);
  void drop(const NodeKey& key);
  /// Closes what nobody has used since `since`: an open descriptor keeps a removed file's room on the disk.
  void drop_idle(Clock::time_point since);
  std::size_t size() const;

 private:
  struct Entry {
    NodeKey key;
    std::shared_ptr<const OpenFile> file;
    Clock::time_point used;
  };
  using Order = std::list<Entry>;

  std::size_t capacity_;
  mutable std::mutex mutex_;
  Order order_;  // most recently used first
  std::unordered_map<NodeKey, Order::iterator, NodeKeyHash> index_;
};

}  // namespace rpcrdma::nfsd
