// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <sys/sysmacros.h>

#include <array>
#include <cerrno>
#include <string>

#include "posix_file_system.hpp"
#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/nfsd/fs/changes.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::uint32_t kDefaultFileMode = 0644;
constexpr std::uint32_t kExclusiveMode = 0600;  // used until the client's SETATTR sets a mode
constexpr std::uint32_t kDefaultDirectoryMode = 0755;

/// Refuses to make `name`, for a caller that has no permission to make an object of this type. Returns -1, and sets
/// errno to EEXIST if the name exists, to EPERM if it does not, or to the error of the look-up.
int refused(int directory, const char* name) noexcept {
  struct stat s {};
  if (::fstatat(directory, name, &s, AT_SYMLINK_NOFOLLOW) == 0)
    errno = EEXIST;
  else if (errno == ENOENT)
    errno = EPERM;
  return -1;
}

/// Returns true if the file is empty and its times hold `verifier`, the verifier of a CREATE request in the mode
/// EXCLUSIVE. The seconds of the atime must be the first half of the verifier, and the seconds of the mtime the second
/// half. The file system may have stored each half as a signed or as an unsigned number.
bool holds(int fd, const Verifier& verifier) noexcept {
  struct stat s {};
  if (::fstatat(fd, "", &s, AT_EMPTY_PATH) != 0 || s.st_size != 0) return false;
  Reader reader(verifier);
  const auto is_next = [&reader](const timespec& time) {
    const std::uint32_t half = reader.u32();
    return time.tv_nsec == 0 && (time.tv_sec == half || time.tv_sec == static_cast<std::int32_t>(half));
  };
  return is_next(s.st_atim) && is_next(s.st_mtim);
}

/// Stores the verifier in the times. A file system clamps times to its range, which may be that of signed or of
/// unsigned 32-bit numbers (NFS, CephFS). Therefore the function first stores each half of the verifier as a signed
/// number. If the file then does not hold the verifier, the function stores each half as an unsigned number.
int keep(int fd, const Verifier& verifier) noexcept {
  for (const bool is_signed : {true, false}) {
    Reader reader(verifier);
    const auto next = [&reader, is_signed] {
      const std::uint32_t half = reader.u32();
      return timespec{is_signed ? time_t{static_cast<std::int32_t>(half)} : time_t{half}, 0};
    };
    const std::array<timespec, 2> times{next(), next()};
    if (::futimens(fd, times.data()) != 0) return -1;
    if (holds(fd, verifier)) return 0;
  }
  return 0;
}

/// Removes an object that was made as `name` by a request that fails afterwards.
void undo(int directory, std::string_view name) {
  const std::string text(name);
  act_as_server();
  if (::unlinkat(directory, text.c_str(), 0) != 0 && errno == EISDIR) ::unlinkat(directory, text.c_str(), AT_REMOVEDIR);
}

bool has_no_unnamed_files(int error) noexcept { return error == EOPNOTSUPP || error == EISDIR || error == EINVAL; }

}  // namespace

/// Sets the attributes `rest` of the new object; returns its key and attributes.
StatusOr<PosixFileSystem::Found> PosixFileSystem::complete_new(const Caller& caller, const Node& directory,
                                                               std::string_view name, int fd, NodeStat stat,
                                                               const SetAttributes& rest) const {
  if (changes_anything(rest)) {
    if (const Status s = apply(caller, fd, stat, rest); s != Status::ok) return s;
    const auto now = stat_fd(fd);
    if (!now) return now.error();
    stat = *now;
  }
  touch_inode(fd, stat);
  return found(directory, name, fd, stat);
}

/// Completes the new object in `unsettled` with complete_new(). A system call has already made the object as `name` in
/// `directory`, with its owner and mode. Removes the object again on failure.
StatusOr<PosixFileSystem::Found> PosixFileSystem::finish_new(const Caller& caller, const Node& directory,
                                                             std::string_view name, const SetAttributes& attributes,
                                                             bool exclusive, Unsettled& unsettled) const {
  const auto stat = stat_fd(unsettled.fd.get());
  if (!stat) {
    undo(directory.fd.get(), name);
    return stat.error();
  }
  SetAttributes rest = attributes;
  rest.mode.reset();
  // Only root may choose owner and group; they are ignored in requests of other callers.
  if (!is_root(caller)) rest.uid = rest.gid = std::nullopt;
  auto made = complete_new(caller, directory, name, unsettled.fd.get(), *stat, rest);
  if (!made) undo(directory.fd.get(), name);
  unsettled.type = stat->attributes.type;
  unsettled.stat = *stat;
  // An fsync of the directory may leave out what was set after the name was made: the verifier of an exclusive CREATE,
  // and `rest`. If the journal is not known to commit in order, the fsync may leave out the whole object.
  unsettled.with_directory = !exclusive && !changes_anything(rest) && commits_in_order_;
  return made;
}

