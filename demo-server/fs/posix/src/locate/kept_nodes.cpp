// SPDX-License-Identifier: BSD-3-Clause
// Operation: three indexes of one list of objects.
// Ownership: a list and the calls that use an object share it. A list has the last reference, so that no handler of
// an event loop closes a file.
// Error handling: an object that cannot be kept is opened for each call.
#include "kept_nodes.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <iterator>
#include <utility>

#include "confinement.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr long kXfsMagic = 0x58465342;  // XFS_SUPER_MAGIC, which <linux/magic.h> does not have in all versions

/// Returns true if `ctime`, the ctime of an object, is so old that a change of the object at `now` or later gives it
/// another ctime. An age of more than 50 ms suffices, because the clocks of file systems advance at least every 10 ms.
/// However, a `ctime` of a whole second may come from a file system that stores only whole seconds. Such a `ctime` must
/// be more than 2 s old.
bool is_settled(const Time& ctime, const Time& now) noexcept {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t margin = ctime.nanoseconds == 0 ? 2 * kSecond : kSecond / 20;
  const std::int64_t age = (std::int64_t{now.seconds} - ctime.seconds) * kSecond + now.nanoseconds - ctime.nanoseconds;
  return age > margin;
}

/// A clock that is read without a system call on any machine, and advances every 1 to 10 ms.
std::int64_t coarse_time() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// The same as a time of KeptNodes::Clock: both clocks count from the same moment.
KeptNodes::Clock::time_point coarse_now() noexcept {
  return KeptNodes::Clock::time_point(std::chrono::nanoseconds(coarse_time()));
}

}  // namespace

void KnownRights::note(const Identity& who, const Attributes& object, Time now, std::uint32_t asked,
                       std::uint32_t granted) {
  if (!is_settled(object.ctime, now)) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const Entry& e) { return e.ctime != object.ctime; });
  for (Entry& e : entries_) {
    if (e.who != who) continue;
    if ((asked & e.asked) != e.asked) return;  // keeps `e`: it has bits that `asked` does not have
    e.asked = asked;
    e.granted = granted;
    return;
  }
  if (entries_.size() < kMost)
    entries_.push_back({who, object.ctime, asked, granted});
  else
    entries_[next_++ % kMost] = {who, object.ctime, asked, granted};
}

std::optional<std::uint32_t> KnownRights::find(const Identity& who, const Attributes& object,
                                               std::uint32_t asked) const {
  const std::lock_guard lock(mutex_);
  for (const Entry& e : entries_)
    if (e.ctime == object.ctime && (e.asked & asked) == asked && e.who == who) return e.granted;
  return std::nullopt;
}

void KnownName::note(const NodeStat& directory, Time now, std::int64_t until) {
  if (!is_settled(directory.attributes.ctime, now)) return;
  const std::lock_guard lock(mutex_);
  directory_ = id_of(directory);
  ctime_ = directory.attributes.ctime;
  until_ = until;
}

bool KnownName::holds(const NodeStat& directory, std::int64_t until) const {
  const std::lock_guard lock(mutex_);
  return until_ == until && ctime_ == directory.attributes.ctime && directory_ == id_of(directory);
}

PathBelow::PathBelow(const KeptNode& directory, std::string_view name) {
  const std::string_view above = directory.path;
  text_.reserve(above.size() + 1 + name.size());
  text_.assign(above.begin(), above.end());
  if (!above.ends_with('/')) text_.push_back('/');
  text_.insert(text_.end(), name.begin(), name.end());
}

KeptNodes::KeptNodes(int root, const NodeStat& stat, std::size_t capacity)
    : root_(root), root_id_(id_of(stat)), capacity_(capacity) {}

bool KeptNodes::usable(int directory) noexcept {
  struct statfs s {};
  if (::fstatfs(directory, &s) != 0) return false;
  return s.f_type == EXT4_SUPER_MAGIC || s.f_type == kXfsMagic || s.f_type == BTRFS_SUPER_MAGIC ||
         s.f_type == TMPFS_MAGIC;
}

KeptNodePtr KeptNodes::used(Order::iterator at) {
  order_.splice(order_.begin(), order_, at);
  at->used = coarse_now();
  return at->node;
}

KeptNodePtr KeptNodes::find(const NodeKey& key) {
  const std::lock_guard lock(mutex_);
  const auto at = by_key_.find(key);
  return at != by_key_.end() ? used(at->second) : nullptr;
}

KeptNodePtr KeptNodes::find(std::string_view path) {
  const std::lock_guard lock(mutex_);
  const auto at = by_path_.find(path);
  return at != by_path_.end() ? used(at->second) : nullptr;
}

