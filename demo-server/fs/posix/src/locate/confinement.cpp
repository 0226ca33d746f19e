// SPDX-License-Identifier: BSD-3-Clause
#include "confinement.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <climits>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "rpcrdma/base/fd.hpp"
#include "system.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr ino_t kSubvolumeRoot = 256;    // the inode number of the root directory of a btrfs subvolume
constexpr std::size_t kMaxClimb = 4096;  // the maximum number of directories that climb() visits below `top`

/// Sets `out` to the path that the kernel reports for `fd` in /proc. Returns false if the kernel reports no path, or if
/// the path is too long.
bool path_of(int fd, std::string& out) {
  char path[PATH_MAX];
  const ProcPath link(fd);
  const ssize_t length = ::readlinkat(link.folder, link.text, path, sizeof path);
  if (length <= 0 || length >= static_cast<ssize_t>(sizeof path)) return false;
  out.assign(path, static_cast<std::size_t>(length));
  return true;
}

using Inode = std::pair<dev_t, ino_t>;

/// Goes from `directory` through its ancestors up to `top`. Appends the inode of each directory on the way to `out`,
/// except that of `top`. Returns false if `top` is not reached.
bool climb(int directory, const Inode& top, std::vector<Inode>& out) {
  Fd fd;
  for (int at = directory; out.size() < kMaxClimb; at = fd.get()) {
    struct stat s {};
    if (::fstat(at, &s) != 0) return false;
    const Inode here(s.st_dev, s.st_ino);
    if (here == top) return true;
    // The root directory is its own parent, so the climb has ended without reaching `top`.
    if (!out.empty() && here == out.back()) return false;
    out.push_back(here);
    // The kernel refuses this if the directory is outside the part of its file system that is mounted.
    Fd above(::openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!above) return false;
    fd = std::move(above);
  }
  return false;
}

/// True if two climbs from `directory` reach `root` over the same directories. One climb is not enough: if directories
/// are renamed meanwhile, it can find the lower part of one path and the upper part of another. A path that both climbs
/// find existed as a whole at a time between them.
bool climbs_to(int directory, int root) {
  struct stat s {};
  if (::fstat(root, &s) != 0) return false;
  const Inode top(s.st_dev, s.st_ino);
  std::vector<Inode> first;
  std::vector<Inode> second;
  return climb(directory, top, first) && climb(directory, top, second) && first == second;
}

}  // namespace

Where where_is(int fd, int root, std::string* found) {
  std::string path;
  std::string top;
  if (!path_of(fd, path) || !path_of(root, top) || path == "/") return Where::unknown;
  const bool inside = path == top || top == "/" || (path.starts_with(top) && path[top.size()] == '/');
  if (inside && path.ends_with(kDeleted)) return Where::unknown;
  if (inside && found != nullptr) *found = std::move(path);
  return inside ? Where::inside : Where::outside;
}

bool is_inside(int directory, int root) {
  const Where where = where_is(directory, root);
  return where == Where::unknown ? climbs_to(directory, root) : where == Where::inside;
}

bool shows_a_part(int root, int mount_id) {
  std::ifstream mounts("/proc/thread-self/mountinfo");
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
    // A btrfs subvolume counts as a whole file system: objects cannot be moved between subvolumes.
    const bool subvolume = ::fstatfs(root, &system) == 0 && system.f_type == BTRFS_SUPER_MAGIC &&
                           ::stat(point.c_str(), &first) == 0 && ::fstat(root, &here) == 0 &&
                           first.st_dev == here.st_dev && first.st_ino == kSubvolumeRoot;
    return shown != "/" && !subvolume;
  }
  return true;
}

}  // namespace rpcrdma::nfsd