template <class Make>
NodeResult PosixFileSystem::make_entry(const Caller& caller, const NodeKey& key, std::string_view name,
                                       const SetAttributes& attributes, Make make) {
  act_as_server();
  NodeResult result;
  SetAttributes wanted = attributes;
  wanted.size.reset();
  result.status = in_directory(caller, key, result.directory, [&](const Node& directory, Unsettled& unsettled) {
    if (const Status s = check_new_name(name); s != Status::ok) return s;
    if (const Status bad = check_times(attributes); bad != Status::ok) {
      const Status taken = check_free(caller, directory, name);
      return taken != Status::ok ? taken : bad;
    }
    const int error = as_caller(caller, [&] { return make(directory.fd.get(), std::string(name).c_str()); });
    if (error != 0) return status_of(error);
    auto fd = open_component(directory.fd.get(), name);
    if (!fd) {
      undo(directory.fd.get(), name);
      return fd.error();
    }
    unsettled.fd = std::move(*fd);
    return fill(result, finish_new(caller, directory, name, wanted, false, unsettled));
  });
  return result;
}

NodeResult PosixFileSystem::make_directory(const Caller& caller, const NodeKey& directory, std::string_view name,
                                           const SetAttributes& attributes) {
  const mode_t mode = attributes.mode.value_or(kDefaultDirectoryMode) & 07777u;
  return make_entry(caller, directory, name, attributes,
                    [mode](int at, const char* text) { return ::mkdirat(at, text, mode); });
}

NodeResult PosixFileSystem::make_symlink(const Caller& caller, const NodeKey& directory, std::string_view name,
                                         std::string_view target, const SetAttributes& attributes) {
  const Status bad = check_target(target);
  return make_entry(caller, directory, name, attributes, [&](int at, const char* text) {
    if (bad == Status::ok) return ::symlinkat(std::string(target).c_str(), at, text);
    errno = bad == Status::nametoolong ? ENAMETOOLONG : EINVAL;
    return -1;
  });
}

NodeResult PosixFileSystem::make_node(const Caller& caller, const NodeKey& directory, std::string_view name,
                                      FileType type, Device device, const SetAttributes& attributes) {
  mode_t kind = 0;
  switch (type) {
    case FileType::character: kind = S_IFCHR; break;
    case FileType::block: kind = S_IFBLK; break;
    case FileType::socket: kind = S_IFSOCK; break;
    case FileType::fifo: kind = S_IFIFO; break;
    default: break;
  }
  kind |= attributes.mode.value_or(kDefaultFileMode) & 07777u;
  return make_entry(caller, directory, name, attributes, [&](int at, const char* text) {
    // A device node gives access to this machine's devices, so only root may make it.
    if ((S_ISCHR(kind) || S_ISBLK(kind)) && caller.uid != 0) return refused(at, text);
    return ::mknodat(at, text, kind, makedev(device.major, device.minor));
  });
}

/// Answers an UNCHECKED or EXCLUSIVE CREATE of a name that exists. Both fail if the object is not a regular file.
/// Of the attributes in an UNCHECKED request, applies only the size. EXCLUSIVE succeeds if the file holds the verifier
/// of the request, because the request then repeats the one that created the file.
StatusOr<PosixFileSystem::Found> PosixFileSystem::open_existing(const Caller& caller, const Node& directory,
                                                                std::string_view name, const CreateHow& how,
                                                                Unsettled& unsettled) {
  auto fd = open_as_caller(caller, directory, name);
  if (!fd) return fd.error();
  const auto stat = stat_fd(fd->get());
  if (!stat) return stat.error();
  if (stat->attributes.type != FileType::regular) return Status::exist;
  if (how.mode == CreateMode::exclusive && !holds(fd->get(), how.verifier)) return Status::exist;
  auto file = found(directory, name, fd->get());
  if (!file) return file;
  if (how.mode != CreateMode::exclusive) {
    if (!how.attributes.size) return file;
    if (const Status s = truncate(caller, file->node, *how.attributes.size); s != Status::ok) return s;
    file = found(directory, name, fd->get());
  }
  unsettled = {std::move(*fd), stat->attributes.type};
  return file;
}

Status PosixFileSystem::check_free(const Caller& caller, const Node& directory, std::string_view name) const {
  const std::string text(name);
  struct stat s {};
  const int error =
      as_caller(caller, [&] { return ::fstatat(directory.fd.get(), text.c_str(), &s, AT_SYMLINK_NOFOLLOW); });
  if (error == 0) return Status::exist;
  return error == ENOENT ? Status::ok : status_of(error);
}

Status PosixFileSystem::check_new_file(const Caller& caller, const Node& directory, std::string_view name,
                                       const CreateHow& how) const {
  // Looks the name up before create_exclusive() makes an unnamed file. create_exclusive() fails if the caller lacks the
  // right to make a file in the directory. If the name exists, the result must be Status::exist even for such a caller:
  // the request may be a repetition, which then succeeds with the existing file.
  if (how.mode == CreateMode::exclusive) return check_free(caller, directory, name);
  Status bad = check_times(how.attributes);
  if (bad == Status::ok && how.attributes.size.value_or(0) > limits_.max_file_size) bad = Status::fbig;
  if (bad == Status::ok) return bad;
  const Status taken = check_free(caller, directory, name);
  return taken != Status::ok ? taken : bad;
}

