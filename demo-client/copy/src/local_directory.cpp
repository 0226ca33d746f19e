// SPDX-License-Identifier: BSD-3-Clause
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>

#include "local_error.hpp"
#include "open_marked.hpp"
#include "rpcrdma/nfs/local.hpp"

namespace rpcrdma::nfs {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

error_code system_error(int number) noexcept { return {number, boost::system::system_category()}; }

/// Rejects a name that is not plain (is_plain_name()), before it reaches a system call.
error_code check(const std::string& name) noexcept { return is_plain_name(name) ? error_code() : system_error(EINVAL); }

/// Takes ownership of `fd`, or returns the error in errno; accepts only a regular file.
Result<Fd> regular(int fd) {
  if (fd < 0) return last_system_error();
  Fd file(fd);
  struct stat status {};
  if (::fstat(fd, &status) != 0) return last_system_error();
  if (!S_ISREG(status.st_mode)) return system_error(S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
  return file;
}

}  // namespace

Result<LocalDirectory> LocalDirectory::open(const std::string& path) {
  const int fd = ::open(path.c_str(), kDirectory);
  if (fd < 0) return last_system_error();
  return LocalDirectory(Fd(fd));
}

Result<LocalDirectory> LocalDirectory::open_child(const std::string& name) const {
  if (const error_code wrong = check(name)) return wrong;
  const int fd = ::openat(fd_.get(), name.c_str(), kDirectory | O_NOFOLLOW);
  if (fd < 0) return last_system_error();
  return LocalDirectory(Fd(fd));
}

Result<LocalDirectory> LocalDirectory::make_child(const std::string& name, std::uint32_t mode) const {
  if (const error_code wrong = check(name)) return wrong;
  if (::mkdirat(fd_.get(), name.c_str(), mode) != 0 && errno != EEXIST) return last_system_error();
  return open_child(name);
}

Result<std::vector<LocalEntry>> LocalDirectory::list() const {
  // Opens the directory again: reading must not move the position of fd_.
  Fd fd(::openat(fd_.get(), ".", kDirectory));
  if (!fd) return last_system_error();
  const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(fd.get()));
  if (!directory) return last_system_error();
  const int number = fd.release();  // closed by the stream
  std::vector<LocalEntry> entries;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    const std::string name = static_cast<const char*>(entry->d_name);
    if (name == "." || name == "..") continue;
    struct stat status {};
    if (::fstatat(number, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;  // removed since readdir() returned it
      return last_system_error();
    }
    entries.push_back({name, attributes_of(status)});
  }
  if (errno != 0) return last_system_error();
  std::ranges::sort(entries, {}, &LocalEntry::name);
  return entries;
}

Result<Fd> LocalDirectory::open_file(const std::string& name) const {
  if (const error_code wrong = check(name)) return wrong;
  return regular(::openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

Result<Fd> LocalDirectory::create_file(const std::string& name, std::uint32_t mode, bool cut) const {
  if (const error_code wrong = check(name)) return wrong;
  // O_NONBLOCK: opening a FIFO of that name must not block.
  const int flags = O_WRONLY | O_CREAT | (cut ? O_TRUNC : 0) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const int fd = ::openat(fd_.get(), name.c_str(), flags, mode);
  if (fd < 0 && errno == EACCES) return regular(open_marked(fd_.get(), name.c_str(), flags));
  if (fd >= 0 || errno != ELOOP) return regular(fd);
  if (::unlinkat(fd_.get(), name.c_str(), 0) != 0) return last_system_error();
  return regular(::openat(fd_.get(), name.c_str(), flags | O_EXCL, mode));
}

bool LocalDirectory::has(const std::string& name) const noexcept {
  struct stat status {};
  return ::fstatat(fd_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

Result<std::string> LocalDirectory::read_link(const std::string& name) const {
  if (const error_code wrong = check(name)) return wrong;
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlinkat(fd_.get(), name.c_str(), target.data(), target.size());
  if (length < 0) return last_system_error();
  return std::string(target.data(), static_cast<std::size_t>(length));
}

Result<void> LocalDirectory::make_link(const std::string& name, const std::string& target) const {
  if (const error_code wrong = check(name)) return wrong;
  if (::symlinkat(target.c_str(), fd_.get(), name.c_str()) == 0) return {};
  if (errno != EEXIST) return last_system_error();
  if (::unlinkat(fd_.get(), name.c_str(), 0) != 0) return last_system_error();
  if (::symlinkat(target.c_str(), fd_.get(), name.c_str()) != 0) return last_system_error();
  return {};
}

}  // namespace rpcrdma::nfs
