// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <atomic>
#include <boost/container/small_vector.hpp>
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

/// Remembers, for one object, which permission bits the kernel has granted to which users. Synchronized.
///
/// The permission bits of a user depend on the mode, the owner, the group and the access control list of the object. A
/// change of one of these also changes the ctime of the object. Recorded bits are therefore valid only while the object
/// has the ctime with which they were recorded. Bits are not recorded while the ctime is so recent that a further
/// change could leave it the same.
class KnownRights {
 public:
  /// Records that the kernel has granted to `who` the bits `granted` of the permission bits `asked` (rwx). The caller
  /// must have read the clock (`now`) first, then the attributes (`object`), and asked the kernel last. Thus a change
  /// of the object after the attributes were read makes the recorded bits invalid.
  void note(const Identity& who, const Attributes& object, Time now, std::uint32_t asked, std::uint32_t granted);
  /// Returns the recorded permission bits of `who`, or nothing if a bit in `asked` is not known. `object` has the
  /// present attributes: bits that were recorded with another ctime are not valid any more.
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

/// Remembers, for one object, that the name at the end of its path led to it. Synchronized.
///
/// Each change of a name in a directory changes the ctime of the directory. A mount that hides the name does not.
/// Therefore the knowledge also ends when the path of the object is checked again (KeptNode::in_place_until).
class KnownName {
 public:
  /// Records that the name in `directory` leads to the object. The caller must have read the attributes in `directory`
  /// and the clock (`now`) before it looked the name up. `until` is the value of in_place_until.
  void note(const NodeStat& directory, Time now, std::int64_t until);
  /// True if this is still known. `directory` has the present attributes, `until` is the value of in_place_until.
  bool holds(const NodeStat& directory, std::int64_t until) const;

 private:
  mutable std::mutex mutex_;
  ObjectId directory_;
  Time ctime_;
  std::int64_t until_ = 0;
};

/// An object that is kept open (O_PATH), so that its number cannot be given to another object.
struct KeptNode {
  NodeKey key;
  ObjectId id;
  Fd fd;
  std::string path;  ///< the absolute path at which the object was found inside the export
  /// Until this time (CLOCK_MONOTONIC_COARSE, in nanoseconds) the object counts as being at its path;
  /// negative after doubt().
  mutable std::atomic<std::int64_t> in_place_until{0};
  mutable KnownName name;
  mutable KnownRights rights;
  mutable DirectorySync to_disk;
};
using KeptNodePtr = std::shared_ptr<const KeptNode>;

/// The path of an entry of a directory. Allocates no memory unless the path is long.
class PathBelow {
 public:
  PathBelow(const KeptNode& directory, std::string_view name);
  std::string_view view() const noexcept { return {text_.data(), text_.size()}; }

 private:
  boost::container::small_vector<char, 256> text_;
};

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
  /// Takes the descriptor out of this object, if it was opened for one call.
  Fd take() noexcept { return std::move(own_); }

 private:
  Fd own_;
  KeptNodePtr kept_;
};

/// Keeps recently used objects open, and finds them by their NodeKey or path. If there are too many objects, keep()
/// drops the least recently used one. Synchronized.
///
/// Each object is kept with the path at which it was found inside the export. The object is used only while the kernel
/// still reports this path for it, which is checked again when the last check is more than kTrust old. If the object
/// has been renamed, moved out of the export or removed, the caller looks it up again by its key. The attributes of the
/// object are read again for each call. On the file systems for which usable() returns true, neither the check of the
/// path nor the read of the attributes blocks, so event loops do both.
class KeptNodes {
 public:
  using Clock = std::chrono::steady_clock;

  /// The time for which the result of a check of the path is used again. For this time, an object that a local program
  /// has moved out of the export may still be used, names in a directory that was moved out may still be changed, and
  /// a name may lead to an object that a new mount hides.
  static constexpr std::chrono::milliseconds kTrust{20};

  /// Keeps nothing if `capacity` is 0. `root` must outlive this object.
  KeptNodes(int root, const NodeStat& stat, std::size_t capacity);

  /// True if `directory` is on ext4, XFS, btrfs or tmpfs. There the attributes of an open object are always in memory
  /// and current, so that statx(2) does not block. False on other file systems: statx(2) may block on a network file
  /// system or on FUSE, and on overlay, whose layers may be on one of these.
  static bool usable(int directory) noexcept;

  /// Null if the object is not kept.
  KeptNodePtr find(const NodeKey& key);
  /// The object that was kept under `path`; null if there is none.
  KeptNodePtr find(std::string_view path);
  /// True if the kernel still reports the path under which the object was kept, or did so less than kTrust ago; always
  /// true for the root.
  bool is_in_place(const KeptNode& node) const noexcept;
  /// The present attributes; nothing if the object is no longer at its path, or has lost its last name.
  std::optional<NodeStat> look(const KeptNode& node) const noexcept;
  /// Keeps an object that has been found inside the export, and takes over `fd`. `path` is the path at which the object
  /// was found; if `path` is empty, keep() asks the kernel for it. Returns null and leaves `fd` unchanged if the object
  /// cannot be kept.
  KeptNodePtr keep(const NodeKey& key, const NodeStat& stat, Fd& fd, std::string_view path = {});
  /// As keep(), but for a thread that must not block. Closing a file may block, so this function closes none. It does
  /// nothing if the number of open objects has reached the limit, or if the object is kept already.
  void keep_at_once(const NodeKey& key, const NodeStat& stat, Fd& fd, std::string_view path);
  /// To be called when the name at the end of `path` has been removed, or has been given to another object. The object
  /// that is kept under this path is checked before its next use.
  void doubt(std::string_view path);
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
  /// Adds an object in place of the entries that have its key, its inode number or its path. These are moved to `gone`
  /// or `late_` (see take_out()). The caller holds `mutex_`.
  KeptNodePtr add(const NodeKey& key, const NodeStat& stat, Fd& fd, std::string_view path, Order& gone);
  void take_out(Order::iterator at, Order& gone);
  void take_late(Order& gone);

  const int root_;
  const ObjectId root_id_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  Order order_;  // most recently used first
  std::unordered_map<NodeKey, Order::iterator, NodeKeyHash> by_key_;
  std::unordered_map<ObjectId, Order::iterator, ObjectIdHash> by_id_;
  // The keys refer to the paths of the nodes in order_. A key is erased before its entry leaves order_.
  std::unordered_map<std::string_view, Order::iterator> by_path_;
  Order late_;  // dropped while in use, or by keep_at_once(): closed later, on a thread that may block
};

}  // namespace rpcrdma::nfsd
