// SPDX-License-Identifier: BSD-3-Clause
#include "results.hpp"

namespace rpcrdma::conform::client {

void encode(Out& out, const FileAttributes& a) {
  out.words({a.type, a.mode, a.links, a.uid, a.gid}).u64(a.size).u64(a.used).zeros(8).u64(a.fsid).u64(a.fileid);
  for (const Time& time : {a.atime, a.mtime, a.ctime}) out.u32(time.seconds).u32(time.nanoseconds);
}

void encode(Out& out, const Entry& entry, bool plus) {
  out.u32(1).u64(entry.fileid).text(entry.name).u64(entry.cookie);
  if (!plus) return;
  out.u32(entry.attributes ? 1 : 0);
  if (entry.attributes) encode(out, *entry.attributes);
  out.u32(entry.handle.empty() ? 0 : 1);
  if (!entry.handle.empty()) out.opaque(entry.handle);
}

}  // namespace rpcrdma::conform::client