bool KeptNodes::is_in_place(const KeptNode& node) const noexcept {
  if (node.id == root_id_) return true;
  const std::int64_t now = coarse_time();
  std::int64_t until = node.in_place_until.load(std::memory_order_acquire);
  if (now < until) return true;
  const ProcPath link(node.fd.get());
  char path[PATH_MAX];
  const ssize_t length = ::readlinkat(link.folder, link.text, path, sizeof path);
  if (length < 0 || node.path != std::string_view(path, static_cast<std::size_t>(length))) return false;
  // Does not replace the value that a doubt() has stored meanwhile.
  node.in_place_until.compare_exchange_strong(until, now + std::chrono::nanoseconds(kTrust).count());
  return true;
}

void KeptNodes::doubt(std::string_view path) {
  const std::lock_guard lock(mutex_);
  if (const auto at = by_path_.find(path); at != by_path_.end()) at->second->node->in_place_until.store(-coarse_time());
}

std::optional<NodeStat> KeptNodes::look(const KeptNode& node) const noexcept {
  if (!is_in_place(node)) return std::nullopt;
  const auto stat = stat_fd(node.fd.get());
  if (!stat || stat->attributes.links == 0) return std::nullopt;
  return *stat;
}

KeptNodePtr KeptNodes::keep(const NodeKey& key, const NodeStat& stat, Fd& fd, std::string_view path) {
  if (capacity_ == 0 || stat.attributes.links == 0) return nullptr;
  std::string found;
  if (path.empty()) {
    if (where_is(fd.get(), root_, &found) != Where::inside) return nullptr;
    path = found;
  }
  // The kernel marks the path of a name that has been removed. The object still has a name, because its link count is
  // not 0, but the path of that name is unknown. The object is therefore not kept.
  if (path.ends_with(kDeleted)) return nullptr;
  Order gone;
  const std::lock_guard lock(mutex_);
  take_late(gone);
  KeptNodePtr node = add(key, stat, fd, path, gone);
  while (order_.size() > capacity_) take_out(std::prev(order_.end()), gone);
  return node;
}

void KeptNodes::keep_at_once(const NodeKey& key, const NodeStat& stat, Fd& fd, std::string_view path) {
  if (stat.attributes.links == 0 || path.ends_with(kDeleted)) return;
  const std::lock_guard lock(mutex_);
  // If the object is kept already, perhaps under another of its names, its entry is not replaced. A replacement would
  // move the old descriptor to `late_`, where it stays open until a thread that may block closes it.
  if (order_.size() + late_.size() < capacity_ && !by_key_.contains(key)) add(key, stat, fd, path, late_);
}

KeptNodePtr KeptNodes::add(const NodeKey& key, const NodeStat& stat, Fd& fd, std::string_view path, Order& gone) {
  auto node = std::make_shared<KeptNode>();
  node->key = key;
  node->id = id_of(stat);
  node->path = path;
  node->fd = std::move(fd);
  if (const auto at = by_key_.find(key); at != by_key_.end()) take_out(at->second, gone);
  if (const auto at = by_id_.find(node->id); at != by_id_.end()) take_out(at->second, gone);
  if (const auto at = by_path_.find(node->path); at != by_path_.end()) take_out(at->second, gone);
  const auto now = coarse_now();
  order_.push_front({node, now, now});
  by_key_.emplace(key, order_.begin());
  by_id_.emplace(node->id, order_.begin());
  by_path_.emplace(node->path, order_.begin());
  return node;
}

/// Removes an entry from the indexes, and moves it to `gone`, or to `late_` if a call still uses its object. The caller
/// holds `mutex_`, so that no other thread can begin to use the object during this function.
void KeptNodes::take_out(Order::iterator at, Order& gone) {
  by_key_.erase(at->node->key);
  by_id_.erase(at->node->id);
  by_path_.erase(at->node->path);
  Order& to = at->node.use_count() == 1 ? gone : late_;
  to.splice(to.end(), order_, at);
}

/// Moves the objects in `late_` that are no longer in use to `gone`. `mutex_` is locked.
void KeptNodes::take_late(Order& gone) {
  for (auto at = late_.begin(); at != late_.end();) {
    const auto next = std::next(at);
    if (at->node.use_count() == 1) gone.splice(gone.end(), late_, at);
    at = next;
  }
}

void KeptNodes::drop(const NodeKey& key) {
  Order gone;
  const std::lock_guard lock(mutex_);
  if (const auto at = by_key_.find(key); at != by_key_.end()) take_out(at->second, gone);
}

void KeptNodes::drop(const ObjectId& id) {
  Order gone;
  const std::lock_guard lock(mutex_);
  if (const auto at = by_id_.find(id); at != by_id_.end()) take_out(at->second, gone);
}

void KeptNodes::drop_idle(Clock::time_point used, Clock::time_point kept) {
  Order gone;
  const std::lock_guard lock(mutex_);
  take_late(gone);
  for (auto at = order_.begin(); at != order_.end();) {
    const auto next = std::next(at);
    if (at->used < used || at->kept < kept) take_out(at, gone);
    at = next;
  }
}

std::size_t KeptNodes::size() const {
  const std::lock_guard lock(mutex_);
  return order_.size();
}

}  // namespace rpcrdma::nfsd
