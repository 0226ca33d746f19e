// SPDX-License-Identifier: BSD-3-Clause
#include "convert.hpp"

namespace rpcrdma::nfs {
namespace {

Time from_xdr(const nfstime3& time) noexcept { return {time.seconds, time.nseconds}; }
nfstime3 to_xdr(const Time& time) noexcept { return {time.seconds, time.nanoseconds}; }

}  // namespace

nfs_fh3 to_xdr(const FileHandle& handle) noexcept {
  nfs_fh3 out{};
  out.set(handle.octets());
  return out;
}

FileHandle from_xdr(const nfs_fh3& handle) noexcept { return FileHandle(handle.octets()); }

diropargs3 to_xdr(const FileHandle& directory, std::string_view name) noexcept {
  diropargs3 out{};
  out.dir = to_xdr(directory);
  out.name.set(name);
  return out;
}

sattr3 to_xdr(const SetAttributes& attributes) noexcept {
  sattr3 out{};
  if (attributes.mode) {
    out.mode.set_it = TRUE;
    out.mode.set_mode3_u.mode = *attributes.mode;
  }
  if (attributes.size) {
    out.size.set_it = TRUE;
    out.size.set_size3_u.size = *attributes.size;
  }
  if (attributes.accessed) {
    out.atime.set_it = SET_TO_CLIENT_TIME;
    out.atime.set_atime_u.atime = to_xdr(*attributes.accessed);
  }
  if (attributes.modified) {
    out.mtime.set_it = SET_TO_CLIENT_TIME;
    out.mtime.set_mtime_u.mtime = to_xdr(*attributes.modified);
  }
  return out;
}

Attributes from_xdr(const fattr3& attributes) noexcept {
  Attributes out;
  out.type = static_cast<FileType>(attributes.type);
  out.mode = attributes.mode & 07777u;
  out.links = attributes.nlink;
  out.uid = attributes.uid;
  out.gid = attributes.gid;
  out.size = attributes.size;
  out.used = attributes.used;
  out.device_major = attributes.rdev.specdata1;
  out.device_minor = attributes.rdev.specdata2;
  out.filesystem = attributes.fsid;
  out.file_id = attributes.fileid;
  out.accessed = from_xdr(attributes.atime);
  out.modified = from_xdr(attributes.mtime);
  out.changed = from_xdr(attributes.ctime);
  return out;
}

std::optional<Attributes> from_xdr(const post_op_attr& attributes) noexcept {
  if (attributes.attributes_follow == FALSE) return std::nullopt;
  return from_xdr(attributes.post_op_attr_u.attributes);
}

std::optional<FileHandle> from_xdr(const post_op_fh3& handle) noexcept {
  if (handle.handle_follows == FALSE) return std::nullopt;
  return from_xdr(handle.post_op_fh3_u.handle);
}

}  // namespace rpcrdma::nfs
