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
    moved(stat, parent, name);
    return Status::ok;
  }

  void moved(const NodeStat& stat, std::uint64_t parent, std::string_view name) override {
    if (name.empty() || stat.attributes.fileid == root_number_) return;
    const std::lock_guard lock(mutex_);
    hints_.set(stat.attributes.fileid, parent, name, is_directory(stat));
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
    const std::uint64_t parent_number = hint->parent;
    const std::string name = hint->name;
    Fd parent;
    if (!walk(parent_number, parent, depth + 1)) return false;
    NodeStat stat;
    if (open_component(parent.get(), name, out) == Status::ok && stat_fd(out.get(), stat) == Status::ok &&
        stat.attributes.fileid == number)
      return true;
    return search(parent.get(), parent_number, number, out);
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
      found = open_component(directory, entry->d_name, out) == Status::ok && stat_fd(out.get(), stat) == Status::ok &&
              stat.attributes.fileid == number;
      if (found) hints_.set(number, parent_number, entry->d_name, is_directory(stat));
      break;
    }
    ::closedir(stream);
    return found;
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