StatusOr<PosixFileSystem::Found> PosixFileSystem::create_file(const Caller& caller, const Node& directory,
                                                              std::string_view name, const SetAttributes& attributes,
                                                              Unsettled& unsettled) {
  const mode_t mode = attributes.mode.value_or(kDefaultFileMode) & 07777u;
  const std::uint64_t size = attributes.size.value_or(0);
  const std::string text(name);
  Fd fd;
  int error = become_caller(caller, [&] {
    fd = Fd(::openat(directory.fd.get(), text.c_str(), O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, mode));
    return fd.get();
  });
  prepare_to_remember();
  if (error != 0) return status_of(error);
  if (size != 0) error = as_caller(caller, [&] { return ::ftruncate(fd.get(), static_cast<off_t>(size)); });
  if (error != 0) {
    undo(directory.fd.get(), name);
    return status_of(error);
  }
  SetAttributes rest = attributes;
  if (size == 0) rest.size.reset();
  unsettled = {std::move(fd), FileType::regular, true};
  return finish_new(caller, directory, name, rest, false, unsettled);
}

/// Creates the file `name`, and stores the verifier of an EXCLUSIVE request in it. If the file system has unnamed files
/// (O_TMPFILE), an unnamed file gets the verifier first and then the name. Otherwise the file gets its name first. If
/// the server then crashes before the file has the verifier, it does not recognize a repetition of the request. On
/// success, `unsettled` holds the file: the verifier must be on stable storage before the reply (RFC 1813 section
/// 3.3.8).
StatusOr<PosixFileSystem::Found> PosixFileSystem::create_exclusive(const Caller& caller, const Node& directory,
                                                                   std::string_view name, const Verifier& verifier,
                                                                   Unsettled& unsettled) const {
  const std::string text(name);
  const auto open_new = [&](const char* path, int flags) {
    return as_caller(caller, [&] {
      unsettled = {Fd(::openat(directory.fd.get(), path, flags | O_RDWR | O_CLOEXEC, kExclusiveMode)),
                   FileType::regular, true};
      return unsettled.fd.get();
    });
  };
  const auto set_times = [&] { return keep(unsettled.fd.get(), verifier); };
  int error = open_new(".", O_TMPFILE);
  if (error == 0) {
    error = as_caller(caller, [&] {
      if (set_times() != 0) return -1;
      const ProcPath path(unsettled.fd.get());
      return ::linkat(path.folder, path.text, directory.fd.get(), text.c_str(), AT_SYMLINK_FOLLOW);
    });
    if (error != 0) return status_of(error);
    auto made = found(directory, name, unsettled.fd.get());
    if (made)
      unsettled.stat = made->stat;
    else
      undo(directory.fd.get(), name);
    return made;
  }
  if (!has_no_unnamed_files(error)) return status_of(error);
  error = open_new(text.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW);
  if (error != 0) return status_of(error);
  error = as_caller(caller, set_times);
  if (error != 0) {
    undo(directory.fd.get(), name);
    return status_of(error);
  }
  return finish_new(caller, directory, name, {}, true, unsettled);
}

StatusOr<PosixFileSystem::Found> PosixFileSystem::create_new(const Caller& caller, const Node& directory,
                                                             std::string_view name, const CreateHow& how,
                                                             Unsettled& unsettled) {
  if (const Status s = check_new_file(caller, directory, name, how); s != Status::ok) return s;
  if (how.mode == CreateMode::exclusive) return create_exclusive(caller, directory, name, how.verifier, unsettled);
  return create_file(caller, directory, name, how.attributes, unsettled);
}

StatusOr<PosixFileSystem::Found> PosixFileSystem::create_in(const Caller& caller, const Node& directory,
                                                            std::string_view name, const CreateHow& how,
                                                            Unsettled& unsettled) {
  if (const Status s = check_new_name(name); s != Status::ok) return s;
  auto made = create_new(caller, directory, name, how, unsettled);
  if (made || made.error() != Status::exist || how.mode == CreateMode::guarded) return made;
  unsettled = {};
  // An EXCLUSIVE request may be the repetition of a request during which the server crashed. The file then exists, but
  // its name and verifier may not be on the disk yet. open_existing() stores the file in `unsettled`, so that
  // in_directory() writes the name and the verifier to the disk, unless the export is asynchronous.
  return open_existing(caller, directory, name, how, unsettled);
}

NodeResult PosixFileSystem::create(const Caller& caller, const NodeKey& key, std::string_view name,
                                   const CreateHow& how) {
  NodeResult result;
  Unsettled unsettled;
  result.status = in_directory(caller, key, result.directory, unsettled, [&](const Node& directory) {
    return fill(result, create_in(caller, directory, name, how, unsettled));
  });
  if (result.status == Status::ok && unsettled.for_data) keep_open(caller, result, unsettled);
  return result;
}

}  // namespace rpcrdma::nfsd
