// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "object_id.hpp"
#include "open_files/directory_sync.hpp"
#include "rpcrdma/base/fd.hpp"
#include "system.hpp"

namespace rpcrdma::nfsd {

/// The rights that the kernel has granted to the users of one object. Synchronized.
///
/// A right depends on the caller, and on mode, owner, group and access control list of the object. Each change of these
/// changes the ctime, so a right is valid as long as the ctime is the same. A right is not recorded while the ctime is
/// so recent that another change could give the same ctime.
class KnownRights {
 public:
  /// Records that the kernel grants `granted` of the permission bits `asked` (rwx). `now` is a time before `object` was
  /// read. `object` must have been read before the kernel was asked.
  void note(const Identity& who, const Attributes& object, Time now, std::uint32_t asked, std::uint32_t granted);
  /// The permission bits of `who`, if those in `asked` are known; `object` holds the present attributes.
  std::optional<std::uint32_t> find(const Identity& who, const Attributes& object, std::uint32_t asked) const;

 private:
  struct Entry {
    Identity who;
    Time ctime;
    std::uint32_t asked = 0;
    std::uint32_t granted = 0;
  };
  static constexpr std::size_t kMost = 8;

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::size_t next_ = 0;  // number of replaced entries; modulo kMost, the entry to replace next
};

/// An object that is kept open (O_PATH), so that its number cannot be given to another object.
struct KeptNode {
  NodeKey key;
  ObjectId id;
  Fd fd;
  std::string path;  ///< the absolute path at which the object was found inside the export
  mutable KnownRights rights;
  mutable DirectorySync to_disk;
};
using KeptNodePtr = std::shared_ptr<const KeptNode>;

/// The path of an entry of a directory.
std::string path_below(const KeptNode& directory, std::string_view name);

/// The descriptor of an object that is kept, or opened for one call.
class NodeFd {
 public:
  NodeFd() = default;
  NodeFd(Fd fd) noexcept : own_(std::move(fd)) {}
  NodeFd(KeptNodePtr kept) noexcept : kept_(std::move(kept)) {}

  int get() const noexcept { return kept_ != nullptr ? kept_->fd.get() : own_.get(); }
  explicit operator bool() const noexcept { return get() >= 0; }
  /// Null if the object is not kept.
  const KeptNode* kept() const noexcept { return kept_.get(); }

 private:
  Fd own_;
  KeptNodePtr kept_;
};

/// Keeps recently used objects open, by handle. Bounded: evicts the least recently used. Synchronized.
///
/// An object is used only while the kernel shows the path that it had when it was found inside the export: one that has
/// been renamed, moved out or removed is looked up again by its handle. Its attributes are read again for each call. On
/// the file systems for which usable() returns true, neither the check of the path nor the read of the attributes
/// blocks, so event loops do both.
class KeptNodes {
 public:
  using Clock = std::chrono::steady_clock;

  /// Keeps nothing if `capacity` is 0. `root` must outlive this object.
  KeptNodes(int root, const NodeStat& stat, std::size_t capacity);

  /// True if the attributes of an open object are always in memory and current, so that statx(2) cannot block: ext4,
  /// XFS, btrfs and tmpfs, but no network file system, FUSE, or overlay, whose layers may be any of these.
  static bool usable(int directory) noexcept;

  /// Null if the object is not kept.
  KeptNodePtr find(const NodeKey& key);
  /// The object that was kept under `path`; null if there is none.
  KeptNodePtr find(const std::string& path);
  /// True if the kernel still reports the path under which the object was kept; always true for the root.
  bool is_in_place(const KeptNode& node) const noexcept;
  /// The present attributes; nothing if the object is no longer at its path, or has lost its last name.
  std::optional<NodeStat> look(const KeptNode& node) const noexcept;
  /// Keeps an object that has been found inside the export, at `path` if that is known. Null if it cannot be kept: `fd`
  /// is then unchanged.
  KeptNodePtr keep(const NodeKey& key, const NodeStat& stat, Fd& fd, std::string path = {});
  /// As keep(), on a thread that must not block: closes nothing. Therefore does nothing if the number of objects has
  /// reached its limit, or if the object is kept already.
  void keep_at_once(const NodeKey& key, const NodeStat& stat, Fd& fd, std::string path);
  /// Stops keeping an object that has been removed or moved.
  void drop(const NodeKey& key);
  void drop(const ObjectId& id);
  /// Closes objects that were last used before `used`, because an open descriptor keeps the blocks of a removed file.
  /// Closes objects that were opened before `kept`, to end rights that were withdrawn without a change of the object,
  /// such as by a read-only remount. May block.
  void drop_idle(Clock::time_point used, Clock::time_point kept);
  std::size_t size() const;

 private:
  struct Entry {
    std::shared_ptr<KeptNode> node;
    Clock::time_point kept;
    Clock::time_point used;
  };
  using Order = std::list<Entry>;

  KeptNodePtr used(Order::iterator at);
  /// Adds an object in place of those that had its handle, its number or its path. `mutex_` is locked.
  KeptNodePtr add(const NodeKey& key, const NodeStat& stat, Fd& fd, std::string path, Order& gone);
  void take_out(Order::iterator at, Order& gone);
  void take_late(Order& gone);

  const int root_;
  const ObjectId root_id_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  Order order_;  // most recently used first
  std::unordered_map<NodeKey, Order::iterator, NodeKeyHash> by_key_;
  std::unordered_map<ObjectId, Order::iterator, ObjectIdHash> by_id_;
  std::unordered_map<std::string, Order::iterator> by_path_;
  Order late_;  // dropped while in use, or by keep_at_once(): closed later, on a thread that may block
};

}  // namespace rpcrdma::nfsd
