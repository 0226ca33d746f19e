// SPDX-License-Identifier: BSD-3-Clause
// The effect of export options on calls, and of changed exports on handles.
#include <unistd.h>

#include "served.hpp"

namespace rpcrdma::nfsd {
namespace {

class Policy : public Served {
 protected:
  void SetUp() override {
    if (!in_memory() && ::geteuid() != 0) GTEST_SKIP() << "needs root, to change owners";
    add_export("/root", ",root_squash,anonuid=77,anongid=88");
    add_export("/all", ",all_squash");
    add_export("/devices", ",devices,no_root_squash");
    add_export("/async", ",async");
    // All users may write, so that created_as() can create a file as any user.
    for (const char* name : {"root", "all", "data"}) ::chmod((disk() / name).c_str(), 0777);
    start();
  }
  fattr3 created_as(const char* where, const rpc::Credential& who) {
    rpc::CallOptions options;
    options.credential = who;
    CREATE3args args{};
    args.where = in(root(where), "f" + std::to_string(++number_));
    const std::string name = "f" + std::to_string(number_);
    args.where.name.set(name);
    args.how.mode = GUARDED;
    const auto reply = call<nfs3::Create>(args, options);
    EXPECT_EQ(reply->status, NFS3_OK) << where;
    return reply->CREATE3res_u.resok.obj_attributes.post_op_attr_u.attributes;
  }
  bool replace(std::initializer_list<ExportSpec> specs) {
    const auto replaced = exports_.replace(std::vector<ExportSpec>(specs), state_, Log{});
    EXPECT_TRUE(replaced) << replaced.error().text;
    return replaced.has_value();
  }
  int number_ = 0;
};

TEST_P(Policy, SquashModes) {
  const auto owner = [&](const char* where, std::uint32_t uid, std::uint32_t gid) {
    const fattr3 made = created_as(where, rpc::Credential::sys(uid, gid));
    return std::pair(made.uid, made.gid);
  };
  EXPECT_EQ(owner("/data", 0, 0), std::pair(0u, 0u));
  EXPECT_EQ(owner("/data", 5, 6), std::pair(5u, 6u));
  EXPECT_EQ(owner("/root", 0, 0), std::pair(77u, 88u));
  EXPECT_EQ(owner("/root", 5, 6), std::pair(5u, 6u));
  EXPECT_EQ(owner("/all", 0, 0), std::pair(65534u, 65534u));
  EXPECT_EQ(owner("/all", 5, 6), std::pair(65534u, 65534u));
}

TEST_P(Policy, IdMinusOneIsIgnored) {
  client_options_.credential = rpc::Credential::sys(0, 0);
  reconnect();
  const nfs_fh3 top = root("/data");
  const nfs_fh3 file = create(top, "f");
  SETATTR3args args{};
  args.object = file;
  args.new_attributes.uid = {TRUE, {5}};
  args.new_attributes.gid = {TRUE, {6}};
  EXPECT_EQ(call<nfs3::Setattr>(args)->status, NFS3_OK);
  args.new_attributes = {};
  args.new_attributes.mode = {TRUE, {06755}};
  EXPECT_EQ(call<nfs3::Setattr>(args)->status, NFS3_OK);
  const fattr3 before = stat(file);
  for (const bool user : {true, false}) {
    args.new_attributes = {};
    if (user)
      args.new_attributes.uid = {TRUE, {0xffffffff}};
    else
      args.new_attributes.gid = {TRUE, {0xffffffff}};
    EXPECT_EQ(call<nfs3::Setattr>(args)->status, NFS3_OK);
  }
  const fattr3 after = stat(file);
  EXPECT_EQ(std::pair(after.uid, after.gid), std::pair(5u, 6u));
  EXPECT_EQ(after.mode, 06755u) << "a change of owner would have cleared the set-id bits";
  EXPECT_EQ(std::pair(after.ctime.seconds, after.ctime.nseconds),
            std::pair(before.ctime.seconds, before.ctime.nseconds));
  MKDIR3args directory{in(top, "d"), {}};
  directory.attributes.uid = {TRUE, {0xffffffff}};
  const auto made = call<nfs3::Mkdir>(directory);
  ASSERT_EQ(made->status, NFS3_OK);
  EXPECT_EQ(stat(made->MKDIR3res_u.resok.obj.post_op_fh3_u.handle).uid, 0u);
}

TEST_P(Policy, DevicesOnlyWhereAllowed) {
  rpc::CallOptions options;
  options.credential = rpc::Credential::sys(0, 0);
  MKNOD3args args{};
  args.what.type = NF3CHR;
  args.what.mknoddata3_u.device.spec = {1, 3};
  args.where = in(root("/data"), "null");
  EXPECT_EQ(call<nfs3::Mknod>(args, options)->status, NFS3ERR_PERM);
  EXPECT_EQ(lookup(root("/data"), "null").status, NFS3ERR_NOENT);
  args.where = in(root("/devices"), "null");
  const auto made = call<nfs3::Mknod>(args, options);
  if (made->status == NFS3ERR_PERM && !in_memory()) GTEST_SKIP() << "this machine forbids making devices";
  ASSERT_EQ(made->status, NFS3_OK);
  const fattr3 device = stat(made->MKNOD3res_u.resok.obj.post_op_fh3_u.handle);
  EXPECT_EQ(device.type, NF3CHR);
  EXPECT_EQ(device.rdev.specdata1, 1u);
  EXPECT_EQ(device.rdev.specdata2, 3u);
}

TEST_P(Policy, AnAsynchronousExportPromisesWhatIsAsked) {
  client_options_.credential = rpc::Credential::sys(0, 0);
  reconnect();
  const nfs_fh3 file = create(root("/async"), "f");
  for (const stable_how how : {UNSTABLE, DATA_SYNC, FILE_SYNC}) {
    const WRITE3res wrote = write(file, 0, pattern(20000), true, how);
    ASSERT_EQ(wrote.status, NFS3_OK);
    EXPECT_GE(wrote.WRITE3res_u.resok.committed, how);
  }
  const auto committed = call<nfs3::Commit>({file, 0, 0});
  ASSERT_EQ(committed->status, NFS3_OK);
  EXPECT_EQ(committed->COMMIT3res_u.resok.file_wcc.after.post_op_attr_u.attributes.size, 20000u);
}

TEST_P(Policy, HandlesFollowTheExports) {
  client_options_.credential = rpc::Credential::sys(0, 0);
  reconnect();
  const nfs_fh3 file = create(root("/data"), "f", "text");
  ASSERT_TRUE(replace({spec_of("/data", ",ro"), spec_of("/new", "")}));
  EXPECT_EQ(stat(file).size, 4u);
  EXPECT_EQ(write(file, 0, "x", false).status, NFS3ERR_ROFS);
  EXPECT_EQ(mount("/all")->fhs_status, MNT3ERR_NOENT);
  EXPECT_EQ(mount("/new")->fhs_status, MNT3_OK);
  ASSERT_TRUE(replace({spec_of("/data", ",allow=192.0.2.1"), spec_of("/new", "")}));
  EXPECT_EQ(call<nfs3::Getattr>({file})->status, NFS3ERR_STALE);
  EXPECT_EQ(mount("/data")->fhs_status, MNT3ERR_ACCES);
  ASSERT_TRUE(replace({spec_of("/new", "")}));
  EXPECT_EQ(call<nfs3::Getattr>({file})->status, NFS3ERR_STALE);
  EXPECT_EQ(write(file, 0, pattern(20000), true).status, NFS3ERR_STALE);
  EXPECT_EQ(mount("/data")->fhs_status, MNT3ERR_NOENT);
  ASSERT_TRUE(replace({spec_of("/data", ""), spec_of("/new", "")}));
  // The directory is exported again. The handle of a file on disk is valid again. An export in memory starts empty, so
  // the handle of a former file stays stale.
  EXPECT_EQ(call<nfs3::Getattr>({file})->status, in_memory() ? NFS3ERR_STALE : NFS3_OK);
}

TEST_P(Policy, ChecksTheExportOfASecondDirectory) {
  const nfs_fh3 here = root("/data");
  const nfs_fh3 there = root("/all");
  const nfs_fh3 file = create(here, "f");
  ASSERT_TRUE(replace({spec_of("/data", ""), spec_of("/all", ",allow=192.0.2.1")}));
  EXPECT_EQ(call<nfs3::Rename>({in(here, "f"), in(there, "f")})->status, NFS3ERR_STALE);
  EXPECT_EQ(call<nfs3::Link>({file, in(there, "f")})->status, NFS3ERR_STALE);
  nfs_fh3 forged = here;
  forged.data[10] ^= std::byte{1};
  EXPECT_EQ(call<nfs3::Rename>({in(here, "f"), in(forged, "f")})->status, NFS3ERR_BADHANDLE);
}

INSTANTIATE_TEST_SUITE_P(Backends, Policy, ::testing::Values("memory", "disk"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace rpcrdma::nfsd
