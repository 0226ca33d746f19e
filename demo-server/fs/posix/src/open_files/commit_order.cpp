// SPDX-License-Identifier: BSD-3-Clause
// Operation: an fsync writes the journal up to the last change of its file. commit_changes() makes and synchronizes an
// unnamed file, so all earlier changes precede it in the journal. This takes one write of the journal, whereas
// syncfs(2) also waits for the data of all files.
#include "commit_order.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>

namespace rpcrdma::nfsd {
namespace {

/// The kernel's name of the block device of the file system; empty if it has none.
std::string disk_of(int directory) {
  struct stat s {};
  if (::fstat(directory, &s) != 0) return {};
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/sys/dev/block/%u:%u", major(s.st_dev), minor(s.st_dev));
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink(path.data(), target.data(), target.size());
  if (length <= 0) return {};
  const std::string_view text(target.data(), static_cast<std::size_t>(length));
  return std::string(text.substr(text.rfind('/') + 1));
}

/// Whether the file system has a journal. Its magic number, EXT4_SUPER_MAGIC, does not show this: ext2 and ext3 have
/// the same magic number as ext4, and a journal is optional in ext4.
bool ext4_has_journal(int directory) {
  const std::string disk = disk_of(directory);
  if (disk.empty()) return false;
  const Fd file(::open(("/sys/fs/ext4/" + disk + "/journal_task").c_str(), O_RDONLY | O_CLOEXEC));
  char first = 0;
  // The file holds the number of the journal's thread, or "<none>".
  return file && ::read(file.get(), &first, 1) == 1 && first >= '0' && first <= '9';
}

bool kernel_is_before(int major, int minor) {
  struct utsname system {};
  int here[2] = {};
  if (::uname(&system) != 0 || std::sscanf(system.release, "%d.%d", &here[0], &here[1]) != 2) return true;
  return here[0] < major || (here[0] == major && here[1] < minor);
}

}  // namespace

bool commits_in_order(int directory) noexcept {
  struct statfs s {};
  if (::fstatfs(directory, &s) != 0) return false;
  if (s.f_type == XFS_SUPER_MAGIC) return true;
  return s.f_type == EXT4_SUPER_MAGIC && ext4_has_journal(directory);
}

bool forgets_inodes(int directory) noexcept {
  struct statfs s {};
  return ::fstatfs(directory, &s) == 0 && s.f_type == EXT4_SUPER_MAGIC && !ext4_has_journal(directory) &&
         kernel_is_before(6, 18);
}

Status commit_changes(int directory) noexcept {
  const Fd file(::openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (!file) return Status::notsupp;
  return ::fsync(file.get()) == 0 ? Status::ok : status_of(errno);
}

}  // namespace rpcrdma::nfsd
