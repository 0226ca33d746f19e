// SPDX-License-Identifier: BSD-3-Clause
// Every NFSv3 and MOUNTv3 type: encoding and decoding, truncation, and hostile values.
#include <gtest/gtest.h>

#include <random>

#include "rpcrdma/xdr/mount3.h"
#include "unit/xdr/samples.hpp"
#include "unit/xdr/stream.hpp"

namespace rpcrdma::test {
namespace {

using xdr::Decoder;
using xdr::Encoder;

template <class T>
using Routine = bool_t (*)(XDR*, T*);

template <class T>
Bytes encoded(Routine<T> routine, const T& value) {
  OutMessage message;
  Encoder out(message.out());
  EXPECT_TRUE(out.encode(routine, value));
  EXPECT_TRUE(message.payload().items.empty());
  EXPECT_EQ(message.payload().length, message.reduced().size());
  return message.reduced();
}

template <class T>
void expect_there_and_back(Routine<T> routine, const T& value) {
  const Bytes wire = encoded(routine, value);
  const InMessage message{wire};
  Decoder in(message.payload());
  T back{};
  ASSERT_TRUE(in.decode(routine, back));
  EXPECT_TRUE(in.finish());
  EXPECT_EQ(in.position(), wire.size());
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_EQ(to_hex(encoded(routine, back)), to_hex(wire));
  xdr_release(routine, back);
}

template <class T>
void expect_prefixes_refused(Routine<T> routine, const T& value) {
  const Bytes wire = encoded(routine, value);
  const std::size_t step = wire.size() > 2000 ? 61 : 1;
  for (std::size_t size = 0; size < wire.size(); size += step) {
    const InMessage message(Octets(wire).first(size));
    Decoder in(message.payload());
    T back{};
    EXPECT_FALSE(in.decode(routine, back)) << size;
    EXPECT_EQ(in.failure(), xdr::DecodeFailure::malformed);
    xdr_release(routine, back);
  }
}

/// Replaces one to three words at a time with extreme or random values. Decoding must not read outside the message.
template <class T>
void expect_no_harm(Routine<T> routine, const T& value) {
  const Bytes wire = encoded(routine, value);
  std::mt19937 random(42);
  for (int round = 0; round < 400; ++round) {
    Bytes hostile = wire;
    for (int i = 0; i < 1 + round % 3; ++i) {
      const std::size_t word = random() % (std::min<std::size_t>(wire.size(), 512) / 4);
      static constexpr std::uint32_t kValues[] = {0, 1, 2, 64, 65, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff};
      const std::uint32_t with =
          round % 2 == 0 ? kValues[random() % std::size(kValues)] : static_cast<std::uint32_t>(random());
      Writer(MutableOctets(hostile).subspan(word * 4)).u32(with);
    }
    const InMessage message{hostile};
    Decoder in(message.payload());
    T back{};
    const bool decoded = in.decode(routine, back);
    EXPECT_TRUE(!decoded || in.position() <= hostile.size());
    xdr_release(routine, back);
  }
}

template <class T>
void expect_sound(Routine<T> routine, const T& value) {
  expect_there_and_back(routine, value);
  expect_prefixes_refused(routine, value);
  expect_no_harm(routine, value);
}

#define NFS3_TYPES(NAME)                                                 \
  TEST(Nfs3, NAME) {                                                     \
    expect_sound<NAME##3args>(xdr_##NAME##3args, sample<NAME##3args>()); \
    expect_sound<NAME##3res>(xdr_##NAME##3res, sample<NAME##3res>());    \
    NAME##3res failed{};                                                 \
    failed.status = NFS3ERR_STALE;                                       \
    expect_sound<NAME##3res>(xdr_##NAME##3res, failed);                  \
  }
NFS3_TYPES(GETATTR)
NFS3_TYPES(SETATTR)
NFS3_TYPES(LOOKUP)
NFS3_TYPES(ACCESS)
NFS3_TYPES(READLINK)
NFS3_TYPES(READ)
NFS3_TYPES(WRITE)
NFS3_TYPES(CREATE)
NFS3_TYPES(MKDIR)
NFS3_TYPES(SYMLINK)
NFS3_TYPES(MKNOD)
NFS3_TYPES(REMOVE)
NFS3_TYPES(RMDIR)
NFS3_TYPES(RENAME)
NFS3_TYPES(LINK)
NFS3_TYPES(READDIR)
NFS3_TYPES(READDIRPLUS)
NFS3_TYPES(FSSTAT)
NFS3_TYPES(FSINFO)
NFS3_TYPES(PATHCONF)
NFS3_TYPES(COMMIT)

TEST(Nfs3, OtherArms) {
  CREATE3args create = sample<CREATE3args>();
  create.how.mode = EXCLUSIVE;
  create.how.createhow3_u.verf[7] = 'x';
  expect_sound<CREATE3args>(xdr_CREATE3args, create);
  MKNOD3args node = sample<MKNOD3args>();
  node.what.type = NF3FIFO;
  fill(node.what.mknoddata3_u.pipe_attributes);
  expect_sound<MKNOD3args>(xdr_MKNOD3args, node);
  SETATTR3args set{};
  fill(set.object);
  set.new_attributes.atime.set_it = SET_TO_SERVER_TIME;
  expect_sound<SETATTR3args>(xdr_SETATTR3args, set);
}

// The fields of fattr3 are read and written all at once if they are in one piece of memory, and else word by word.
TEST(Nfs3, AttributesInAnyPieces) {
  fattr3 value{};
  value.type = NF3BLK;
  value.mode = 0x01020304;
  value.nlink = 0x05060708;
  value.uid = 0x090a0b0c;
  value.gid = 0x0d0e0f10;
  value.size = 0x1112131415161718;
  value.used = 0x191a1b1c1d1e1f20;
  value.rdev = {0x21222324, 0x25262728};
  value.fsid = 0x292a2b2c2d2e2f30;
  value.fileid = 0x3132333435363738;
  value.atime = {0x393a3b3c, 0x3d3e3f40};
  value.mtime = {0x41424344, 0x45464748};
  value.ctime = {0x494a4b4c, 0x4d4e4f50};
  Bytes wire = from_hex("00000003");
  for (int octet = 1; octet <= 80; ++octet) wire.push_back(static_cast<std::byte>(octet));
  for (const std::uint32_t block : {4u, 20u, 84u, 4096u}) {
    OutMessage message(block);
    Encoder out(message.out());
    EXPECT_TRUE(out.encode(xdr_fattr3, value));
    EXPECT_EQ(to_hex(message.reduced()), to_hex(wire)) << block;
  }
  for (std::size_t first = 0; first <= wire.size(); ++first) {
    InMessage message;
    message.piece(Octets(wire).first(first), 0).piece(Octets(wire).subspan(first), static_cast<std::uint32_t>(first));
    Decoder in(message.payload());
    fattr3 back{};
    ASSERT_TRUE(in.decode(xdr_fattr3, back)) << first;
    EXPECT_TRUE(in.finish());
    EXPECT_EQ(to_hex(encoded<fattr3>(xdr_fattr3, back)), to_hex(wire)) << first;
  }
}

TEST(Nfs3, Octets) {
  EXPECT_EQ(encoded<GETATTR3res>(xdr_GETATTR3res, sample<GETATTR3res>()).size(), 4u + 84);
  EXPECT_EQ(encoded<sattr3>(xdr_sattr3, sattr3{}).size(), 24u);
  EXPECT_EQ(encoded<sattr3>(xdr_sattr3, sample<sattr3>()).size(), 60u);
  EXPECT_EQ(encoded<wcc_data>(xdr_wcc_data, wcc_data{}).size(), 8u);
  EXPECT_EQ(encoded<wcc_data>(xdr_wcc_data, sample<wcc_data>()).size(), 116u);
  EXPECT_EQ(encoded<post_op_fh3>(xdr_post_op_fh3, sample<post_op_fh3>()).size(), 72u);
}

TEST(Nfs3, HandlesAreBounded) {
  for (const std::uint32_t length : {0u, 1u, 63u, 64u, 65u, 0xffffffffu}) {
    Bytes wire(4 + 68);
    Writer(wire).u32(length);
    const InMessage message{wire};
    Decoder in(message.payload());
    nfs_fh3 handle{};
    EXPECT_EQ(in.decode(xdr_nfs_fh3, handle), length <= 64) << length;
    EXPECT_EQ(handle.length, length <= 64 ? length : 0);
    EXPECT_EQ(in.position(), length <= 64 ? 4 + pad4(length) : 4);
  }
  nfs_fh3 handle{};
  EXPECT_FALSE(handle.set(Bytes(65)));
  EXPECT_TRUE(handle.set(Bytes(64)));
}

// RFC 4506 section 4.4: generated code and list decoders accept only 0 and 1 as a boolean.
TEST(Nfs3, BooleansAreStrict) {
  for (const std::uint32_t word : {0u, 1u, 2u, 0x80000000u, 0xffffffffu}) {
    Bytes wire(4 + 24);
    Writer(wire).u32(word);
    const InMessage message{wire};
    Decoder attributes(message.payload());
    pre_op_attr before{};
    EXPECT_EQ(attributes.decode(xdr_pre_op_attr, before), word <= 1) << word;
    Decoder list(message.payload());
    entry3_list entries{};
    EXPECT_EQ(list.decode(xdr_entry3_list, entries), word <= 1) << word;
    xdr_release(xdr_entry3_list, entries);
    OutMessage out;
    post_op_attr after{};
    after.attributes_follow = static_cast<bool_t>(word);
    EXPECT_EQ(Encoder(out.out()).encode(xdr_post_op_attr, after), word <= 1) << word;
  }
}

// Long lists are decoded without recursion.
TEST(Nfs3, LongListsDoNotUseTheStack) {
  constexpr std::uint32_t kEntries = 200'000;
  std::vector<entry3> entries(kEntries);
  for (std::uint32_t i = 0; i < kEntries; ++i) {
    entries[i].fileid = i;
    entries[i].name.set("f");
  }
  const entry3_list list{kEntries, entries.data()};
  const Bytes wire = encoded<entry3_list>(xdr_entry3_list, list);
  EXPECT_EQ(wire.size(), kEntries * std::size_t{28} + 4);
  const InMessage message{wire};
  Decoder in(message.payload());
  entry3_list back{};
  ASSERT_TRUE(in.decode(xdr_entry3_list, back));
  ASSERT_EQ(back.count, kEntries);
  EXPECT_EQ(back.items[kEntries - 1].fileid, kEntries - 1);
  EXPECT_EQ(back.items[kEntries - 1].name.view(), "f");
  xdr_release(xdr_entry3_list, back);
  EXPECT_EQ(back.items, nullptr);
}

TEST(Mount3, Types) {
  const std::string path(MNTPATHLEN, 'd');
  const std::string host(MNTNAMLEN, 'h');
  dirpath dir{};
  dir.set(path);
  expect_sound<dirpath>(xdr_dirpath, dir);
  int flavors[] = {1, 0};
  mountres3 res{};
  fill(res.mountres3_u.mountinfo.fhandle);
  res.mountres3_u.mountinfo.auth_flavors = {2, flavors};
  expect_sound<mountres3>(xdr_mountres3, res);
  mountbody mounts[3]{};
  for (mountbody& mount : mounts) {
    mount.ml_hostname.set(host);
    mount.ml_directory.set(path);
  }
  expect_sound<mount_list>(xdr_mount_list, {3, mounts});
  groupnode groups[2]{};
  groups[1].gr_name.set("everyone");
  exportnode exports[2]{};
  exports[0].ex_dir.set("/a");
  exports[0].ex_groups = {2, groups};
  exports[1].ex_dir.set("/b");
  expect_sound<export_list>(xdr_export_list, {2, exports});
  expect_sound<export_list>(xdr_export_list, {0, nullptr});
}

TEST(Mount3, Bounds) {
  const std::string path(MNTPATHLEN + 1, 'd');
  dirpath dir{};
  dir.set(path);
  OutMessage message;
  Encoder out(message.out());
  EXPECT_FALSE(out.encode(xdr_dirpath, dir));
  OutMessage longer;
  Encoder raw(longer.out());
  raw.counted(std::as_bytes(std::span(path)));
  const InMessage wire(longer.reduced());
  Decoder in(wire.payload());
  dirpath back{};
  EXPECT_FALSE(in.decode(xdr_dirpath, back));
  EXPECT_EQ(back.length, 0u);
}

}  // namespace
}  // namespace rpcrdma::test
