// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "confinement.hpp"
#include "locator.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::byte kHandleKind{1};
constexpr std::size_t kHeader = 2;  // bytes of a key before f_handle: kHandleKind, and the kernel's handle_type
constexpr std::size_t kMaxKernelHandle = NodeKey::kMax - kHeader;

/// struct file_handle, followed by room for the bytes of the handle.
union KernelHandle {
  struct file_handle header;
  char room[sizeof(struct file_handle) + kMaxKernelHandle];
};

/// The inode number in a kernel handle of a form that ext4, XFS, btrfs or tmpfs uses; nothing for other forms.
std::optional<std::uint64_t> number_in(const struct file_handle& handle) noexcept {
  // FILEID_INO32_GEN: the inode number and the generation, 32 bits each. tmpfs uses this type for another form: a
  // generation of 32 bits, and then an inode number of 64 bits. The size of the handle tells the two forms apart.
  constexpr int kNumberAndGeneration = 1;
  constexpr int kBtrfs = 0x4d;  // FILEID_BTRFS_WITHOUT_PARENT
  constexpr int kXfs = 0x81;    // FILEID_INO32_GEN with XFS_FILEID_TYPE_64FLAG
  constexpr unsigned kShort = 8;
  constexpr unsigned kTmpfs = 12;
  const auto number = [&handle]<class Number>(std::size_t at, Number value) -> std::uint64_t {
    std::memcpy(&value, handle.f_handle + at, sizeof value);
    return value;
  };
  const unsigned size = handle.handle_bytes;
  if (handle.handle_type == kNumberAndGeneration && size == kShort) return number(0, std::uint32_t{});
  if (handle.handle_type == kNumberAndGeneration && size == kTmpfs) return number(4, std::uint64_t{});
  const bool is_long = handle.handle_type == kBtrfs || handle.handle_type == kXfs;
  return is_long && size >= kTmpfs ? std::optional(number(0, std::uint64_t{})) : std::nullopt;
}

NodeKey key_of_handle(const struct file_handle& handle) {
  std::array<std::byte, NodeKey::kMax> octets{};
  octets[0] = kHandleKind;
  octets[1] = static_cast<std::byte>(handle.handle_type);
  std::memcpy(octets.data() + kHeader, handle.f_handle, handle.handle_bytes);
  return NodeKey({octets.data(), kHeader + handle.handle_bytes});
}

class HandleLocator final : public Locator {
 public:
  HandleLocator(int root, const NodeStat& stat, Fd mount, std::unique_ptr<Locator> places) noexcept
      : root_(root), root_id_(id_of(stat)), mount_(std::move(mount)), places_(std::move(places)) {}

