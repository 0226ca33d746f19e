// SPDX-License-Identifier: BSD-3-Clause
#include "system.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdio>
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
      return Status::acces;  // a mount point, or the root of a file system
    // The server is short of a resource at present: the client retries.
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

}  // namespace

StatusOr<NodeStat> stat_fd(int fd) noexcept {
  struct statx s {};
  if (::statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &s) != 0)
    return status_of(errno);
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

StatusOr<Fd> open_component(int directory, std::string_view name) {
  char text[256];
  if (name.size() >= sizeof text) return Status::nametoolong;
  std::memcpy(text, name.data(), name.size());
  text[name.size()] = '\0';
  struct open_how how {};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  const long fd = ::syscall(SYS_openat2, directory, text, &how, sizeof how);
  if (fd < 0) return errno == EXDEV ? Status::acces : status_of(errno);
  return Fd(static_cast<int>(fd));
}

ProcPath::ProcPath(int fd) noexcept { std::snprintf(text, sizeof text, "/proc/self/fd/%d", fd); }

StatusOr<Fd> reopen(int fd, int flags) {
  Fd opened(::open(ProcPath(fd).text, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!opened) return status_of(errno);
  return opened;
}

}  // namespace rpcrdma::nfsd
