// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <vector>

#include "directory_stream.hpp"
#include "locator.hpp"
#include "place_store.hpp"
#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::uint8_t kPlaceKind = 2;
constexpr std::size_t kKeySize = 17;                // kind, inode number, birth time
constexpr std::size_t kLongKeySize = kKeySize + 8;  // a key with the device, if it is not the root's device
constexpr int kMaxDepth = 512;
// The maximum number of steps to open one object. Each call of walk() is a step, except for the root of the export.
// walk() calls itself for the parent directory in each place.
constexpr std::size_t kMaxWalkSteps = std::size_t{16} * kMaxDepth;

bool is_overlay(int fd) noexcept {
  struct statfs s {};
  return ::fstatfs(fd, &s) == 0 && s.f_type == OVERLAYFS_SUPER_MAGIC;
}

/// The content of a NodeKey. The file system may give the number of a removed object to a new object. The birth time
/// distinguishes the two objects.
struct ObjectIdentity {
  ObjectId id;
  std::uint64_t birth = 0;
  friend bool operator==(const ObjectIdentity&, const ObjectIdentity&) = default;
};

NodeKey encode_key(const ObjectIdentity& object) {
  std::array<std::byte, kLongKeySize> bytes{};
  Writer writer(bytes);
  writer.u8(kPlaceKind);
  writer.u64(object.id.number);
  writer.u64(object.birth);
  if (object.id.device != 0) writer.u64(object.id.device);
  return NodeKey(writer.written());
}

StatusOr<ObjectIdentity> decode_key(const NodeKey& key) {
  const std::size_t size = key.octets().size();
  Reader reader(key.octets());
  if ((size != kKeySize && size != kLongKeySize) || reader.u8() != kPlaceKind) return Status::badhandle;
  ObjectIdentity object;
  object.id.number = reader.u64();
  object.birth = reader.u64();
  if (size == kLongKeySize) object.id.device = reader.u64();
  return object;
}

class PlaceLocator final : public Locator {
 public:
  PlaceLocator(int root, const NodeStat& stat, const std::filesystem::path& file, std::size_t max_places,
               const Log& log)
      : root_(root),
        root_device_(stat.device),
        root_id_(id_of(stat)),
        is_overlay_(is_overlay(root)),
        // On an overlay the root has an identity of all zeros. An overlay may show the root with another birth time
        // after a change, and with another inode number after a restart.
        root_identity_(is_overlay_ ? ObjectIdentity{} : ObjectIdentity{root_id_, stat.birth}),
        store_(file, max_places, log) {}

  StatusOr<Opened> open(const NodeKey& key) override {
    const auto object = decode_key(key);
    if (!object) return object.error();
    const std::lock_guard lock(mutex_);
    steps_ = 0;
    Fd fd = walk(*object == root_identity_ ? root_id_ : object->id, 0);
    if (!fd) return Status::stale;
    const auto stat = stat_fd(fd.get());
    if (!stat) return stat.error();
    if (*object == root_identity_) return Opened{std::move(fd), *stat, {}};
    const auto entry = store_.find(object->id);
    const std::uint64_t birth = entry && entry->birth == object->birth ? entry->shown : object->birth;
    if (ObjectIdentity{id_of(*stat), stat->birth} != ObjectIdentity{object->id, birth}) return Status::stale;
    return Opened{std::move(fd), *stat, {}};
  }

  StatusOr<NodeKey> key_of(int, const NodeStat& stat, const NodeStat& parent, std::string_view name) override {
    const ObjectId id = id_of(stat);
    if (id == root_id_) return encode_key(root_identity_);
    const std::lock_guard lock(mutex_);
    const auto entry = name.empty() ? store_.find(id) : remember(stat, {id_of(parent), std::string(name)});
    return encode_key(ObjectIdentity{id, entry && entry->shown == stat.birth ? entry->birth : stat.birth});
  }

  bool remembers() const noexcept override { return true; }
  void named(const NodeStat& stat, const NodeStat& parent, std::string_view name) override {
    if (name.empty() || id_of(stat) == root_id_) return;
    const std::lock_guard lock(mutex_);
    remember(stat, {id_of(parent), std::string(name)});
  }

  /// Forgets the place, unless it is the only one that this locator knows for the object. The object may have another
  /// name in the directory of that place, and search() can then find the object there.
  void unnamed(const NodeStat& stat, const NodeStat& parent, std::string_view name) override {
    const std::lock_guard lock(mutex_);
    auto entry = store_.find(id_of(stat));
    if (!entry || entry->places.size() < 2) return;
    if (std::erase(entry->places, PlaceStore::Place{id_of(parent), std::string(name)}) != 0)
      store_.put(id_of(stat), *entry);
  }

