// SPDX-License-Identifier: BSD-3-Clause
#include <map>

#include "served.hpp"

namespace rpcrdma::nfsd {
namespace {

class Listing : public Served {
 protected:
  void SetUp() override {
    start();
    directory_ = mkdir(root(), "d");
    for (int i = 0; i < 300; ++i) {
      names_.insert("name-" + std::to_string(i * i));
      create(directory_, "name-" + std::to_string(i * i));
    }
    names_.insert({".", ".."});
  }

  /// Returns the encoded size of READDIR3resok, computed from the decoded reply.
  static std::uint32_t size_of(const READDIR3resok& ok) {
    std::uint32_t size = 88 + 8 + 4 + 4;
    for (u_int i = 0; i < ok.reply.entries.count; ++i)
      size += 4 + 8 + 4 + pad4(ok.reply.entries.items[i].name.length) + 8;
    return size;
  }

  nfs_fh3 directory_{};
  std::multiset<std::string> names_;
};

TEST_P(Listing, ReaddirWithinItsCount) {
  for (const count3 count : {160u, 512u, 4096u, 65'536u}) {
    std::multiset<std::string> seen;
    READDIR3args args{};
    args.dir = directory_;
    args.count = count;
    for (bool eof = false; !eof;) {
      const auto reply = call<nfs3::Readdir>(args);
      ASSERT_EQ(reply->status, NFS3_OK) << count;
      const READDIR3resok& ok = reply->READDIR3res_u.resok;
      ASSERT_LE(size_of(ok), count);
      ASSERT_TRUE(ok.reply.eof || ok.reply.entries.count != 0);
      for (u_int i = 0; i < ok.reply.entries.count; ++i) {
        seen.emplace(ok.reply.entries.items[i].name.view());
        args.cookie = ok.reply.entries.items[i].cookie;
      }
      std::memcpy(args.cookieverf, ok.cookieverf, sizeof args.cookieverf);
      eof = ok.reply.eof != FALSE;
    }
    EXPECT_EQ(seen, names_) << count;
  }
}

TEST_P(Listing, ReaddirplusGivesHandlesAndAttributes) {
  std::map<std::string, nfs_fh3> seen;
  READDIRPLUS3args args{};
  args.dir = directory_;
  args.dircount = 2000;
  args.maxcount = 9000;
  for (bool eof = false; !eof;) {
    const auto reply = call<nfs3::Readdirplus>(args);
    ASSERT_EQ(reply->status, NFS3_OK);
    const READDIRPLUS3resok& ok = reply->READDIRPLUS3res_u.resok;
    std::uint32_t size = 88 + 8 + 4 + 4;
    std::uint32_t names = 0;
    for (u_int i = 0; i < ok.reply.entries.count; ++i) {
      const entryplus3& entry = ok.reply.entries.items[i];
      ASSERT_TRUE(entry.name_attributes.attributes_follow && entry.name_handle.handle_follows);
      const nfs_fh3& handle = entry.name_handle.post_op_fh3_u.handle;
      EXPECT_EQ(entry.fileid, entry.name_attributes.post_op_attr_u.attributes.fileid);
      EXPECT_TRUE(seen.emplace(entry.name.view(), handle).second) << entry.name.view();
      size += 4 + 8 + 4 + pad4(entry.name.length) + 8 + 88 + 4 + 4 + pad4(handle.length);
      names += 8 + 4 + pad4(entry.name.length) + 8;
      args.cookie = entry.cookie;
    }
    EXPECT_LE(size, args.maxcount);
    EXPECT_LE(names, args.dircount);
    std::memcpy(args.cookieverf, ok.cookieverf, sizeof args.cookieverf);
    eof = ok.reply.eof != FALSE;
  }
  EXPECT_EQ(seen.size(), names_.size());
  EXPECT_EQ(seen.at("."), directory_);
  EXPECT_EQ(seen.at("name-81"), lookup(directory_, "name-81").LOOKUP3res_u.resok.object);
}

TEST_P(Listing, TooSmall) {
  READDIR3args args{};
  args.dir = directory_;
  args.count = 100;
  EXPECT_EQ(call<nfs3::Readdir>(args)->status, NFS3ERR_TOOSMALL);
  args.count = 104 + 27;  // the entry "." takes 28 bytes
  EXPECT_EQ(call<nfs3::Readdir>(args)->status, NFS3ERR_TOOSMALL);
  READDIRPLUS3args plus{};
  plus.dir = directory_;
  plus.dircount = 100;
  plus.maxcount = 120;
  EXPECT_EQ(call<nfs3::Readdirplus>(plus)->status, NFS3ERR_TOOSMALL);
}

TEST_P(Listing, WrongVerifier) {
  READDIR3args args{};
  args.dir = directory_;
  args.cookie = 77;
  args.count = 4096;
  std::memcpy(args.cookieverf, "nonsense", 8);
  EXPECT_EQ(call<nfs3::Readdir>(args)->status, NFS3ERR_BAD_COOKIE);
}

INSTANTIATE_TEST_SUITE_P(Backends, Listing, ::testing::Values("memory", "disk"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace rpcrdma::nfsd
