// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <string>

#include "posix_file_system.hpp"
#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/nfsd/fs/changes.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::uint32_t kDefaultFileMode = 0644;
constexpr std::uint32_t kExclusiveMode = 0600;  // until the client has said what it is to be
constexpr std::uint32_t kDefaultDirectoryMode = 0755;

/// EPERM, unless the name's own state goes before.
int refused(int directory, const char* name) noexcept {
  struct stat s {};
  if (::fstatat(directory, name, &s, AT_SYMLINK_NOFOLLOW) == 0)
    errno = EEXIST;
  else if (errno == ENOENT)
    errno = EPERM;
  return -1;
}

}  // namespace

/// The two times that hold an EXCLUSIVE verifier, less the bits that a signed 32-bit time cannot keep.
struct PosixFileSystem::VerifierTimes {
  explicit VerifierTimes(const Verifier& verifier) noexcept {
    Reader reader(verifier);
    atime.seconds = reader.u32() & 0x7fffffffu;
    mtime.seconds = reader.u32() & 0x7fffffffu;
  }
  Time atime;
  Time mtime;
};

/// After the system call that made `name`, with its owner and mode: the rest of the attributes, and the key. Takes the
/// object away again if that fails.
NodeResult PosixFileSystem::finish_new(const Caller& caller, const Directory& directory, std::string_view name,
                                       const SetAttributes& attributes, Unsettled& unsettled) {
  NodeResult result;
  Fd fd;
  NodeStat stat;
  result.status = open_component(directory.fd.get(), name, fd);
  if (result.status == Status::ok) result.status = stat_fd(fd.get(), stat);
  SetAttributes rest = attributes;
  rest.mode.reset();
  // Only root gives files away; others ask for what they get anyway.
  if (!is_root(caller)) rest.uid = rest.gid = std::nullopt;
  if (result.status == Status::ok) result.status = apply(caller, fd.get(), stat, rest);
  if (result.status == Status::ok) touch_inode(fd.get(), stat);
  if (result.status == Status::ok) found(directory, name, fd.get(), result);
  if (result.status != Status::ok && fd)
    ::unlinkat(directory.fd.get(), std::string(name).c_str(), is_directory(stat) ? AT_REMOVEDIR : 0);
  const bool changed =
      rest.uid || rest.gid || rest.size || rest.atime.how != SetTime::How::keep || rest.mtime.how != SetTime::How::keep;
  // Where the journal is not known to keep the order, the directory may reach the disk without what it names.
  if (changed || !commits_in_order_) unsettled = {std::move(fd), stat.attributes.type};
  return result;
}

template <class Make>
NodeResult PosixFileSystem::make_entry(const Caller& caller, const NodeKey& key, std::string_view name,
                                       const SetAttributes& attributes, Make make) {
  NodeResult result;
  Directory directory;
  Unsettled unsettled;
  result.status = open_directory(key, directory);
  if (result.status != Status::ok) return result;
  {
    const std::lock_guard lock(lock_of(key));
    result.status = refresh(directory);
    if (result.status == Status::ok) result.status = check_new_name(name);
    if (result.status == Status::ok && check_times(attributes) != Status::ok) {
      result.status = check_free(caller, directory, name);
      if (result.status == Status::ok) result.status = Status::inval;
    }
    if (result.status == Status::ok)
      result.status = status_of(as_caller(caller, [&] { return make(directory.fd.get(), std::string(name).c_str()); }));
    if (result.status == Status::ok) result = finish_new(caller, directory, name, attributes, unsettled);
    result.directory = wcc_after(directory, result.status == Status::ok);
  }
  if (result.status == Status::ok) result.status = settle(caller, directory, unsettled);
  return result;
}

NodeResult PosixFileSystem::make_directory(const Caller& caller, const NodeKey& directory, std::string_view name,
                                           const SetAttributes& attributes) {
  SetAttributes wanted = attributes;
  wanted.size.reset();
  const mode_t mode = attributes.mode.value_or(kDefaultDirectoryMode) & 07777u;
  return make_entry(caller, directory, name, wanted,
                    [mode](int at, const char* text) { return ::mkdirat(at, text, mode); });
}