  StatusOr<Opened> open(const NodeKey& key) override {
    const auto octets = key.octets();
    if (octets.size() <= kHeader || octets[0] != kHandleKind) return Status::badhandle;
    KernelHandle handle{};
    handle.header.handle_bytes = static_cast<unsigned>(octets.size() - kHeader);
    handle.header.handle_type = std::to_integer<int>(octets[1]);
    std::memcpy(handle.header.f_handle, octets.data() + kHeader, octets.size() - kHeader);
    Fd fd(::open_by_handle_at(mount_.get(), &handle.header, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!fd) return errno == EINVAL ? Status::badhandle : status_of(errno);
    // The handle names an inode, which may have been moved out of the export. The checks below refuse such an object if
    // it is a directory, or if it has only one name and may_be_inside() returns false. An object with several names is
    // not checked, because the kernel shows only one of its paths.
    const auto stat = stat_fd(fd.get());
    if (!stat) return stat.error();
    // An object without a name is deleted once its last descriptor is closed.
    if (stat->attributes.links == 0) return Status::stale;
    Opened opened{std::move(fd), *stat, {}};
    const bool checked = is_directory(*stat) ? id_of(*stat) != root_id_ : stat->attributes.links == 1;
    if (checked && !may_be_inside(opened)) return Status::stale;
    return opened;
  }

  StatusOr<NodeKey> key_of(int fd, const NodeStat& stat, const NodeStat& parent, std::string_view name) override {
    KernelHandle handle{};
    handle.header.handle_bytes = kMaxKernelHandle;
    int mount_id = 0;
    if (::name_to_handle_at(fd, "", &handle.header, &mount_id, AT_EMPTY_PATH) != 0) return status_of(errno);
    if (handle.header.handle_type < 0 || handle.header.handle_type > 255) return Status::notsupp;
    named(stat, parent, name);
    return key_of_handle(handle.header);
  }

  /// `name` may refer to another object than `stat` by now. If the other object has a different inode number, returns
  /// nothing. If it has the same inode number, because the object of `stat` has been removed and its number is in use
  /// again, returns the key of the other object.
  std::optional<NodeKey> key_at(int directory, std::string_view name, const NodeStat& stat) override {
    KernelHandle handle{};
    handle.header.handle_bytes = kMaxKernelHandle;
    int mount_id = 0;
    if (::name_to_handle_at(directory, std::string(name).c_str(), &handle.header, &mount_id, 0) != 0)
      return std::nullopt;
    const auto number = number_in(handle.header);
    if (!number) numbers_in_handles_.store(false, std::memory_order_relaxed);
    return number == stat.attributes.fileid ? std::optional(key_of_handle(handle.header)) : std::nullopt;
  }
  bool finds_by_name() const noexcept override {
    return places_ == nullptr && numbers_in_handles_.load(std::memory_order_relaxed);
  }

  bool remembers() const noexcept override { return places_ != nullptr; }
  void named(const NodeStat& stat, const NodeStat& parent, std::string_view name) override {
    if (places_ != nullptr) places_->named(stat, parent, name);
  }
  void unnamed(const NodeStat& stat, const NodeStat& parent, std::string_view name) override {
    if (places_ != nullptr) places_->unnamed(stat, parent, name);
  }
  void changed(const NodeStat& before, const NodeStat& now) override {
    if (places_ != nullptr) places_->changed(before, now);
  }
  void removed(const NodeStat& stat) override {
    if (places_ != nullptr) places_->removed(stat);
  }
  void tidy() override {
    if (places_ != nullptr) places_->tidy();
  }

 private:
  /// Whether the object is in the exported tree, as far as can be found out. Stores its path in `opened` if it is.
  bool may_be_inside(Opened& opened) {
    const Where where = where_is(opened.fd.get(), root_, &opened.path);
    if (where != Where::unknown) return where == Where::inside;
    if (is_directory(opened.stat)) return is_inside(opened.fd.get(), root_);
    // The kernel may know no path of a file that has not been looked up lately. On a mount of a whole file system,
    // the handle is then accepted, because no client can forge a handle. On a mount of a part of a file system, the
    // object may have been moved out of that part, so places_ must find a path to it.
    if (places_ == nullptr) return true;
    const auto key = places_->key_of(opened.fd.get(), opened.stat, {}, {});
    return key && places_->open(*key);
  }

  int root_;
  ObjectId root_id_;
  Fd mount_;
  std::atomic<bool> numbers_in_handles_{true};  // false once a handle contained no inode number
  const std::unique_ptr<Locator> places_;       // null unless the mount shows only a part of its file system
};

}  // namespace

std::unique_ptr<Locator> make_handle_locator(int root, const std::filesystem::path& file, std::size_t max_places,
                                             const Log& log) {
  // open_by_handle_at() does not accept an O_PATH descriptor.
  auto mount = reopen(root, O_RDONLY | O_DIRECTORY);
  if (!mount) return nullptr;
  const auto stat = stat_fd(root);
  if (!stat) return nullptr;
  KernelHandle handle{};
  handle.header.handle_bytes = kMaxKernelHandle;
  int mount_id = 0;
  if (::name_to_handle_at(root, "", &handle.header, &mount_id, AT_EMPTY_PATH) != 0) return nullptr;
  std::unique_ptr<Locator> places;
  if (shows_a_part(root, mount_id)) {
    places = make_place_locator(root, file, max_places, log);
    if (places == nullptr) return nullptr;
    log.debug(
        "{}: the places (directory and name) of files are remembered as well, because kernel file handles do "
        "not suffice for an export that shows only a part of its file system",
        file.string());
  }
  auto locator = std::make_unique<HandleLocator>(root, *stat, std::move(*mount), std::move(places));
  const auto key = locator->key_of(root, {}, {}, {});
  if (!key || !locator->open(*key)) return nullptr;
  return locator;
}

}  // namespace rpcrdma::nfsd
