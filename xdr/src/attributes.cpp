// SPDX-License-Identifier: BSD-3-Clause
// The XDR routine of fattr3, which is in nearly every reply of NFS. It reads or writes all words of the structure at
// once if the stream has them in one piece of memory. XDR_FREE has nothing to do, as the structure has no pointers.
#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/xdr/nfs3.h"

/// The routine that rpcgen generates, one word at a time (xdr/protocols/generate.cmake).
bool_t xdr_fattr3_by_word(XDR* xdrs, fattr3* value);

namespace {

constexpr u_int kSize = 84;  // RFC 1813 section 2.6

void write(rpcrdma::Writer out, const fattr3& from) noexcept {
  const auto time = [&out](const nfstime3& one) {
    out.u32(one.seconds);
    out.u32(one.nseconds);
  };
  out.u32(from.type);
  out.u32(from.mode);
  out.u32(from.nlink);
  out.u32(from.uid);
  out.u32(from.gid);
  out.u64(from.size);
  out.u64(from.used);
  out.u32(from.rdev.specdata1);
  out.u32(from.rdev.specdata2);
  out.u64(from.fsid);
  out.u64(from.fileid);
  time(from.atime);
  time(from.mtime);
  time(from.ctime);
}

void read(rpcrdma::Reader in, fattr3& to) noexcept {
  const auto time = [&in](nfstime3& one) {
    one.seconds = in.u32();
    one.nseconds = in.u32();
  };
  to.type = static_cast<ftype3>(in.u32());
  to.mode = in.u32();
  to.nlink = in.u32();
  to.uid = in.u32();
  to.gid = in.u32();
  to.size = in.u64();
  to.used = in.u64();
  to.rdev.specdata1 = in.u32();
  to.rdev.specdata2 = in.u32();
  to.fsid = in.u64();
  to.fileid = in.u64();
  time(to.atime);
  time(to.mtime);
  time(to.ctime);
}

}  // namespace

extern "C" bool_t xdr_fattr3(XDR* xdrs, fattr3* value) {
  if (xdrs->x_op == XDR_FREE) return TRUE;
  std::int32_t* const words = XDR_INLINE(xdrs, kSize);
  if (words == nullptr) return xdr_fattr3_by_word(xdrs, value);
  const std::span octets(reinterpret_cast<std::byte*>(words), kSize);
  if (xdrs->x_op == XDR_ENCODE)
    write(rpcrdma::Writer(octets), *value);
  else
    read(rpcrdma::Reader(octets), *value);
  return TRUE;
}
