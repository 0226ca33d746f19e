// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Values of every NFSv3 argument and result type, with all optional parts and with names of maximum length.
#include <array>
#include <string>
#include <vector>

#include "rpcrdma/xdr/nfs3.h"
#include "support/pattern.hpp"

namespace rpcrdma::test {

inline const std::string& long_name() {
  static const std::string name(255, 'n');
  return name;
}
inline const std::string& long_path() {
  static const std::string path(4096, 'p');
  return path;
}
inline const std::vector<std::byte>& file_data() {
  static const std::vector<std::byte> data = [] {
    std::vector<std::byte> made(8190);
    fill_pattern(made, 7);
    return made;
  }();
  return data;
}

inline void fill(nfs_fh3& handle) {
  handle.length = kNfs3FileHandleSize;
  fill_pattern(handle.data, 1);
}
inline void fill(nfstime3& time) { time = {0x11223344, 999'999'999}; }
inline void fill(post_op_attr& attr) {
  attr.attributes_follow = TRUE;
  fattr3& a = attr.post_op_attr_u.attributes;
  a = {};
  a.type = NF3REG;
  a.mode = 0755;
  a.nlink = 3;
  a.uid = 1000;
  a.gid = 4;
  a.size = 0x1122334455667788;
  a.used = 4096;
  a.rdev = {8, 1};
  a.fsid = 77;
  a.fileid = 0xfedcba9876543210;
  fill(a.atime);
  fill(a.mtime);
  fill(a.ctime);
}
inline void fill(wcc_data& wcc) {
  wcc.before.attributes_follow = TRUE;
  wcc_attr& before = wcc.before.pre_op_attr_u.attributes;
  before.size = 5;
  fill(before.mtime);
  fill(before.ctime);
  fill(wcc.after);
}
inline void fill(post_op_fh3& handle) {
  handle.handle_follows = TRUE;
  fill(handle.post_op_fh3_u.handle);
}
inline void fill(sattr3& attr) {
  attr.mode.set_it = attr.uid.set_it = attr.gid.set_it = attr.size.set_it = TRUE;
  attr.mode.set_mode3_u.mode = 0644;
  attr.uid.set_uid3_u.uid = 1;
  attr.gid.set_gid3_u.gid = 2;
  attr.size.set_size3_u.size = 1u << 31;
  attr.atime.set_it = attr.mtime.set_it = SET_TO_CLIENT_TIME;
  fill(attr.atime.set_atime_u.atime);
  fill(attr.mtime.set_mtime_u.mtime);
}
inline void fill(diropargs3& where) {
  fill(where.dir);
  where.name.set(long_name());
}

inline void fill(GETATTR3args& a) { fill(a.object); }
inline void fill(SETATTR3args& a) {
  fill(a.object);
  fill(a.new_attributes);
  a.guard.check = TRUE;
  fill(a.guard.sattrguard3_u.obj_ctime);
}
inline void fill(LOOKUP3args& a) { fill(a.what); }
inline void fill(ACCESS3args& a) {
  fill(a.object);
  a.access = ACCESS3_READ | ACCESS3_EXECUTE;
}
inline void fill(READLINK3args& a) { fill(a.symlink); }
inline void fill(READ3args& a) {
  fill(a.file);
  a.offset = 1ull << 40;
  a.count = static_cast<count3>(file_data().size());
}
inline void fill(WRITE3args& a) {
  fill(a.file);
  a.offset = 9;
  a.count = static_cast<count3>(file_data().size());
  a.stable = FILE_SYNC;
  a.data.set_octets(file_data());
}
inline void fill(CREATE3args& a) {
  fill(a.where);
  a.how.mode = GUARDED;
  fill(a.how.createhow3_u.obj_attributes);
}
inline void fill(MKDIR3args& a) {
  fill(a.where);
  fill(a.attributes);
}
inline void fill(SYMLINK3args& a) {
  fill(a.where);
  fill(a.symlink.symlink_attributes);
  a.symlink.symlink_data.set_text(long_path());
}
inline void fill(MKNOD3args& a) {
  fill(a.where);
  a.what.type = NF3CHR;
  fill(a.what.mknoddata3_u.device.dev_attributes);
  a.what.mknoddata3_u.device.spec = {4, 64};
}
inline void fill(REMOVE3args& a) { fill(a.object); }
inline void fill(RMDIR3args& a) { fill(a.object); }
inline void fill(RENAME3args& a) {
  fill(a.from);
  fill(a.to);
}
inline void fill(LINK3args& a) {
  fill(a.file);
  fill(a.link);
}
inline void fill(READDIR3args& a) {
  fill(a.dir);
  a.cookie = 12;
  a.count = 4096;
}
inline void fill(READDIRPLUS3args& a) {
  fill(a.dir);
  a.cookie = 12;
  a.dircount = 1024;
  a.maxcount = 8192;
}
inline void fill(FSSTAT3args& a) { fill(a.fsroot); }
inline void fill(FSINFO3args& a) { fill(a.fsroot); }
inline void fill(PATHCONF3args& a) { fill(a.object); }
inline void fill(COMMIT3args& a) {
  fill(a.file);
  a.offset = 1;
  a.count = 2;
}

inline void fill(GETATTR3res& r) {
  post_op_attr attr{};
  fill(attr);
  r.GETATTR3res_u.resok.obj_attributes = attr.post_op_attr_u.attributes;
}
inline void fill(SETATTR3res& r) { fill(r.SETATTR3res_u.resok.obj_wcc); }
inline void fill(LOOKUP3res& r) {
  fill(r.LOOKUP3res_u.resok.object);
  fill(r.LOOKUP3res_u.resok.obj_attributes);
  fill(r.LOOKUP3res_u.resok.dir_attributes);
}
inline void fill(ACCESS3res& r) {
  fill(r.ACCESS3res_u.resok.obj_attributes);
  r.ACCESS3res_u.resok.access = ACCESS3_READ;
}
inline void fill(READLINK3res& r) {
  fill(r.READLINK3res_u.resok.symlink_attributes);
  r.READLINK3res_u.resok.data.set_text(long_path());
}
inline void fill(READ3res& r) {
  READ3resok& ok = r.READ3res_u.resok;
  fill(ok.file_attributes);
  ok.count = static_cast<count3>(file_data().size());
  ok.eof = TRUE;
  ok.data.set_octets(file_data());
}
inline void fill(WRITE3res& r) {
  WRITE3resok& ok = r.WRITE3res_u.resok;
  fill(ok.file_wcc);
  ok.count = 5;
  ok.committed = DATA_SYNC;
  ok.verf[0] = 'V';
}
/// Fills the results of CREATE, MKDIR, SYMLINK and MKNOD.
template <class Ok>
void fill_made(Ok& ok) {
  fill(ok.obj);
  fill(ok.obj_attributes);
  fill(ok.dir_wcc);
}
inline void fill(CREATE3res& r) { fill_made(r.CREATE3res_u.resok); }
inline void fill(MKDIR3res& r) { fill_made(r.MKDIR3res_u.resok); }
inline void fill(SYMLINK3res& r) { fill_made(r.SYMLINK3res_u.resok); }
inline void fill(MKNOD3res& r) { fill_made(r.MKNOD3res_u.resok); }
inline void fill(REMOVE3res& r) { fill(r.REMOVE3res_u.resok.dir_wcc); }
inline void fill(RMDIR3res& r) { fill(r.RMDIR3res_u.resok.dir_wcc); }
inline void fill(RENAME3res& r) {
  fill(r.RENAME3res_u.resok.fromdir_wcc);
  fill(r.RENAME3res_u.resok.todir_wcc);
}
inline void fill(LINK3res& r) {
  fill(r.LINK3res_u.resok.file_attributes);
  fill(r.LINK3res_u.resok.linkdir_wcc);
}
/// The result nearly reaches the count of the READDIR sample. Each entry takes 280 bytes: the name with its padding,
/// and 24 bytes for the boolean before the entry, file id, name length and cookie.
inline void fill(READDIR3res& r) {
  static std::array<entry3, 14> entries = [] {
    std::array<entry3, 14> made{};
    for (entry3& entry : made) {
      entry.fileid = 0x100000001;
      entry.name.set(long_name());
      entry.cookie = 99;
    }
    return made;
  }();
  fill(r.READDIR3res_u.resok.dir_attributes);
  r.READDIR3res_u.resok.reply.entries = {entries.size(), entries.data()};
  r.READDIR3res_u.resok.reply.eof = TRUE;
}
inline void fill(READDIRPLUS3res& r) {
  static std::array<entryplus3, 15> entries = [] {
    std::array<entryplus3, 15> made{};
    for (entryplus3& entry : made) {
      entry.fileid = 0x100000001;
      entry.name.set(long_name());
      entry.cookie = 99;
      fill(entry.name_attributes);
      fill(entry.name_handle);
    }
    return made;
  }();
  fill(r.READDIRPLUS3res_u.resok.dir_attributes);
  r.READDIRPLUS3res_u.resok.reply.entries = {entries.size(), entries.data()};
  r.READDIRPLUS3res_u.resok.reply.eof = TRUE;
}
inline void fill(FSSTAT3res& r) {
  fill(r.FSSTAT3res_u.resok.obj_attributes);
  r.FSSTAT3res_u.resok.tbytes = 1ull << 50;
}
inline void fill(FSINFO3res& r) {
  fill(r.FSINFO3res_u.resok.obj_attributes);
  r.FSINFO3res_u.resok.rtmax = 1u << 20;
}
inline void fill(PATHCONF3res& r) {
  fill(r.PATHCONF3res_u.resok.obj_attributes);
  r.PATHCONF3res_u.resok.no_trunc = TRUE;
}
inline void fill(COMMIT3res& r) { fill(r.COMMIT3res_u.resok.file_wcc); }

template <class T>
T sample() {
  T value{};
  fill(value);
  return value;
}

}  // namespace rpcrdma::test
