// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The pieces of NFS version 3 and MOUNT version 3 (RFC 1813) that the cases use.
#include <optional>

#include "rpcrdma/conform/codec/words.hpp"

namespace rpcrdma::conform::nfs {

enum : std::uint32_t { kProgram = 100003, kVersion = 3, kMountProgram = 100005, kMountVersion = 3 };
enum : std::uint32_t {
  kNull = 0,
  kGetattr = 1,
  kSetattr = 2,
  kLookup = 3,
  kAccess = 4,
  kReadlink = 5,
  kRead = 6,
  kWrite = 7,
  kCreate = 8,
  kMkdir = 9,
  kSymlink = 10,
  kMknod = 11,
  kRemove = 12,
  kRmdir = 13,
  kRename = 14,
  kLink = 15,
  kReaddir = 16,
  kReaddirplus = 17,
  kFsstat = 18,
  kFsinfo = 19,
  kPathconf = 20,
  kCommit = 21
};
enum : std::uint32_t { kMountMnt = 1, kMountDump = 2, kMountUmnt = 3, kMountExport = 5 };
enum : std::uint32_t {
  kOk = 0,
  kNoent = 2,
  kAcces = 13,
  kExist = 17,
  kNotdir = 20,
  kIsdir = 21,
  kInval = 22,
  kRofs = 30,
  kNametoolong = 63,
  kNotempty = 66,
  kStale = 70,
  kBadhandle = 10001,
  kTooSmall = 10005
};
enum : std::uint32_t { kUnstable = 0, kFileSync = 2 };
enum : std::uint32_t { kRegular = 1, kDirectory = 2, kSymbolicLink = 5 };

using Handle = Bytes;

// Arguments.
Bytes handle_args(View handle);
Bytes name_args(View directory, std::string_view name);
Bytes read_args(View handle, std::uint64_t offset, std::uint32_t count);
/// The arguments of WRITE, up to and including the length word of the data. This is the part of the arguments that
/// remains in the Payload stream if the data is reduced.
Bytes write_args_head(View handle, std::uint64_t offset, std::uint32_t count, std::uint32_t stable = kFileSync);
Bytes write_args(View handle, std::uint64_t offset, View data, std::uint32_t stable = kFileSync);
/// CREATE, UNCHECKED (0) or GUARDED (1), mode 0644.
Bytes create_args(View directory, std::string_view name, std::uint32_t how);
/// MKDIR, mode 0755.
Bytes mkdir_args(View directory, std::string_view name);
/// SYMLINK up to and including the length word of the target.
Bytes symlink_args_head(View directory, std::string_view name, std::uint32_t length);
Bytes symlink_args(View directory, std::string_view name, std::string_view target);
Bytes readdir_args(View handle, std::uint64_t cookie, View verifier, std::uint32_t count);
Bytes readdirplus_args(View handle, std::uint64_t cookie, View verifier, std::uint32_t dircount,
                       std::uint32_t maxcount);
Bytes rename_args(View from, std::string_view old_name, View to, std::string_view new_name);

// Results. The decoders throw DecodeError if bytes are missing.
struct Attributes {
  std::uint32_t type = 0, mode = 0;
  std::uint64_t size = 0, fileid = 0;
};
struct Getattr {
  std::uint32_t status = 0;
  Attributes attributes;
};
/// The results of LOOKUP, CREATE, MKDIR or SYMLINK. A server may omit the handle from the results of CREATE, MKDIR and
/// SYMLINK.
struct Object {
  std::uint32_t status = 0;
  std::optional<Handle> handle;
};
/// READ; `data` is empty if it travelled in a Write chunk.
struct Read {
  std::uint32_t status = 0, count = 0;
  bool eof = false;
  std::uint32_t data_length = 0;  ///< the length that precedes the data in the results
  Bytes data;
};
struct Write {
  std::uint32_t status = 0, count = 0, committed = 0;
};
struct Readlink {
  std::uint32_t status = 0, length = 0;
  std::string path;
};
struct Directory {
  std::uint32_t status = 0;
  std::vector<std::string> names;
  std::uint64_t last_cookie = 0;
  Bytes verifier;
  bool eof = false;
};
struct Fsinfo {
  std::uint32_t status = 0, rtmax = 0, wtmax = 0;
};
struct Mount {
  std::uint32_t status = 0;
  Handle handle;
  std::vector<std::uint32_t> flavors;
};

Getattr decode_getattr(View results);
Object decode_lookup(View results);
Object decode_made(View results);
/// Decodes the results of READ. `reduced` is true if the responder returned the data in a Write chunk: `results` then
/// contains the count word of the data, but neither its bytes nor its pad.
Read decode_read(View results, bool reduced);
Write decode_write(View results);
Readlink decode_readlink(View results, bool reduced);
Directory decode_readdir(View results, bool plus);
Fsinfo decode_fsinfo(View results);
Mount decode_mount(View results);
/// The status alone, which all results begin with.
std::uint32_t status_of(View results);

}  // namespace rpcrdma::conform::nfs
