// SPDX-License-Identifier: BSD-3-Clause
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>

#include <cerrno>
#include <mutex>
#include <vector>

#include "hint_store.hpp"
#include "locator.hpp"
#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::uint8_t kHintKind = 2;
constexpr std::size_t kKeySize = 17;                // kind, inode number, birth time
constexpr std::size_t kLongKeySize = kKeySize + 8;  // and the device, if it is not the root's
constexpr int kMaxDepth = 512;
constexpr std::size_t kMaxWalkSteps =
    std::size_t{16} * kMaxDepth;  // of one walk, by all the places of what has several

bool is_overlay(int fd) noexcept {
  struct statfs s {};
  return ::fstatfs(fd, &s) == 0 && s.f_type == OVERLAYFS_SUPER_MAGIC;
}

/// An inode number alone may be given to another file later; the birth time tells them apart.
class HintLocator final : public Locator {
 public:
  HintLocator(int root, const NodeStat& stat, const std::filesystem::path& file, std::size_t max_hints, const Log& log)
      : root_(root),
        root_device_(stat.device),
        root_id_(id_of(stat)),
        root_birth_(stat.birth),
        is_overlay_(is_overlay(root)),
        hints_(file, max_hints, log) {}

  Status open(const NodeKey& key, Fd& out) override {
    Reader reader(key.octets());
    const std::size_t size = key.octets().size();
    const bool ours = (size == kKeySize || size == kLongKeySize) && reader.u8() == kHintKind;
    if (!ours) return Status::badhandle;
    Known object{{reader.u64(), 0}, 0};
    object.birth = reader.u64();
    if (size == kLongKeySize) object.id.device = reader.u64();
    const std::lock_guard lock(mutex_);
    Fd fd;
    steps_ = 0;
    if (!walk(known_now(object).id, fd, 0)) return Status::stale;
    NodeStat stat;
    if (const Status s = stat_fd(fd.get(), stat); s != Status::ok) return s;
    if (known_of(stat) != known_now(object)) return Status::stale;
    out = std::move(fd);
    return Status::ok;
  }

  Status key_of(int, const NodeStat& stat, const NodeStat& parent, std::string_view name, NodeKey& out) override {
    const ObjectId id = id_of(stat);
    std::array<std::byte, kLongKeySize> octets{};
    Writer writer(octets);
    writer.u8(kHintKind);
    writer.u64(id.number);
    writer.u64(stat.birth);
    if (id.device != 0) writer.u64(id.device);
    out = NodeKey({octets.data(), writer.size()});
    named(stat, parent, name);
    return Status::ok;
  }

  void named(const NodeStat& stat, const NodeStat& parent, std::string_view name) override {
    if (name.empty() || id_of(stat) == root_id_) return;
    const std::lock_guard lock(mutex_);
    remember(stat, {id_of(parent), std::string(name)});
  }

  void unnamed(const NodeStat& stat, const NodeStat& parent, std::string_view name) override {
    const std::lock_guard lock(mutex_);
    hints_.drop(id_of(stat), {id_of(parent), std::string(name)});
  }

  bool follows_changes() const noexcept override { return is_overlay_; }

  void changed(const NodeStat& before, const NodeStat& now) override {
    const Known was = known_of(before);
    if (was == known_of(now)) return;
    const std::lock_guard lock(mutex_);
    const HintStore::Hint* known = hints_.find(was.id);
    if (known != nullptr) {
      const HintStore::Hint hint = *known;
      if (was.id != id_of(now)) {
        hints_.set(id_of(now), hint.place, hint.directory);
        for (const HintStore::Place& other : hint.others) hints_.add(id_of(now), other, HintStore::kMaxPlaces);
      }
      copied_up_above(hint.place.parent);
    }
    hints_.succeed(was.id, {was.birth, id_of(now), now.birth});
  }

  void removed(const NodeStat& stat) override {
    const std::lock_guard lock(mutex_);
    hints_.erase(id_of(stat));
  }

  void tidy() override {
    const std::lock_guard lock(mutex_);
    hints_.tidy();
  }

 private:
  /// What a key holds.
  struct Known {
    ObjectId id;
    std::uint64_t birth = 0;
    friend bool operator==(const Known&, const Known&) = default;
  };

  ObjectId id_of(const NodeStat& stat) const noexcept {
    return {stat.attributes.fileid, stat.device == root_device_ ? 0 : stat.device};
  }

  Known known_of(const NodeStat& stat) const noexcept { return {id_of(stat), stat.birth}; }

  Known known_now(Known object) {
    hints_.follow(object.id, object.birth);
    return object;
  }

