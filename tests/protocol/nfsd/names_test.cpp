// SPDX-License-Identifier: BSD-3-Clause
#include "served.hpp"

namespace rpcrdma::nfsd {
namespace {

class Names : public Served {
 protected:
  void SetUp() override { start(); }
};

TEST_P(Names, LifeOfATree) {
  const nfs_fh3 top = root();
  const nfs_fh3 directory = mkdir(top, "d");
  const nfs_fh3 file = create(directory, "f", "text");
  EXPECT_EQ(lookup(directory, "f").LOOKUP3res_u.resok.object, file);
  EXPECT_EQ(lookup(directory, "g").status, NFS3ERR_NOENT);
  EXPECT_TRUE(lookup(directory, "g").LOOKUP3res_u.resfail.dir_attributes.attributes_follow);
  EXPECT_EQ(stat(file).fsid, stat(top).fsid);

  RENAME3args move{in(directory, "f"), in(top, "g")};
  const auto moved = call<nfs3::Rename>(move);
  ASSERT_EQ(moved->status, NFS3_OK);
  EXPECT_TRUE(moved->RENAME3res_u.resok.fromdir_wcc.before.attributes_follow);
  EXPECT_TRUE(moved->RENAME3res_u.resok.todir_wcc.after.attributes_follow);
  EXPECT_EQ(stat(file).size, 4u);

  const auto linked = call<nfs3::Link>({file, in(directory, "h")});
  ASSERT_EQ(linked->status, NFS3_OK);
  EXPECT_EQ(linked->LINK3res_u.resok.file_attributes.post_op_attr_u.attributes.nlink, 2u);
  EXPECT_EQ(call<nfs3::Rmdir>({in(top, "d")})->status, NFS3ERR_NOTEMPTY);
  EXPECT_EQ(call<nfs3::Remove>({in(directory, "h")})->status, NFS3_OK);
  EXPECT_EQ(call<nfs3::Remove>({in(top, "g")})->status, NFS3_OK);
  EXPECT_EQ(call<nfs3::Rmdir>({in(top, "d")})->status, NFS3_OK);
  EXPECT_EQ(call<nfs3::Getattr>({file})->status, NFS3ERR_STALE);
  EXPECT_EQ(call<nfs3::Getattr>({directory})->status, NFS3ERR_STALE);
}

TEST_P(Names, SetattrWithAndWithoutGuard) {
  const nfs_fh3 file = create(root(), "f", "text");
  SETATTR3args args{};
  args.object = file;
  args.new_attributes.mode.set_it = TRUE;
  args.new_attributes.mode.set_mode3_u.mode = 0600;
  args.new_attributes.size.set_it = TRUE;
  args.new_attributes.size.set_size3_u.size = 2;
  args.new_attributes.mtime.set_it = SET_TO_CLIENT_TIME;
  args.new_attributes.mtime.set_mtime_u.mtime = {1'700'000'000, 7};
  args.guard.check = TRUE;
  args.guard.sattrguard3_u.obj_ctime = {1, 1};
  EXPECT_EQ(call<nfs3::Setattr>(args)->status, NFS3ERR_NOT_SYNC);
  EXPECT_EQ(stat(file).size, 4u);
  args.guard.sattrguard3_u.obj_ctime = stat(file).ctime;
  const auto done = call<nfs3::Setattr>(args);
  ASSERT_EQ(done->status, NFS3_OK);
  const fattr3 now = stat(file);
  EXPECT_EQ(now.size, 2u);
  EXPECT_EQ(now.mode, 0600u);
  EXPECT_EQ(now.mtime.seconds, 1'700'000'000u);
  EXPECT_EQ(now.mtime.nseconds, 7u);
  EXPECT_EQ(done->SETATTR3res_u.resok.obj_wcc.after.post_op_attr_u.attributes.ctime.nseconds, now.ctime.nseconds);
}

TEST_P(Names, SymlinkAndReadlink) {
  const nfs_fh3 top = root();
  for (const std::size_t size : {9u, 4000u}) {
    const std::string target(size, 't');
    SYMLINK3args args{};
    const std::string name = "l" + std::to_string(size);
    args.where = in(top, name);
    auto buffer = client_pool_->allocate(static_cast<std::uint32_t>(size));
    ASSERT_TRUE(buffer);
    std::memcpy(buffer->octets().data(), target.data(), size);
    const BufferRef part = buffer->ref();
    args.symlink.symlink_data.set_parts({&part, 1});
    network_.start_trace();
    const auto made = call<nfs3::Symlink>(args);
    ASSERT_EQ(made->status, NFS3_OK);
    std::uint64_t pulled = 0;
    for (const auto& entry : network_.trace())
      if (entry.kind == fabric::LoopbackTraceEntry::Kind::read_response) pulled += entry.length;
    // [8267-4-a] the path of SYMLINK may come in a Read chunk
    EXPECT_EQ(pulled, size > 1000 ? size : 0u);
    const nfs_fh3 link = made->SYMLINK3res_u.resok.obj.post_op_fh3_u.handle;
    EXPECT_EQ(stat(link).type, NF3LNK);
    const auto read = call<nfs3::Readlink>({link});
    ASSERT_EQ(read->status, NFS3_OK);
    EXPECT_EQ(read->READLINK3res_u.resok.data.text(), target);
  }
  EXPECT_EQ(call<nfs3::Readlink>({top})->status, NFS3ERR_INVAL);
}

TEST_P(Names, SetattrOfASymlinkLeavesItsModeAlone) {
  SYMLINK3args args{};
  args.where = in(root(), "l");
  args.symlink.symlink_data.set_octets(std::as_bytes(std::span(std::string_view("target"))));
  const auto made = call<nfs3::Symlink>(args);
  ASSERT_EQ(made->status, NFS3_OK);
  const nfs_fh3 link = made->SYMLINK3res_u.resok.obj.post_op_fh3_u.handle;
  const fattr3 before = stat(link);
  SETATTR3args set{};
  set.object = link;
  set.new_attributes.mode.set_it = TRUE;
  set.new_attributes.mode.set_mode3_u.mode = 0600;
  set.new_attributes.mtime.set_it = SET_TO_CLIENT_TIME;
  set.new_attributes.mtime.set_mtime_u.mtime = {1'700'000'000, 7};
  EXPECT_EQ(call<nfs3::Setattr>(set)->status, NFS3_OK);
  EXPECT_EQ(stat(link).mode, before.mode);
  EXPECT_EQ(stat(link).mtime.seconds, 1'700'000'000u);
}

TEST_P(Names, TooLongATargetIsRefusedUnfetched) {
  SYMLINK3args args{};
  args.where = in(root(), "l");
  auto buffer = client_pool_->allocate(500'000);
  ASSERT_TRUE(buffer);
  const BufferRef part = buffer->ref();
  args.symlink.symlink_data.set_parts({&part, 1});
  network_.start_trace();
  EXPECT_EQ(call<nfs3::Symlink>(args)->status, NFS3ERR_NAMETOOLONG);
  for (const auto& entry : network_.trace()) EXPECT_NE(entry.kind, fabric::LoopbackTraceEntry::Kind::read_response);
}

TEST_P(Names, CreateKinds) {
  const nfs_fh3 top = root();
  CREATE3args args{};
  args.where = in(top, "f");
  args.how.mode = EXCLUSIVE;
  std::memcpy(args.how.createhow3_u.verf, "verifier", 8);
  const auto first = call<nfs3::Create>(args);
  ASSERT_EQ(first->status, NFS3_OK);
  EXPECT_EQ(call<nfs3::Create>(args)->status, NFS3_OK);
  std::memcpy(args.how.createhow3_u.verf, "anothers", 8);
  const auto refused = call<nfs3::Create>(args);
  EXPECT_EQ(refused->status, NFS3ERR_EXIST);
  EXPECT_TRUE(refused->CREATE3res_u.resfail.dir_wcc.after.attributes_follow);
  args.how = {};
  args.how.mode = UNCHECKED;
  const auto again = call<nfs3::Create>(args);
  ASSERT_EQ(again->status, NFS3_OK);
  EXPECT_EQ(again->CREATE3res_u.resok.obj.post_op_fh3_u.handle, first->CREATE3res_u.resok.obj.post_op_fh3_u.handle);
  MKNOD3args node{};
  node.where = in(top, "fifo");
  node.what.type = NF3FIFO;
  EXPECT_EQ(call<nfs3::Mknod>(node)->status, NFS3_OK);
  EXPECT_EQ(stat(lookup(top, "fifo").LOOKUP3res_u.resok.object).type, NF3FIFO);
  node.what.type = NF3REG;
  EXPECT_EQ(call<nfs3::Mknod>(node)->status, NFS3ERR_BADTYPE);
}

TEST_P(Names, AccessFollowsTheModeBits) {
  const nfs_fh3 file = create(root(), "f");
  SETATTR3args args{};
  args.object = file;
  args.new_attributes.mode.set_it = TRUE;
  args.new_attributes.mode.set_mode3_u.mode = 0640;
  args.new_attributes.uid.set_it = TRUE;
  args.new_attributes.uid.set_uid3_u.uid = 1234;
  args.new_attributes.gid.set_it = TRUE;
  args.new_attributes.gid.set_gid3_u.gid = 99;
  if (!in_memory() && ::geteuid() != 0) GTEST_SKIP() << "needs root";
  EXPECT_EQ(call<nfs3::Setattr>(args)->status, NFS3ERR_PERM) << "only root changes the owner";
  rpc::CallOptions root;
  root.credential = rpc::Credential::sys(0, 0);
  ASSERT_EQ(call<nfs3::Setattr>(args, root)->status, NFS3_OK);
  const auto granted = [&](const rpc::Credential& who) {
    rpc::CallOptions options;
    options.credential = who;
    return call<nfs3::Access>({file, 0x3f}, options)->ACCESS3res_u.resok.access;
  };
  const std::uint32_t group[] = {7, 99};
  EXPECT_EQ(granted(rpc::Credential::sys(1234, 1)), ACCESS3_READ | ACCESS3_MODIFY | ACCESS3_EXTEND);
  EXPECT_EQ(granted(rpc::Credential::sys(5, 5, group)), static_cast<std::uint32_t>(ACCESS3_READ));
  EXPECT_EQ(granted(rpc::Credential::sys(5, 5)), 0u);
  EXPECT_EQ(granted(rpc::Credential::sys(0, 0)), ACCESS3_READ | ACCESS3_MODIFY | ACCESS3_EXTEND);
  EXPECT_EQ(granted(rpc::Credential()), 0u) << "AUTH_NONE is anonymous";
}

TEST_P(Names, StaticInformation) {
  const nfs_fh3 top = root();
  const auto info = call<nfs3::Fsinfo>({top});
  ASSERT_EQ(info->status, NFS3_OK);
  EXPECT_EQ(info->FSINFO3res_u.resok.rtmax, 1u << 20);
  EXPECT_EQ(info->FSINFO3res_u.resok.wtmax, 1u << 20);
  EXPECT_EQ(info->FSINFO3res_u.resok.properties,
            static_cast<std::uint32_t>(FSF3_LINK | FSF3_SYMLINK | FSF3_HOMOGENEOUS | FSF3_CANSETTIME));
  const auto conf = call<nfs3::Pathconf>({top});
  ASSERT_EQ(conf->status, NFS3_OK);
  EXPECT_EQ(conf->PATHCONF3res_u.resok.name_max, 255u);
  EXPECT_TRUE(conf->PATHCONF3res_u.resok.no_trunc && conf->PATHCONF3res_u.resok.case_preserving);
  const auto space = call<nfs3::Fsstat>({top});
  ASSERT_EQ(space->status, NFS3_OK);
  EXPECT_GT(space->FSSTAT3res_u.resok.tbytes, 0u);
}

TEST_P(Names, BrokenHandlesAreBadHandles) {
  const nfs_fh3 good = root();
  for (std::uint32_t i = 0; i < good.length; ++i) {
    nfs_fh3 bad = good;
    bad.data[i] ^= std::byte{0x10};
    EXPECT_EQ(call<nfs3::Getattr>({bad})->status, NFS3ERR_BADHANDLE) << i;
  }
  for (std::uint32_t length = 0; length < good.length; length += 7) {
    nfs_fh3 bad = good;
    bad.length = length;
    EXPECT_EQ(call<nfs3::Getattr>({bad})->status, NFS3ERR_BADHANDLE) << length;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Names, ::testing::Values("memory", "disk"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace rpcrdma::nfsd
