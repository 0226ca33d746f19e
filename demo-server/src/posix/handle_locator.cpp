// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>

#include <cerrno>

#include "posix/locator.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::byte kHandleKind{1};
constexpr std::size_t kHeader = 2;  // kind, handle type
constexpr std::size_t kMaxKernelHandle = NodeKey::kMax - kHeader;

/// struct file_handle with room for the octets behind it.
union KernelHandle {
  struct file_handle header;
  char room[sizeof(struct file_handle) + kMaxKernelHandle];
};

bool is_below(const std::string& path, int root) {
  const std::string top = path_of(root);
  if (top.empty() || !path.starts_with(top)) return false;
  return path.size() == top.size() || top == "/" || path[top.size()] == '/';
}

class HandleLocator final : public Locator {
 public:
  HandleLocator(int root, const struct stat& stat, Fd mount) noexcept
      : root_(root), root_number_(stat.st_ino), root_device_(stat.st_dev), mount_(std::move(mount)) {}

  Status open(const NodeKey& key, Fd& out) override {
    const auto octets = key.octets();
    if (octets.size() <= kHeader || octets[0] != kHandleKind) return Status::badhandle;
    KernelHandle handle{};
    handle.header.handle_bytes = static_cast<unsigned>(octets.size() - kHeader);
    handle.header.handle_type = std::to_integer<int>(octets[1]);
    std::memcpy(handle.header.f_handle, octets.data() + kHeader, octets.size() - kHeader);
    Fd fd(::open_by_handle_at(mount_.get(), &handle.header, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!fd) return errno == EINVAL ? Status::badhandle : status_of(errno);
    // A handle names an inode wherever it lies now. Directories have one place, which must be inside. So have other
    // objects with one name, if the kernel knows it; else it is enough that this server gave the handle out, as
    // nobody else can make one.
    struct stat s {};
    if (::fstat(fd.get(), &s) != 0) return status_of(errno);
    const bool is_root = s.st_ino == root_number_ && s.st_dev == root_device_;
    if (S_ISDIR(s.st_mode) && !is_root && !is_inside(fd.get(), root_)) return Status::stale;
    if (!S_ISDIR(s.st_mode) && s.st_nlink == 1 && is_outside(fd.get(), root_)) return Status::stale;
    out = std::move(fd);
    return Status::ok;
  }

  Status key_of(int fd, const NodeStat&, const NodeStat&, std::string_view, NodeKey& out) override {
    KernelHandle handle{};
    handle.header.handle_bytes = kMaxKernelHandle;
    int mount_id = 0;
    if (::name_to_handle_at(fd, "", &handle.header, &mount_id, AT_EMPTY_PATH) != 0) return status_of(errno);
    if (handle.header.handle_type < 0 || handle.header.handle_type > 255) return Status::notsupp;
    std::array<std::byte, NodeKey::kMax> octets{};
    octets[0] = kHandleKind;
    octets[1] = static_cast<std::byte>(handle.header.handle_type);
    std::memcpy(octets.data() + kHeader, handle.header.f_handle, handle.header.handle_bytes);
    out = NodeKey({octets.data(), kHeader + handle.header.handle_bytes});
    return Status::ok;
  }

  void named(const NodeStat&, const NodeStat&, std::string_view) override {}
  void unnamed(const NodeStat&, const NodeStat&, std::string_view) override {}
  bool follows_changes() const noexcept override { return false; }
  void changed(const NodeStat&, const NodeStat&) override {}
  void removed(const NodeStat&) override {}

 private:
  int root_;
  ino_t root_number_;
  dev_t root_device_;
  Fd mount_;
};

}  // namespace

bool is_inside(int directory, int root) { return is_below(path_of(directory), root); }

bool is_outside(int fd, int root) {
  const std::string path = path_of(fd);
  // An inode that nobody has looked up since it was loaded is shown as a root, without a name.
  return path.find_first_not_of('/') != path.npos && !is_below(path, root);
}

std::unique_ptr<Locator> make_handle_locator(int root) {
  // open_by_handle_at does not take an O_PATH descriptor.
  Fd mount;
  if (reopen(root, O_RDONLY | O_DIRECTORY, mount) != Status::ok) return nullptr;
  struct stat s {};
  if (::fstat(root, &s) != 0) return nullptr;
  auto locator = std::make_unique<HandleLocator>(root, s, std::move(mount));
  NodeKey key;
  Fd again;
  if (locator->key_of(root, {}, {}, {}, key) != Status::ok) return nullptr;
  if (locator->open(key, again) != Status::ok) return nullptr;
  return locator;
}

}  // namespace rpcrdma::nfsd
