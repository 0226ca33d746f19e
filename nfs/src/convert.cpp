// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfs/convert.hpp"

#include <cstring>

namespace rpcrdma::nfs {
namespace {

/// from_wire() ignores a uid or gid of this value in a sattr3, as the NFS server of Linux does. No user or group has
/// this id: chown(2) takes it as the request to leave the owner or the group unchanged.
constexpr std::uint32_t kNoId = UINT32_MAX;

SetTime set_time(const set_atime& in) noexcept {
  const auto how = static_cast<SetTime::How>(in.set_it);
  return {how, how == SetTime::How::client ? from_wire(in.set_atime_u.atime) : Time()};
}

SetTime set_time(const set_mtime& in) noexcept {
  const auto how = static_cast<SetTime::How>(in.set_it);
  return {how, how == SetTime::How::client ? from_wire(in.set_mtime_u.mtime) : Time()};
}

}  // namespace

fattr3 to_wire(const Attributes& a, std::uint64_t fsid) noexcept {
  fattr3 out{};
  out.type = static_cast<ftype3>(a.type);
  out.mode = a.mode;
  out.nlink = a.links;
  out.uid = a.uid;
  out.gid = a.gid;
  out.size = a.size;
  out.used = a.used;
  out.rdev = {a.device.major, a.device.minor};
  out.fsid = fsid;
  out.fileid = a.fileid;
  out.atime = to_wire(a.atime);
  out.mtime = to_wire(a.mtime);
  out.ctime = to_wire(a.ctime);
  return out;
}

post_op_attr to_wire(const std::optional<Attributes>& a, std::uint64_t fsid) noexcept {
  post_op_attr out{};
  if (!a) return out;
  out.attributes_follow = TRUE;
  out.post_op_attr_u.attributes = to_wire(*a, fsid);
  return out;
}

wcc_data to_wire(const Wcc& wcc, std::uint64_t fsid) noexcept {
  wcc_data out{};
  if (wcc.before) {
    out.before.attributes_follow = TRUE;
    out.before.pre_op_attr_u.attributes = {wcc.before->size, to_wire(wcc.before->mtime), to_wire(wcc.before->ctime)};
  }
  out.after = to_wire(wcc.after, fsid);
  return out;
}

Attributes from_wire(const fattr3& a) noexcept {
  Attributes out;
  out.type = static_cast<FileType>(a.type);
  out.mode = a.mode & 07777u;
  out.links = a.nlink;
  out.uid = a.uid;
  out.gid = a.gid;
  out.size = a.size;
  out.used = a.used;
  out.device = {a.rdev.specdata1, a.rdev.specdata2};
  out.fsid = a.fsid;
  out.fileid = a.fileid;
  out.atime = from_wire(a.atime);
  out.mtime = from_wire(a.mtime);
  out.ctime = from_wire(a.ctime);
  return out;
}

std::optional<Attributes> from_wire(const post_op_attr& a) noexcept {
  if (a.attributes_follow == FALSE) return std::nullopt;
  return from_wire(a.post_op_attr_u.attributes);
}

sattr3 to_wire(const SetAttributes& in) noexcept {
  sattr3 out{};
  if (in.mode) {
    out.mode.set_it = TRUE;
    out.mode.set_mode3_u.mode = *in.mode;
  }
  if (in.uid) {
    out.uid.set_it = TRUE;
    out.uid.set_uid3_u.uid = *in.uid;
  }
  if (in.gid) {
    out.gid.set_it = TRUE;
    out.gid.set_gid3_u.gid = *in.gid;
  }
  if (in.size) {
    out.size.set_it = TRUE;
    out.size.set_size3_u.size = *in.size;
  }
  out.atime.set_it = static_cast<time_how>(in.atime.how);
  out.atime.set_atime_u.atime = to_wire(in.atime.value);
  out.mtime.set_it = static_cast<time_how>(in.mtime.how);
  out.mtime.set_mtime_u.mtime = to_wire(in.mtime.value);
  return out;
}

SetAttributes from_wire(const sattr3& in) noexcept {
  SetAttributes out;
  if (in.mode.set_it) out.mode = in.mode.set_mode3_u.mode;
  if (in.uid.set_it && in.uid.set_uid3_u.uid != kNoId) out.uid = in.uid.set_uid3_u.uid;
  if (in.gid.set_it && in.gid.set_gid3_u.gid != kNoId) out.gid = in.gid.set_gid3_u.gid;
  if (in.size.set_it) out.size = in.size.set_size3_u.size;
  out.atime = set_time(in.atime);
  out.mtime = set_time(in.mtime);
  return out;
}

nfs_fh3 to_wire(const FileHandle& handle) noexcept {
  nfs_fh3 out{};
  out.set(handle.octets());
  return out;
}

post_op_fh3 optional_handle(const FileHandle& handle) noexcept {
  post_op_fh3 out{};
  out.handle_follows = TRUE;
  out.post_op_fh3_u.handle = to_wire(handle);
  return out;
}

FileHandle from_wire(const nfs_fh3& handle) noexcept { return FileHandle(handle.octets()); }

std::optional<FileHandle> from_wire(const post_op_fh3& handle) noexcept {
  if (handle.handle_follows == FALSE) return std::nullopt;
  return from_wire(handle.post_op_fh3_u.handle);
}

diropargs3 to_wire(const FileHandle& directory, std::string_view name) noexcept {
  diropargs3 out{};
  out.dir = to_wire(directory);
  out.name.set(name);
  return out;
}

Verifier from_wire(const writeverf3& verifier) noexcept {
  Verifier out;
  std::memcpy(out.data(), verifier, out.size());
  return out;
}

void to_wire(const Verifier& verifier, writeverf3& out) noexcept { std::memcpy(out, verifier.data(), verifier.size()); }

}  // namespace rpcrdma::nfs
