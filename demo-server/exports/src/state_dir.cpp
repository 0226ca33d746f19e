// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/exports/state_dir.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::nfsd {
namespace {

error_code last_error() { return {errno, boost::system::system_category()}; }
error_code error_of(int error) { return {error, boost::system::system_category()}; }

/// True if only this user and root can change the owner and the mode of the object.
bool is_ours(const struct stat& s) noexcept { return s.st_uid == ::geteuid() || s.st_uid == 0; }

Result<HandleSecret> read_secret(const std::filesystem::path& file) {
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat s {};
  if (!fd || ::fstat(fd.get(), &s) != 0) return last_error();
  if ((s.st_mode & 077) != 0 || !is_ours(s)) return error_of(EPERM);
  HandleSecret secret;
  if (s.st_size != static_cast<off_t>(secret.size()) ||
      ::read(fd.get(), secret.data(), secret.size()) != static_cast<ssize_t>(secret.size()))
    return error_of(EINVAL);
  return secret;
}

/// Synchronizes `directory`, which holds the file of a new secret, with the disk. Otherwise a crash of the machine
/// could lose the name of this file, and all handles made with the secret would become invalid. Returns 0 or an errno.
int sync_directory(const std::filesystem::path& directory) {
  const Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A process may have the right to make files in the directory, but no right to read it. The directory then cannot be
  // opened for fsync(), which is no failure.
  if (!fd) return errno == EACCES ? 0 : errno;
  // Some file systems do not support fsync() of a directory, because they order changes of names themselves. The errors
  // below report this, and are no failure.
  return ::fsync(fd.get()) == 0 || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ? 0 : errno;
}

/// Writes the secret to a temporary file and links that to `file`, so that a crash leaves the whole secret or none.
error_code write_secret(const std::filesystem::path& file) {
  HandleSecret secret;
  if (::getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size())) return last_error();
  std::string fresh = file.string() + ".XXXXXX";
  int failed = 0;
  {
    const Fd fd(::mkostemp(fresh.data(), O_CLOEXEC));
    if (!fd) return last_error();
    const ssize_t written = ::write(fd.get(), secret.data(), secret.size());
    if (written < 0 || (written == static_cast<ssize_t>(secret.size()) && ::fsync(fd.get()) != 0))
      failed = errno;
    else if (written != static_cast<ssize_t>(secret.size()))
      failed = ENOSPC;
  }
  // link(2) does not replace the secret of a server that starts at the same time.
  if (failed == 0 && ::link(fresh.c_str(), file.c_str()) != 0 && errno != EEXIST) failed = errno;
  ::unlink(fresh.c_str());
  if (failed == 0) failed = sync_directory(file.parent_path());
  return failed == 0 ? error_code() : error_of(failed);
}

/// Makes the missing directories of `path`. The mode 0755 keeps other users from changing them, even if the umask is 0.
/// The function ignores errors, because the caller then fails to make the directory below `path`.
void make_parents(const std::filesystem::path& path) {
  std::filesystem::path made;
  for (const auto& component : path) {
    made /= component;
    ::mkdir(made.c_str(), 0755);
  }
}

std::filesystem::path home() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') return home;
  const passwd* user = ::getpwuid(::geteuid());
  return user != nullptr && user->pw_dir != nullptr ? user->pw_dir : "/";
}

}  // namespace

std::filesystem::path default_state_dir() {
  if (::geteuid() == 0) return "/var/lib/rpcrdma-nfsd";
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/')
    return std::filesystem::path(state) / "rpcrdma-nfsd";
  return home() / ".local/state/rpcrdma-nfsd";
}

error_code make_state_dir(const std::filesystem::path& directory) {
  std::error_code failed;
  make_parents(std::filesystem::absolute(directory, failed).lexically_normal().parent_path());
  if (::mkdir(directory.c_str(), 0700) == 0) return {};
  if (errno != EEXIST) return last_error();
  struct stat s {};
  if (::stat(directory.c_str(), &s) != 0) return last_error();
  if (!S_ISDIR(s.st_mode)) return error_of(ENOTDIR);
  // A user that can replace the key can forge handles.
  if (!is_ours(s) || (s.st_mode & 022) != 0) return error_of(EPERM);
  return ::access(directory.c_str(), W_OK | X_OK) == 0 ? error_code() : last_error();
}

Result<HandleSecret> load_handle_secret(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / "handle.key";
  auto secret = read_secret(file);
  if (secret || secret.error() != boost::system::errc::no_such_file_or_directory) return secret;
  if (const error_code failed = write_secret(file)) return failed;
  return read_secret(file);
}

}  // namespace rpcrdma::nfsd
