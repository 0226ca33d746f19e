// SPDX-License-Identifier: BSD-3-Clause
#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <mutex>
#include <vector>

#include "posix/hint_store.hpp"
#include "posix/locator.hpp"
#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::uint8_t kHintKind = 2;
constexpr std::size_t kKeySize = 17;  // kind, inode number, birth time
constexpr int kMaxDepth = 512;

/// An inode number alone may be given to another file later; the birth time tells them apart.
class HintLocator final : public Locator {
 public:
  HintLocator(int root, const NodeStat& stat, const std::filesystem::path& file, std::size_t max_hints)
      : root_(root), root_number_(stat.attributes.fileid), hints_(file, max_hints) {}

  Status open(const NodeKey& key, Fd& out) override {
    Reader reader(key.octets());
    const bool ours = key.octets().size() == kKeySize && reader.u8() == kHintKind;
    if (!ours) return Status::badhandle;
    const std::uint64_t number = reader.u64();
    const std::uint64_t birth = reader.u64();
    const std::lock_guard lock(mutex_);
    Fd fd;
    if (!walk(number, fd, 0)) return Status::stale;
    NodeStat stat;
    if (const Status s = stat_fd(fd.get(), stat); s != Status::ok) return s;
    if (stat.attributes.fileid != number || stat.birth != birth) return Status::stale;
    out = std::move(fd);
    return Status::ok;
  }

  Status key_of(int, const NodeStat& stat, std::uint64_t parent, std::string_view name, NodeKey& out) override {
    std::array<std::byte, kKeySize> octets{};
    Writer writer(octets);
    writer.u8(kHintKind);
    writer.u64(stat.attributes.fileid);
    writer.u64(stat.birth);
    out = NodeKey(octets);
    named(stat, parent, name);
    return Status::ok;
  }

  void named(const NodeStat& stat, std::uint64_t parent, std::string_view name) override {
    if (name.empty() || stat.attributes.fileid == root_number_) return;
    const std::lock_guard lock(mutex_);
    remember(stat, {parent, std::string(name)});
  }

  void unnamed(std::uint64_t number, std::uint64_t parent, std::string_view name) override {
    const std::lock_guard lock(mutex_);
    hints_.drop(number, {parent, std::string(name)});
  }

  void removed(std::uint64_t number) override {
    const std::lock_guard lock(mutex_);
    hints_.erase(number);
  }

 private:
  /// Opens the object of that number by way of the remembered names, from the root down.
  bool walk(std::uint64_t number, Fd& out, int depth) {
    if (number == root_number_) {
      out = Fd(::fcntl(root_, F_DUPFD_CLOEXEC, 0));
      return static_cast<bool>(out);
    }
    const HintStore::Hint* hint = hints_.find(number);
    if (hint == nullptr || depth > kMaxDepth) return false;
    // Copies: hints change on the way.
    const HintStore::Place place = hint->place;
    const std::vector<HintStore::Place> others = hint->others;
    Fd parent;
    if (walk(place.parent, parent, depth + 1) && open_at(parent.get(), place.name, number, out)) return true;
    for (const HintStore::Place& other : others) {
      Fd other_parent;
      if (!walk(other.parent, other_parent, depth + 1) || !open_at(other_parent.get(), other.name, number, out))
        continue;
      hints_.drop(number, place);
      return true;
    }
    return parent && search(parent.get(), place.parent, number, out);
  }

  static bool open_at(int directory, const std::string& name, std::uint64_t number, Fd& out) {
    NodeStat stat;
    return open_component(directory, name, out) == Status::ok && stat_fd(out.get(), stat) == Status::ok &&
           stat.attributes.fileid == number;
  }

  /// The name has changed behind our back: looks for the number among the directory's present names.
  bool search(int directory, std::uint64_t parent_number, std::uint64_t number, Fd& out) {
    Fd readable;
    if (reopen(directory, O_RDONLY | O_DIRECTORY, readable) != Status::ok) return false;
    DIR* stream = ::fdopendir(::fcntl(readable.get(), F_DUPFD_CLOEXEC, 0));
    if (stream == nullptr) return false;
    bool found = false;
    while (const dirent* entry = ::readdir(stream)) {
      if (entry->d_ino != number || std::string_view(entry->d_name) == "..") continue;
      NodeStat stat;
      found = open_at(directory, entry->d_name, number, out) && stat_fd(out.get(), stat) == Status::ok;
      if (found) remember(stat, {parent_number, entry->d_name});
      break;
    }
    ::closedir(stream);
    return found;
  }

  void remember(const NodeStat& stat, const HintStore::Place& place) {
    if (is_directory(stat) || stat.attributes.links < 2)
      hints_.set(stat.attributes.fileid, place, is_directory(stat));
    else
      hints_.add(stat.attributes.fileid, place, stat.attributes.links);
  }

  int root_;
  std::uint64_t root_number_;
  std::mutex mutex_;
  HintStore hints_;
};

}  // namespace

std::unique_ptr<Locator> make_hint_locator(int root, const std::filesystem::path& file, std::size_t max_hints,
                                           const Log& log) {
  NodeStat stat;
  if (stat_fd(root, stat) != Status::ok) return nullptr;
  if (stat.birth == 0) log.warn("no birth times here: a handle of a removed file may name its successor");
  return std::make_unique<HintLocator>(root, stat, file, max_hints);
}

}  // namespace rpcrdma::nfsd
