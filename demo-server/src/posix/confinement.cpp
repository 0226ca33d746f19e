// SPDX-License-Identifier: BSD-3-Clause
#include "posix/confinement.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <climits>
#include <fstream>
#include <sstream>

#include "posix/system.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr ino_t kSubvolumeRoot = 256;  // of btrfs

/// False if the kernel does not show it, for want of room.
bool path_of(int fd, std::string& out) {
  char path[PATH_MAX];
  const ssize_t length = ::readlink(ProcPath(fd).text, path, sizeof path);
  if (length <= 0 || length >= static_cast<ssize_t>(sizeof path)) return false;
  out.assign(path, static_cast<std::size_t>(length));
  return true;
}

bool same_inode(const struct stat& a, const struct stat& b) noexcept {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

}  // namespace

Where where_is(int fd, int root) {
  std::string path;
  std::string top;
  if (!path_of(fd, path) || !path_of(root, top) || path == "/") return Where::unknown;
  if (top != "/") top += '/';
  return path.starts_with(top) ? Where::inside : Where::outside;
}

bool is_inside(int directory, int root) {
  struct stat here {};
  struct stat top {};
  if (::fstat(directory, &here) != 0 || ::fstat(root, &top) != 0) return false;
  return same_inode(here, top) || where_is(directory, root) == Where::inside;
}

bool shows_a_part(int root, int mount_id) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    int id = 0;
    std::string skipped;
    std::string shown;
    std::string point;
    if (!(words >> id >> skipped >> skipped >> shown >> point)) break;
    if (id != mount_id) continue;
    struct statfs system {};
    struct stat first {};
    struct stat here {};
    // Nothing is moved from one subvolume to another.
    const bool subvolume = ::fstatfs(root, &system) == 0 && system.f_type == BTRFS_SUPER_MAGIC &&
                           ::stat(point.c_str(), &first) == 0 && ::fstat(root, &here) == 0 &&
                           first.st_dev == here.st_dev && first.st_ino == kSubvolumeRoot;
    return shown != "/" && !subvolume;
  }
  return true;
}

}  // namespace rpcrdma::nfsd
