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

/// A descriptor for the data of a file, opened for one user. The operations in progress share the object. The
/// descriptor is closed when the last reference is released, or later if LateClose defers the close.
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
  void opened_under(const Attributes& now) noexcept {
    mode = now.mode;
    uid = now.uid;
    gid = now.gid;
  }
  bool granted_under(const Attributes& now) const noexcept {
    return mode == now.mode && uid == now.uid && gid == now.gid;
  }
};

/// Keeps the descriptors with which users have recently created, read or written files. A later operation of the same
/// user on the same file then need not open the file again. If the cache is full, put() drops the least recently used
/// descriptor. Synchronized.
class DescriptorCache {
 public:
  using Clock = std::chrono::steady_clock;
  explicit DescriptorCache(std::size_t capacity) : capacity_(capacity) {}

  /// Returns a descriptor that `user` has of the file `key` and that permits `use`. Null if the cache has none.
  std::shared_ptr<const OpenFile> find(const NodeKey& key, const Identity& user, Use use);
  /// Adds `file`. Drops each other descriptor that the user has of the same file, unless it permits a use that `file`
  /// does not permit.
  void put(const NodeKey& key, const Identity& user, std::shared_ptr<const OpenFile> file);
  /// Drops the descriptors that all users have of a file. A descriptor in use is closed when the last operation
  /// releases it.
  void drop(const NodeKey& key);
  void drop(const ObjectId& id);
  /// Drops each descriptor that was last used before `used`, because an open descriptor keeps the blocks of a removed
  /// file. Also drops each descriptor that was opened before `opened`, because the user may have lost a right without a
  /// change of the file's mode: the next use opens the file again, which checks the rights.
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

  /// Removes the entry of `at` from the cache, and appends it to `gone`. The caller destroys `gone` after it has
  /// released mutex_, because this may close the descriptor. Returns the element of the index after `at`.
  Index::iterator take_out(Index::iterator at, Order& gone);
  void take_out(Order::iterator at, Order& gone);

  std::size_t capacity_;
  mutable std::mutex mutex_;
  Order order_;  // most recently used first
  Index index_;
  Numbers by_id_;
};

}  // namespace rpcrdma::nfsd
