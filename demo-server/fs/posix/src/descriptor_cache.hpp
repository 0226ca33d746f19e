// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/nfsd/fs/types.hpp"
#include "write_back.hpp"

namespace rpcrdma::nfsd {

/// What a descriptor is wanted for.
enum class Use : std::uint8_t { read, write };

/// A file opened for data by one user. Shared by the operations under way; closed with the last of them.
struct OpenFile {
  Fd fd;
  bool readable = false;
  bool writable = false;
  // The file's permissions at the time: what has been granted holds as long as they stay.
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::shared_ptr<WriteBack> back;  ///< of a writable one
  std::unique_ptr<OpenFile> next;   ///< LateClose's

  bool serves(Use use) const noexcept { return use == Use::read ? readable : writable; }
  bool granted_under(const Attributes& now) const noexcept {
    return mode == now.mode && uid == now.uid && gid == now.gid;
  }
};

/// Keeps the descriptors of files read or written lately, by file and user, so that an I/O is one system call.
/// Bounded, the least recently used goes first. Synchronized.
class DescriptorCache {
 public:
  using Clock = std::chrono::steady_clock;
  explicit DescriptorCache(std::size_t capacity) : capacity_(capacity) {}

  /// Null if that user has none for that use.
  std::shared_ptr<const OpenFile> find(const NodeKey& key, const Identity& user, Use use);
  /// Takes the place of the user's others that it can do the work of.
  void put(const NodeKey& key, const Identity& user, std::shared_ptr<const OpenFile> file);
  /// Closes a file's, of all users.
  void drop(const NodeKey& key);
  /// Closes what nobody has used since `used`, as an open descriptor keeps a removed file's room on the disk; and what
  /// has been open since before `opened`, so that a right taken away in a way that its mode does not show ends.
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

  /// Moves an entry to `gone`, which closes it after the lock is released; the index entry behind it.
  Index::iterator take_out(Index::iterator at, Order& gone);
  void take_out(Order::iterator at, Order& gone);

  std::size_t capacity_;
  mutable std::mutex mutex_;
  Order order_;  // most recently used first
  Index index_;
};

}  // namespace rpcrdma::nfsd
