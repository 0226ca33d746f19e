// SPDX-License-Identifier: BSD-3-Clause
#include "system.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <limits>

namespace rpcrdma::nfsd {

Status status_of(int error) noexcept {
  switch (error) {
    case 0: return Status::ok;
    case ENOKEY:  // the directory is encrypted, and its key is not available
    case EPERM: return Status::perm;
    case ENOENT: return Status::noent;
    case ENXIO: return Status::nxio;
    case EACCES: return Status::acces;
    case EEXIST: return Status::exist;
    case EXDEV: return Status::xdev;
    case ENODEV: return Status::nodev;
    case ENOTDIR: return Status::notdir;
    case EISDIR: return Status::isdir;
    case EINVAL: return Status::inval;
    case E2BIG:
    case EOVERFLOW:
    case EFBIG: return Status::fbig;
    case ENOSPC: return Status::nospc;
    case EROFS: return Status::rofs;
    case EMLINK: return Status::mlink;
    case ENAMETOOLONG: return Status::nametoolong;
    case ENOTEMPTY: return Status::notempty;
    case EUSERS:  // no room in the quota file
    case EDQUOT: return Status::dquot;
    case ESTALE: return Status::stale;
    case EREMOTE: return Status::remote;
    case EOPNOTSUPP:
    case ENOSYS: return Status::notsupp;
    case ELOOP: return Status::inval;  // a symbolic link in place of a file or directory
    case ETXTBSY:
    case EBUSY:
      return Status::acces;  // ETXTBSY: a running program. EBUSY: a mount point, or the root of a file system.
    // A state that may pass, such as a lack of memory: the client retries.
    case EAGAIN:
    case ETIMEDOUT:
    case ENOBUFS:
    case EINTR:
    case EMFILE:
    case ENFILE:
    case ENOMEM: return Status::jukebox;
    case EBADF:
    case EFAULT: return Status::serverfault;
    default: return Status::io;
  }
}

namespace {

/// nfstime3 cannot express times before 1970: returns 0 for them.
Time time_of(const struct statx_timestamp& t) noexcept {
  if (t.tv_sec < 0) return {};
  constexpr std::int64_t kLast = std::numeric_limits<std::uint32_t>::max();
  return {static_cast<std::uint32_t>(t.tv_sec > kLast ? kLast : t.tv_sec), t.tv_nsec};
}

FileType type_of(std::uint32_t mode) noexcept {
  switch (mode & S_IFMT) {
    case S_IFDIR: return FileType::directory;
    case S_IFBLK: return FileType::block;
    case S_IFCHR: return FileType::character;
    case S_IFLNK: return FileType::symlink;
    case S_IFSOCK: return FileType::socket;
    case S_IFIFO: return FileType::fifo;
    default: return FileType::regular;
  }
}

NodeStat node_stat_of(const struct statx& s) noexcept {
  NodeStat stat;
  Attributes& a = stat.attributes;
  a.type = type_of(s.stx_mode);
  a.mode = s.stx_mode & 07777u;
  a.links = s.stx_nlink;
  a.uid = s.stx_uid;
  a.gid = s.stx_gid;
  a.size = s.stx_size;
  a.used = s.stx_blocks * 512;
  a.device = {s.stx_rdev_major, s.stx_rdev_minor};
  a.fileid = s.stx_ino;
  a.atime = time_of(s.stx_atime);
  a.mtime = time_of(s.stx_mtime);
  a.ctime = time_of(s.stx_ctime);
  stat.device = makedev(s.stx_dev_major, s.stx_dev_minor);
  if ((s.stx_mask & STATX_BTIME) != 0)
    stat.birth = static_cast<std::uint64_t>(s.stx_btime.tv_sec) * 1'000'000'000u + s.stx_btime.tv_nsec;
  return stat;
}

/// A NUL-terminated copy of a file name, for system calls. `fits` is false if the name is longer than NAME_MAX.
struct NameText {
  explicit NameText(std::string_view name) noexcept : fits(name.size() < sizeof text) {
    const std::size_t size = fits ? name.size() : 0;
    std::memcpy(text, name.data(), size);
    text[size] = '\0';
  }
  bool fits;
  char text[256];
};

}  // namespace

bool has_no_fsync(int error) noexcept { return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP; }

Time present_time() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return {static_cast<std::uint32_t>(now.tv_sec), static_cast<std::uint32_t>(now.tv_nsec)};
}

StatusOr<NodeStat> stat_fd(int fd) noexcept {
  struct statx s;
  if (::statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &s) != 0)
    return status_of(errno);
  return node_stat_of(s);
}

StatusOr<NodeStat> stat_at(int directory, std::string_view name, int flags) noexcept {
  const NameText component(name);
  if (!component.fits) return Status::nametoolong;
  struct statx s;
  if (::statx(directory, component.text, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | flags, STATX_BASIC_STATS | STATX_BTIME,
              &s) != 0)
    return status_of(errno);
  if ((s.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0) return Status::notsupp;
  if ((s.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) return Status::acces;
  return node_stat_of(s);
}

namespace {

/// Opens `name` in `directory` with O_PATH, follows no symbolic link and crosses no mount point. `resolve` has further
/// RESOLVE_ flags of openat2(). Returns -1 and sets errno on failure.
int open_below(int directory, std::string_view name, std::uint64_t resolve) noexcept {
  const NameText component(name);
  if (!component.fits) {
    errno = ENAMETOOLONG;
    return -1;
  }
  struct open_how how {};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV | resolve;
  return static_cast<int>(::syscall(SYS_openat2, directory, component.text, &how, sizeof how));
}

}  // namespace

StatusOr<Fd> open_component(int directory, std::string_view name) {
  Fd fd(open_below(directory, name, 0));
  if (!fd) return errno == EXDEV ? Status::acces : status_of(errno);
  return fd;
}

std::optional<StatusOr<Fd>> open_component_at_once(int directory, std::string_view name) {
  Fd fd(open_below(directory, name, RESOLVE_CACHED));
  if (fd) return StatusOr<Fd>(std::move(fd));
  return errno == ENOENT ? std::optional(StatusOr<Fd>(Status::noent)) : std::nullopt;
}

ProcPath::ProcPath(int fd) noexcept {
  static const Fd descriptors(::open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC));
  folder = descriptors ? descriptors.get() : AT_FDCWD;
  std::snprintf(text, sizeof text, descriptors ? "%d" : "/proc/self/fd/%d", fd);
}

StatusOr<Fd> reopen(int fd, int flags) {
  const ProcPath path(fd);
  Fd opened(::openat(path.folder, path.text, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!opened) return status_of(errno);
  return opened;
}

}  // namespace rpcrdma::nfsd
