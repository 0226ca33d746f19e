// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "locate/object_id.hpp"
#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/nfsd/fs/types.hpp"
#include "write_back.hpp"

namespace rpcrdma::nfsd {

enum class Use : std::uint8_t { read, write };

/// A file opened for data by one user. Shared by the operations in progress; closed when the last reference is
/// released, unless LateClose defers that.
struct OpenFile {
  Fd fd;
  ObjectId id;
  bool readable = false;
  bool writable = false;
  // The permissions of the file when it was opened.
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::shared_ptr<WriteBack> back;  ///< only if the file is writable
  std::unique_ptr<OpenFile> next;   ///< next file in LateClose's list

  bool serves(Use use) const noexcept { return use == Use::read ? readable : writable; }
  bool granted_under(const Attributes& now) const noexcept {
    return mode == now.mode && uid == now.uid && gid == now.gid;
  }
};

/// Keeps the descriptors of recently used files, by file and user, so that an I/O need not open its file. Bounded:
/// evicts the least recently used. Synchronized.
class DescriptorCache {
 public:
  using Clock = std::chrono::steady_clock;
  explicit DescriptorCache(std::size_t capacity) : capacity_(capacity) {}

  /// Null if `user` has no descriptor of the file that serves `use`.
  std::shared_ptr<const OpenFile> find(const NodeKey& key, const Identity& user, Use use);
  /// Adds `file`, and drops each other descriptor that the user has of the same file if `file` serves all its uses.
  void put(const NodeKey& key, const Identity& user, std::shared_ptr<const OpenFile> file);
  /// Drops the descriptors that all users have of a file. A descriptor in use is closed when the last operation
  /// releases it.
  void drop(const NodeKey& key);
  void drop(const ObjectId& id);
  /// Closes descriptors that were last used before `used`, because an open descriptor keeps the blocks of a removed
  /// file. Closes descriptors that were opened before `opened`, to end rights that were withdrawn without a change of
  /// the mode.
  void drop_idle(Clock::time_point used, Clock::time_point opened);
  std::size_t size() const;

 private:
  struct Entry {
    NodeKey key;
    Identity user;
    std::shared_ptr<const OpenFile> file;
    Clock::time_point opened;
    Clock::time_point used;
  };
  using Order = std::list<Entry>;
  using Index = std::unordered_multimap<NodeKey, Order::iterator, NodeKeyHash>;
  using Numbers = std::unordered_multimap<ObjectId, Order::iterator, ObjectIdHash>;

  /// Moves an entry to `gone`, which closes it after the lock is released; returns the next entry of the index.
  Index::iterator take_out(Index::iterator at, Order& gone);
  void take_out(Order::iterator at, Order& gone);

  std::size_t capacity_;
  mutable std::mutex mutex_;
  Order order_;  // most recently used first
  Index index_;
  Numbers by_id_;
};

}  // namespace rpcrdma::nfsd
