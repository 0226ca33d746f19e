// SPDX-License-Identifier: BSD-3-Clause
#include <set>

#include "served.hpp"

namespace rpcrdma::nfsd {
namespace {

class Mount : public Served {
 protected:
  void SetUp() override {
    add_export("/fixed", ",ro");
    add_export("/far", ",allow=192.0.2.0/24,allow=2001:db8::/32");
    add_export("/near", ",allow=127.0.0.0/8");
    start();
  }
};

TEST_P(Mount, ExactNamesOnly) {
  const auto reply = mount("/data");
  ASSERT_EQ(reply->fhs_status, MNT3_OK);
  const mountres3_ok& ok = reply->mountres3_u.mountinfo;
  EXPECT_LE(ok.fhandle.length, 64u);
  ASSERT_EQ(ok.auth_flavors.auth_flavors_len, 2u);
  EXPECT_EQ(ok.auth_flavors.auth_flavors_val[0], 1);
  EXPECT_EQ(mount("/data/")->fhs_status, MNT3_OK);
  for (const char* path : {"/dat", "/data/x", "data", "", "/", "/data/../data"})
    EXPECT_EQ(mount(path)->fhs_status, MNT3ERR_NOENT) << path;
  EXPECT_EQ(stat(root("/near")).type, NF3DIR);
}

TEST_P(Mount, AddressesAreCheckedAtMountAndAtEachCall) {
  EXPECT_EQ(mount("/far")->fhs_status, MNT3ERR_ACCES);
  const ExportPtr far = exports_.find(std::string_view("/far"));
  const FileHandle stolen = HandleCodec(secret_).encode(far->id, far->file_system->root());
  nfs_fh3 handle{};
  handle.set(stolen.octets());
  EXPECT_EQ(call<nfs3::Getattr>({handle})->status, NFS3ERR_STALE);
}

TEST_P(Mount, ReadOnlyRefusesChanges) {
  const nfs_fh3 top = root("/fixed");
  EXPECT_EQ(stat(top).type, NF3DIR);
  CREATE3args create{};
  create.where = in(top, "f");
  EXPECT_EQ(call<nfs3::Create>(create)->status, NFS3ERR_ROFS);
  EXPECT_EQ(call<nfs3::Mkdir>({in(top, "d"), {}})->status, NFS3ERR_ROFS);
  EXPECT_EQ(call<nfs3::Remove>({in(top, "f")})->status, NFS3ERR_ROFS);
  EXPECT_EQ(call<nfs3::Rename>({in(top, "f"), in(top, "g")})->status, NFS3ERR_ROFS);
  EXPECT_EQ(call<nfs3::Rename>({in(root(), "f"), in(top, "g")})->status, NFS3ERR_ROFS);
  EXPECT_EQ(call<nfs3::Setattr>({top, {}, {}})->status, NFS3ERR_ROFS);
  EXPECT_EQ(write(top, 0, "x", false).status, NFS3ERR_ROFS);
  const auto granted = call<nfs3::Access>({top, 0x3f});
  EXPECT_EQ(granted->ACCESS3res_u.resok.access & (ACCESS3_MODIFY | ACCESS3_EXTEND | ACCESS3_DELETE), 0u);
}

TEST_P(Mount, BetweenExportsNothingMoves) {
  const nfs_fh3 here = root("/data");
  const nfs_fh3 there = root("/near");
  const nfs_fh3 file = create(here, "f");
  EXPECT_EQ(call<nfs3::Rename>({in(here, "f"), in(there, "f")})->status, NFS3ERR_XDEV);
  EXPECT_EQ(call<nfs3::Link>({file, in(there, "f")})->status, NFS3ERR_XDEV);
  EXPECT_NE(stat(here).fsid, stat(there).fsid);
}

TEST_P(Mount, ListsOfMountsAndExports) {
  mount("/data");
  mount("/near");
  const auto dump = [&] {
    std::set<std::string> seen;
    const auto reply = call<mount3::Dump>({});
    for (u_int i = 0; i < reply->count; ++i) {
      EXPECT_EQ(reply->items[i].ml_hostname.view(), "127.0.0.1");
      seen.emplace(reply->items[i].ml_directory.view());
    }
    return seen;
  };
  EXPECT_EQ(dump(), (std::set<std::string>{"/data", "/near"}));
  dirpath path{};
  path.set("/near");
  call<mount3::Umnt>(path);
  EXPECT_EQ(dump(), std::set<std::string>{"/data"});
  call<mount3::Umntall>({});
  EXPECT_EQ(dump(), std::set<std::string>{});
  const auto exports = call<mount3::Export>({});
  ASSERT_EQ(exports->count, 4u);
  EXPECT_EQ(exports->items[1].ex_dir.view(), "/far");
  ASSERT_EQ(exports->items[1].ex_groups.count, 2u);
  EXPECT_EQ(exports->items[1].ex_groups.items[0].gr_name.view(), "192.0.2.0/24");
  EXPECT_EQ(exports->items[3].ex_groups.count, 0u);
  call<mount3::Null>({});
  call<nfs3::Null>({});
}

// The reply to DUMP is bounded, so that it fits the Reply chunk that a client offers.
TEST_P(Mount, DumpIsBounded) {
  for (int i = 0; i < 1000; ++i) mounts_.add("host", "/" + std::to_string(i) + std::string(1000, 'x'));
  const auto reply = call<mount3::Dump>({});
  ASSERT_GT(reply->count, 200u);
  EXPECT_EQ(reply->items[reply->count - 1].ml_directory.view().substr(0, 4), "/999") << "the latest remain";
}

// In each round the connection is lost one frame later than in the round before. In no round does the server execute
// the retransmitted REMOVE a second time.
TEST_P(Mount, ARemoveSentAgainIsAnsweredFromTheCache) {
  const nfs_fh3 top = root();
  for (std::uint64_t frames = 0; frames < 12; ++frames) {
    create(top, "f");
    network_.drop_connection_after(frames);
    EXPECT_EQ(call<nfs3::Remove>({in(top, "f")})->status, NFS3_OK) << frames;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Mount, ::testing::Values("memory", "disk"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace rpcrdma::nfsd
