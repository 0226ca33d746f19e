// SPDX-License-Identifier: BSD-3-Clause
#include "convert.hpp"

namespace rpcrdma::nfsd {

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

SetAttributes from_wire(const sattr3& in) noexcept {
  SetAttributes out;
  if (in.mode.set_it) out.mode = in.mode.set_mode3_u.mode;
  // To chown(2) the id -1 means "unchanged"; Linux's server treats it likewise.
  if (in.uid.set_it && in.uid.set_uid3_u.uid != Identity::kNone) out.uid = in.uid.set_uid3_u.uid;
  if (in.gid.set_it && in.gid.set_gid3_u.gid != Identity::kNone) out.gid = in.gid.set_gid3_u.gid;
  if (in.size.set_it) out.size = in.size.set_size3_u.size;
  out.atime.how = static_cast<SetTime::How>(in.atime.set_it);
  if (in.atime.set_it == SET_TO_CLIENT_TIME) out.atime.value = from_wire(in.atime.set_atime_u.atime);
  out.mtime.how = static_cast<SetTime::How>(in.mtime.set_it);
  if (in.mtime.set_it == SET_TO_CLIENT_TIME) out.mtime.value = from_wire(in.mtime.set_mtime_u.mtime);
  return out;
}

Caller caller_of(const rpc::Credential& credential, const ExportPolicy& policy) {
  Identity claimed;
  claimed.uid = claimed.gid = Identity::kNone;
  if (credential.flavor == rpc::AuthFlavor::sys) {
    claimed.uid = credential.uid;
    claimed.gid = credential.gid;
    claimed.groups.assign(credential.gids().begin(), credential.gids().end());
  }
  return {squashed(claimed, policy.squash), policy.sync};
}

}  // namespace rpcrdma::nfsd