  /// Before the first change of an object, an overlay copies the object to its upper layer. It also copies each
  /// directory above the object that it has not copied yet. Each copy has another birth time. This function stores the
  /// new birth time of the object, and then those of the directories above it.
  ///
  /// A directory above the object counts as a copy if it has the known inode number and another birth time. It could
  /// also be a new directory that has been given this number. But a new directory exists only in the upper layer, so it
  /// could contain the object only if an overlay with redirect_dir has moved the object there.
  ///
  /// If the layers are on different file systems, the inode number of a copy differs too. This function then does
  /// nothing, and the object is stale until it is looked up.
  void changed(const NodeStat& before, const NodeStat& now) override {
    if (!is_overlay_ || before.birth == now.birth || id_of(before) != id_of(now)) return;
    const std::lock_guard lock(mutex_);
    ObjectId id = id_of(now);
    std::uint64_t birth = now.birth;
    for (int depth = 0; depth < kMaxDepth && id != root_id_; ++depth) {
      auto entry = store_.find(id);
      if (!entry || entry->shown == birth || entry->places.empty()) return;
      entry->shown = birth;
      store_.put(id, *entry);
      id = entry->places.front().parent;
      steps_ = 0;
      const Fd fd = walk(id, 0);
      if (!fd) return;
      const auto stat = stat_fd(fd.get());
      if (!stat || id_of(*stat) != id) return;
      birth = stat->birth;
    }
  }

  void removed(const NodeStat& stat) override {
    const std::lock_guard lock(mutex_);
    store_.erase(id_of(stat));
  }

  void tidy() override {
    const std::lock_guard lock(mutex_);
    store_.tidy();
  }

 private:
  ObjectId id_of(const NodeStat& stat) const noexcept {
    return {stat.attributes.fileid, stat.device == root_device_ ? 0 : stat.device};
  }

  /// Opens the object `id` by its remembered places. For each place, walk() opens the parent directory in the same way,
  /// from the root of the export down. If no place leads to the object, searches the parent directory of the first
  /// place. Returns an empty Fd if the object is not found.
  Fd walk(const ObjectId& id, int depth) {
    if (id == root_id_) return Fd(::fcntl(root_, F_DUPFD_CLOEXEC, 0));
    // Outdated places may form a cycle: for example, each of two directories is recorded as the parent of the other.
    // kMaxDepth ends the recursion. As an object may have several places, the number of paths through a cycle can
    // grow exponentially with the depth. kMaxWalkSteps limits this number.
    if (depth > kMaxDepth || ++steps_ > kMaxWalkSteps) return {};
    auto entry = store_.find(id);
    if (!entry || entry->places.empty()) return {};
    Fd first_parent;
    for (auto place = entry->places.begin(); place != entry->places.end(); ++place) {
      Fd parent = walk(place->parent, depth + 1);
      Fd fd = parent ? open_at(parent.get(), place->name, id) : Fd();
      const bool is_first = place == entry->places.begin();
      if (fd && !is_first) {
        entry->places.erase(entry->places.begin(), place);
        store_.put(id, *entry);
      }
      if (fd) return fd;
      if (is_first) first_parent = std::move(parent);
    }
    return first_parent ? search(first_parent.get(), entry->places.front().parent, id) : Fd();
  }

  Fd open_at(int directory, std::string_view name, const ObjectId& id) const {
    auto fd = open_component(directory, name);
    if (!fd) return {};
    const auto stat = stat_fd(fd->get());
    return stat && id_of(*stat) == id ? std::move(*fd) : Fd();
  }

  /// Searches the directory for the object `id`, which a local program may have renamed there. Remembers its name.
  Fd search(int directory, const ObjectId& parent, const ObjectId& id) {
    const auto stream = DirectoryStream::open(directory, 0);
    if (!stream) return {};
    for (;; (*stream)->next()) {
      const auto entry = (*stream)->peek();
      if (!entry || entry->name.empty()) return {};
      if (entry->number != id.number || entry->name == "." || entry->name == "..") continue;
      Fd fd = open_at(directory, entry->name, id);
      if (!fd) continue;  // cannot be opened, or is another object, for example one on another device
      if (const auto stat = stat_fd(fd.get())) remember(*stat, {parent, std::string(entry->name)});
      return fd;
    }
  }

  /// Adds `place` to the entry of the object that `stat` describes, and returns the entry. An entry has at most as many
  /// places as the object has names, and at most kMaxPlaces. If there are more, drops the places that were added first.
  std::optional<PlaceStore::Entry> remember(const NodeStat& stat, const PlaceStore::Place& place) {
    const ObjectId id = id_of(stat);
    const auto known = store_.find(id);
    PlaceStore::Entry entry{is_directory(stat), stat.birth, stat.birth, {}};
    if (known && known->shown == stat.birth) entry = *known;
    auto& places = entry.places;
    if (is_directory(stat) || stat.attributes.links < 2) places.clear();
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
    const std::size_t most = std::clamp<std::size_t>(stat.attributes.links, 1, PlaceStore::kMaxPlaces);
    if (places.size() > most) places.erase(places.begin(), places.end() - static_cast<std::ptrdiff_t>(most));
    if (known != entry) store_.put(id, entry);
    return entry;
  }

  const int root_;
  const std::uint64_t root_device_;
  const ObjectId root_id_;
  const bool is_overlay_;
  const ObjectIdentity root_identity_;
  std::mutex mutex_;
  PlaceStore store_;
  std::size_t steps_ = 0;  // steps of the current walk
};

}  // namespace

std::unique_ptr<Locator> make_place_locator(int root, const std::filesystem::path& file, std::size_t max_places,
                                            const Log& log) {
  const auto stat = stat_fd(root);
  if (!stat) return nullptr;
  return std::make_unique<PlaceLocator>(root, *stat, file, max_places, log);
}

}  // namespace rpcrdma::nfsd
