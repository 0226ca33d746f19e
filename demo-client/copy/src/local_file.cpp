// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "local_error.hpp"
#include "open_marked.hpp"
#include "resume.hpp"
#include "rpcrdma/nfs/local.hpp"

namespace rpcrdma::nfs {
namespace {

FileType type_of(mode_t mode) noexcept {
  switch (mode & S_IFMT) {
    case S_IFDIR: return FileType::directory;
    case S_IFLNK: return FileType::symlink;
    case S_IFBLK: return FileType::block;
    case S_IFCHR: return FileType::character;
    case S_IFSOCK: return FileType::socket;
    case S_IFIFO: return FileType::fifo;
    default: return FileType::regular;
  }
}

Time time_of(const timespec& time) noexcept {
  return {static_cast<std::uint32_t>(time.tv_sec), static_cast<std::uint32_t>(time.tv_nsec)};
}

timespec to_timespec(const SetTime& time) noexcept {
  if (time.how == SetTime::How::keep) return {0, UTIME_OMIT};
  if (time.how == SetTime::How::server) return {0, UTIME_NOW};
  return {static_cast<std::time_t>(time.value.seconds), static_cast<long>(time.value.nanoseconds % 1000000000u)};
}

Result<Fd> opened(int fd) {
  if (fd < 0) return last_system_error();
  return Fd(fd);
}

}  // namespace

Attributes attributes_of(const struct stat& status) noexcept {
  Attributes out;
  out.type = type_of(status.st_mode);
  out.mode = status.st_mode & 07777u;
  out.links = static_cast<std::uint32_t>(status.st_nlink);
  out.uid = status.st_uid;
  out.gid = status.st_gid;
  out.size = static_cast<std::uint64_t>(status.st_size);
  out.used = static_cast<std::uint64_t>(status.st_blocks) * 512;
  out.device.major = major(status.st_rdev);
  out.device.minor = minor(status.st_rdev);
  out.fsid = status.st_dev;
  out.fileid = status.st_ino;
  out.atime = time_of(status.st_atim);
  out.mtime = time_of(status.st_mtim);
  out.ctime = time_of(status.st_ctim);
  return out;
}

Result<Fd> open_to_read(const std::string& path) { return opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); }

int open_marked(int directory, const char* name, int flags) noexcept {
  const int refused = errno;
  const Fd file(::openat(directory, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | (flags & O_NOFOLLOW)));
  struct stat s {};
  const bool ours = file && ::fstat(file.get(), &s) == 0 && S_ISREG(s.st_mode) && is_marked(s.st_mode);
  if (!ours || ::fchmod(file.get(), (s.st_mode & 07777) | S_IWUSR) != 0) {
    errno = refused;
    return -1;
  }
  const int fd = ::openat(directory, name, flags & ~O_CREAT);
  const int failed = errno;
  ::fchmod(file.get(), s.st_mode & 07777);
  errno = failed;
  return fd;
}

Result<Fd> open_to_write(const std::string& path, std::uint32_t mode, bool cut) {
  const int flags = O_WRONLY | O_CREAT | (cut ? O_TRUNC : 0) | O_CLOEXEC;
  const int fd = ::open(path.c_str(), flags, mode);
  return opened(fd < 0 && errno == EACCES ? open_marked(AT_FDCWD, path.c_str(), flags) : fd);
}

Result<Attributes> local_attributes(const std::string& path, bool follow) {
  struct stat status {};
  if ((follow ? ::stat(path.c_str(), &status) : ::lstat(path.c_str(), &status)) != 0) return last_system_error();
  return attributes_of(status);
}

Result<Attributes> local_attributes(const Fd& file) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return last_system_error();
  return attributes_of(status);
}

Result<std::size_t> read_at(const Fd& file, std::uint64_t offset, std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t count =
        ::pread(file.get(), into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return last_system_error();
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

Result<void> write_at(const Fd& file, std::uint64_t offset, std::span<const std::byte> from) {
  while (!from.empty()) {
    const ssize_t count = ::pwrite(file.get(), from.data(), from.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return last_system_error();
    from = from.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

Result<void> write_out(int fd, std::span<const std::byte> from) {
  while (!from.empty()) {
    const ssize_t count = ::write(fd, from.data(), from.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return last_system_error();
    from = from.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> check_written(int fd) {
  // On a network file system, close(2) of any descriptor of a file flushes the file and returns the write errors.
  // Closes a duplicate, because the caller still uses `fd`.
  const int other = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (other < 0) return last_system_error();
  if (::close(other) != 0 && errno != EINTR) return last_system_error();
  // sync_file_range() reports earlier write errors of any part of the file, so a range of one byte is sufficient.
  if (::sync_file_range(fd, 0, 1, SYNC_FILE_RANGE_WAIT_BEFORE) == 0) return {};
  const bool is_no_file = errno == ESPIPE || errno == EINVAL || errno == ENOSYS;
  return is_no_file ? Result<void>() : last_system_error();
}

Result<void> set_attributes(const Fd& file, const SetAttributes& attributes) {
  if (attributes.atime || attributes.mtime) {
    const timespec times[2] = {to_timespec(attributes.atime), to_timespec(attributes.mtime)};
    if (::futimens(file.get(), times) != 0) return last_system_error();
  }
  if (attributes.mode && ::fchmod(file.get(), *attributes.mode) != 0) return last_system_error();
  return {};
}

void take_back(int directory, const std::string& name, const Fd& made) noexcept {
  struct stat there {};
  struct stat ours {};
  const bool same = ::fstatat(directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                    ::fstat(made.get(), &ours) == 0 && there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
  if (same && S_ISREG(ours.st_mode) && ours.st_size == 0) ::unlinkat(directory, name.c_str(), 0);
}

}  // namespace rpcrdma::nfs