  /// The directories above what has been copied to the upper layer were copied there with it, or before. They are no
  /// others that got their numbers: those would be of the upper layer only, and hold nothing of a lower one (but for
  /// what an overlay with redirect_dir moves there).
  void copied_up_above(ObjectId id) {
    for (int depth = 0; depth < kMaxDepth; ++depth) {
      Fd fd;
      NodeStat stat;
      id = hints_.renumbered(id);
      steps_ = 0;
      if (!walk(id, fd, 0) || stat_fd(fd.get(), stat) != Status::ok || id_of(stat) != id) return;
      const HintStore::Hint* hint = hints_.find(id);
      std::optional<std::uint64_t> first = hint == nullptr ? std::nullopt : hint->birth;
      if (id == root_id_) first = root_birth_;
      if (!first || *first == stat.birth) return;
      hints_.succeed(id, {*first, id, stat.birth});
      if (hint == nullptr) return;
      id = hint->place.parent;
    }
  }

  /// Opens the object of that number by way of the remembered names, from the root down.
  bool walk(const ObjectId& id, Fd& out, int depth) {
    if (id == root_id_) {
      out = Fd(::fcntl(root_, F_DUPFD_CLOEXEC, 0));
      return static_cast<bool>(out);
    }
    // Places that are out of date may lead in circles, and fork on each round.
    if (depth > kMaxDepth || ++steps_ > kMaxWalkSteps) return false;
    if (const ObjectId now = hints_.renumbered(id); now != id) return walk(now, out, depth + 1);
    const HintStore::Hint* hint = hints_.find(id);
    if (hint == nullptr) return false;
    // Copies: hints change on the way.
    const HintStore::Place place = hint->place;
    const std::vector<HintStore::Place> others = hint->others;
    Fd parent;
    if (walk(place.parent, parent, depth + 1) && open_at(parent.get(), place.name, id, out)) return true;
    for (const HintStore::Place& other : others) {
      Fd other_parent;
      if (!walk(other.parent, other_parent, depth + 1) || !open_at(other_parent.get(), other.name, id, out)) continue;
      hints_.drop(id, place);
      return true;
    }
    return parent && search(parent.get(), place.parent, id, out);
  }

  bool open_at(int directory, const std::string& name, const ObjectId& id, Fd& out) {
    NodeStat stat;
    if (open_component(directory, name, out) != Status::ok || stat_fd(out.get(), stat) != Status::ok ||
        id_of(stat) != id)
      return false;
    if (is_overlay_) hints_.born(id, stat.birth);
    return true;
  }

  /// The name has changed behind our back: looks for the number among the directory's present names.
  bool search(int directory, const ObjectId& parent, const ObjectId& id, Fd& out) {
    Fd readable;
    if (reopen(directory, O_RDONLY | O_DIRECTORY, readable) != Status::ok) return false;
    DIR* stream = ::fdopendir(::fcntl(readable.get(), F_DUPFD_CLOEXEC, 0));
    if (stream == nullptr) return false;
    bool found = false;
    while (const dirent* entry = ::readdir(stream)) {
      if (entry->d_ino != id.number || std::string_view(entry->d_name) == "..") continue;
      NodeStat stat;
      found = open_at(directory, entry->d_name, id, out) && stat_fd(out.get(), stat) == Status::ok;
      if (!found) continue;  // that number of another device
      remember(stat, {parent, entry->d_name});
      break;
    }
    ::closedir(stream);
    return found;
  }

  void remember(const NodeStat& stat, const HintStore::Place& place) {
    if (is_directory(stat) || stat.attributes.links < 2)
      hints_.set(id_of(stat), place, is_directory(stat));
    else
      hints_.add(id_of(stat), place, stat.attributes.links);
    if (is_overlay_) hints_.born(id_of(stat), stat.birth);
  }

  int root_;
  std::uint64_t root_device_;
  ObjectId root_id_;
  std::uint64_t root_birth_;
  const bool is_overlay_;
  std::mutex mutex_;
  HintStore hints_;
  std::size_t steps_ = 0;  // of the present walk
};

}  // namespace

std::unique_ptr<Locator> make_hint_locator(int root, const std::filesystem::path& file, std::size_t max_hints,
                                           const Log& log) {
  NodeStat stat;
  if (stat_fd(root, stat) != Status::ok) return nullptr;
  if (stat.birth == 0) log.warn("no birth times here: a handle of a removed file may name its successor");
  return std::make_unique<HintLocator>(root, stat, file, max_hints, log);
}

}  // namespace rpcrdma::nfsd