NodeResult PosixFileSystem::make_symlink(const Caller& caller, const NodeKey& directory, std::string_view name,
                                         std::string_view target, const SetAttributes& attributes) {
  const Status bad = check_target(target);
  SetAttributes wanted = attributes;
  wanted.size.reset();
  return make_entry(caller, directory, name, wanted, [&](int at, const char* text) {
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
  SetAttributes wanted = attributes;
  wanted.size.reset();
  kind |= attributes.mode.value_or(kDefaultFileMode) & 07777u;
  return make_entry(caller, directory, name, wanted, [&](int at, const char* text) {
    // A device node gives access to this machine: only for the superuser.
    if ((S_ISCHR(kind) || S_ISBLK(kind)) && caller.uid != 0) return refused(at, text);
    return ::mknodat(at, text, kind, makedev(device.major, device.minor));
  });
}

NodeResult PosixFileSystem::create(const Caller& caller, const NodeKey& key, std::string_view name,
                                   const CreateHow& how) {
  NodeResult result;
  Directory directory;
  Unsettled unsettled;
  result.status = open_directory(key, directory);
  if (result.status != Status::ok) return result;
  {
    const std::lock_guard lock(lock_of(key));
    result.status = refresh(directory);
    if (result.status == Status::ok) result.status = check_new_name(name);
    if (result.status == Status::ok) result.status = create_file(caller, directory, name, how, result, unsettled);
    if (result.status == Status::exist && how.mode != CreateMode::guarded && check_new_name(name) == Status::ok)
      result.status = open_existing(caller, directory, name, how, result, unsettled);
    result.directory = wcc_after(directory, result.status == Status::ok);
  }
  // An EXCLUSIVE request that comes once more may find what the first did not bring to the disk before a crash.
  if (result.status == Status::ok) result.status = settle(caller, directory, unsettled);
  return result;
}

Status PosixFileSystem::check_free(const Caller& caller, const Directory& directory, std::string_view name) const {
  const std::string text(name);
  struct stat s {};
  const int error =
      as_caller(caller, [&] { return ::fstatat(directory.fd.get(), text.c_str(), &s, AT_SYMLINK_NOFOLLOW); });
  if (error == 0) return Status::exist;
  return error == ENOENT ? Status::ok : status_of(error);
}

Status PosixFileSystem::check_new_file(const CreateHow& how) const noexcept {
  if (how.mode == CreateMode::exclusive) return Status::ok;
  if (const Status s = check_times(how.attributes); s != Status::ok) return s;
  return how.attributes.size.value_or(0) > limits_.max_file_size ? Status::fbig : Status::ok;
}

/// The name appears with the verifier in place: killed in between, the server would not know the request again. Sets
/// `done` if the file system can do that.
Status PosixFileSystem::create_whole(const Caller& caller, const Directory& directory, std::string_view name,
                                     const VerifierTimes& times, bool& done, Unsettled& unsettled) {
  const std::string text(name);
  Fd fd;
  int error = as_caller(caller, [&] {
    fd = Fd(::openat(directory.fd.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, kExclusiveMode));
    return fd.get();
  });
  done = error != EOPNOTSUPP && error != EISDIR && error != EINVAL;
  if (error != 0) return status_of(error);
  error = as_caller(caller, [&] {
    const timespec both[2] = {{times.atime.seconds, 0}, {times.mtime.seconds, 0}};
    if (::futimens(fd.get(), both) != 0) return -1;
    return ::linkat(AT_FDCWD, ProcPath(fd.get()).text, directory.fd.get(), text.c_str(), AT_SYMLINK_FOLLOW);
  });
  unsettled = {std::move(fd), FileType::regular};
  return status_of(error);
}

Status PosixFileSystem::create_file(const Caller& caller, const Directory& directory, std::string_view name,
                                    const CreateHow& how, NodeResult& out, Unsettled& unsettled) {
  const Status bad = check_new_file(how);
  // An unnamed file, which EXCLUSIVE begins with, takes the right to write here.
  if (bad != Status::ok || how.mode == CreateMode::exclusive) {
    const Status free = check_free(caller, directory, name);
    if (free != Status::ok || bad != Status::ok) return free != Status::ok ? free : bad;
  }
  SetAttributes attributes = how.attributes;
  if (how.mode == CreateMode::exclusive) {
    const VerifierTimes times(how.verifier);
    bool done = false;
    const Status status = create_whole(caller, directory, name, times, done, unsettled);
    attributes = {};
    if (done) {
      if (status != Status::ok) return status;
      found(directory, name, unsettled.fd.get(), out);
      return out.status;
    }
    attributes.mode = kExclusiveMode;
    attributes.atime = {SetTime::How::client, times.atime};
    attributes.mtime = {SetTime::How::client, times.mtime};
  }
  const mode_t mode = attributes.mode.value_or(kDefaultFileMode) & 07777u;
  const std::uint64_t size = attributes.size.value_or(0);
  const std::string text(name);
  Fd fd;
  int error = as_caller(caller, [&] {
    fd = Fd(::openat(directory.fd.get(), text.c_str(), O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, mode));
    return fd.get();
  });
  if (error != 0) return status_of(error);
  if (size != 0) error = as_caller(caller, [&] { return ::ftruncate(fd.get(), static_cast<off_t>(size)); });
  if (size == 0) attributes.size.reset();
  if (error != 0) {
    ::unlinkat(directory.fd.get(), text.c_str(), 0);
    return status_of(error);
  }
  // RFC 1813 section 3.3.8: the verifier, kept in the times, is in stable storage before the reply.
  out = finish_new(caller, directory, name, attributes, unsettled);
  if (out.status == Status::ok && !acts_ && (mode & 0600u) != 0600u) keep_open(caller, out.node, std::move(fd));
  return out.status;
}

/// UNCHECKED: an existing file is as good as a new one, and only a size is applied to it. EXCLUSIVE: it is
/// ours if it carries our verifier, because this is then the same request once more.
Status PosixFileSystem::open_existing(const Caller& caller, const Directory& directory, std::string_view name,
                                      const CreateHow& how, NodeResult& out, Unsettled& unsettled) {
  Fd fd;
  NodeStat stat;
  {
    const ActingAs acting(user(caller));
    if (!acting) return Status::acces;
    if (const Status s = open_component(directory.fd.get(), name, fd); s != Status::ok) return s;
  }
  if (const Status s = stat_fd(fd.get(), stat); s != Status::ok) return s;
  const Attributes& a = stat.attributes;
  if (a.type != FileType::regular) return Status::exist;
  if (how.mode == CreateMode::exclusive) {
    const VerifierTimes times(how.verifier);
    if (a.size != 0 || a.atime != times.atime || a.mtime != times.mtime) return Status::exist;
  }
  found(directory, name, fd.get(), out);
  if (out.status != Status::ok || how.mode == CreateMode::exclusive || !how.attributes.size) return out.status;
  if (const Status s = truncate(caller, out.node, *how.attributes.size); s != Status::ok) return s;
  found(directory, name, fd.get(), out);
  unsettled = {std::move(fd), a.type};
  return out.status;
}

}  // namespace rpcrdma::nfsd
