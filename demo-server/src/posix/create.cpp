// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <string>

#include "posix/posix_file_system.hpp"
#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::nfsd {
namespace {

// Until its owner is set, a new object is nobody's but the server's.
constexpr mode_t kFirstFileMode = 0600;
constexpr mode_t kFirstDirectoryMode = 0700;
constexpr std::uint32_t kDefaultFileMode = 0644;
constexpr std::uint32_t kDefaultDirectoryMode = 0755;

/// The two times that hold an EXCLUSIVE verifier, less the bits that a signed 32-bit time cannot keep.
struct VerifierTimes {
  explicit VerifierTimes(const Verifier& verifier) noexcept {
    Reader reader(verifier);
    atime.seconds = reader.u32() & 0x7fffffffu;
    mtime.seconds = reader.u32() & 0x7fffffffu;
  }
  Time atime;
  Time mtime;
};

}  // namespace

/// After the system call that made `name`: owner, mode, times, attributes and key. Takes the object away
/// again if that fails.
NodeResult PosixFileSystem::finish_new(const Directory& directory, std::string_view name, const Caller& caller,
                                       const SetAttributes& attributes, std::optional<std::uint32_t> mode) {
  NodeResult result;
  Fd fd;
  result.status = open_component(directory.fd.get(), name, fd);
  if (result.status == Status::ok) result.status = give_to(fd.get(), directory, caller, attributes, mode);
  if (result.status == Status::ok) found(directory, name, fd.get(), result);
  NodeStat stat;
  if (result.status != Status::ok && fd && stat_fd(fd.get(), stat) == Status::ok)
    ::unlinkat(directory.fd.get(), std::string(name).c_str(), is_directory(stat) ? AT_REMOVEDIR : 0);
  return result;
}

template <class Make>
NodeResult PosixFileSystem::make_entry(const Caller& caller, const NodeKey& key, std::string_view name,
                                       const SetAttributes& attributes, std::optional<std::uint32_t> mode, Make make) {
  NodeResult result;
  Directory directory;
  result.status = open_directory(key, directory);
  if (result.status != Status::ok) return result;
  const std::lock_guard lock(lock_of(key));
  result.status = refresh(directory);
  if (result.status == Status::ok) result.status = check_new_name(name);
  if (result.status == Status::ok) {
    if (make(directory.fd.get(), std::string(name).c_str()) == 0)
      result = finish_new(directory, name, caller, attributes, mode);
    else
      result.status = status_of(errno);
  }
  result.directory = wcc_after(directory);
  return result;
}

NodeResult PosixFileSystem::make_directory(const Caller& caller, const NodeKey& directory, std::string_view name,
                                           const SetAttributes& attributes) {
  SetAttributes wanted = attributes;
  wanted.size.reset();
  return make_entry(caller, directory, name, wanted, wanted.mode.value_or(kDefaultDirectoryMode),
                    [](int at, const char* text) { return ::mkdirat(at, text, kFirstDirectoryMode); });
}

NodeResult PosixFileSystem::make_symlink(const Caller& caller, const NodeKey& directory, std::string_view name,
                                         std::string_view target, const SetAttributes& attributes) {
  const Status bad = check_target(target);
  return make_entry(caller, directory, name, attributes, {}, [&](int at, const char* text) {
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
  return make_entry(caller, directory, name, attributes, attributes.mode.value_or(kDefaultFileMode),
                    [&](int at, const char* text) {
                      // A device node gives access to this machine: only for the superuser.
                      const bool is_device = kind == S_IFCHR || kind == S_IFBLK;
                      errno = EPERM;
                      if (is_device && caller.uid != 0) return -1;
                      return ::mknodat(at, text, kind | kFirstFileMode, makedev(device.major, device.minor));
                    });
}

NodeResult PosixFileSystem::create(const Caller& caller, const NodeKey& key, std::string_view name,
                                   const CreateHow& how) {
  NodeResult result;
  Directory directory;
  result.status = open_directory(key, directory);
  if (result.status != Status::ok) return result;
  const std::lock_guard lock(lock_of(key));
  result.status = refresh(directory);
  if (result.status == Status::ok) result.status = check_new_name(name);
  if (result.status == Status::ok) result.status = create_file(directory, name, caller, how, result);
  if (result.status == Status::exist && how.mode != CreateMode::guarded && check_new_name(name) == Status::ok)
    result.status = open_existing(directory, name, how, result);
  result.directory = wcc_after(directory);
  return result;
}

Status PosixFileSystem::create_file(const Directory& directory, std::string_view name, const Caller& caller,
                                    const CreateHow& how, NodeResult& out) {
  const Fd fd(::openat(directory.fd.get(), std::string(name).c_str(),
                       O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, kFirstFileMode));
  if (!fd) return status_of(errno);
  SetAttributes attributes = how.attributes;
  if (how.mode == CreateMode::exclusive) {
    const VerifierTimes times(how.verifier);
    attributes = {};
    attributes.atime = {SetTime::How::client, times.atime};
    attributes.mtime = {SetTime::How::client, times.mtime};
  }
  if (attributes.size && *attributes.size != 0 && ::ftruncate(fd.get(), static_cast<off_t>(*attributes.size)) != 0) {
    const Status failed = status_of(errno);
    ::unlinkat(directory.fd.get(), std::string(name).c_str(), 0);
    return failed;
  }
  out = finish_new(directory, name, caller, attributes, attributes.mode.value_or(kDefaultFileMode));
  // RFC 1813 section 3.3.8: the verifier is in stable storage before the reply.
  if (out.status == Status::ok && how.mode == CreateMode::exclusive && ::fsync(fd.get()) != 0)
    out.status = status_of(errno);
  return out.status;
}

/// UNCHECKED: an existing file is as good as a new one, and only a size is applied to it. EXCLUSIVE: it is
/// ours if it carries our verifier, because this is then the same request once more.
Status PosixFileSystem::open_existing(const Directory& directory, std::string_view name, const CreateHow& how,
                                      NodeResult& out) {
  Fd fd;
  NodeStat stat;
  if (const Status s = open_component(directory.fd.get(), name, fd); s != Status::ok) return s;
  if (const Status s = stat_fd(fd.get(), stat); s != Status::ok) return s;
  const Attributes& a = stat.attributes;
  if (a.type != FileType::regular) return Status::exist;
  if (how.mode == CreateMode::exclusive) {
    const VerifierTimes times(how.verifier);
    if (a.size != 0 || a.atime != times.atime || a.mtime != times.mtime) return Status::exist;
  }
  found(directory, name, fd.get(), out);
  if (out.status != Status::ok || how.mode == CreateMode::exclusive || !how.attributes.size) return out.status;
  if (const Status s = truncate(out.node, *how.attributes.size); s != Status::ok) return s;
  found(directory, name, fd.get(), out);
  return out.status;
}

}  // namespace rpcrdma::nfsd
