// SPDX-License-Identifier: BSD-3-Clause
// The Upper-Layer Binding: which items of each procedure are eligible; the bounds of replies, compared with encoded
// replies.
#include <gtest/gtest.h>

#include "rpcrdma/rpc/message.hpp"
#include "rpcrdma/rpc/mount3.hpp"
#include "rpcrdma/rpc/nfs3.hpp"
#include "unit/xdr/samples.hpp"
#include "unit/xdr/stream.hpp"

namespace rpcrdma::rpc {
namespace {

using test::OutMessage;
using test::sample;

/// The size of a reply with its RPC header.
template <Procedure P>
std::uint32_t reply_size(const typename P::Result& result) {
  OutMessage message;
  xdr::Encoder out(message.out());
  encode(out, ReplyHeader{.xid = 1});
  EXPECT_TRUE(out.encode(&P::xdr_result, result)) << P::kInfo.name;
  return message.payload().length;
}

// [8166-6.2-a] [8166-4.3.3-a] Checks a procedure whose successful reply has a fixed size: the bound for the reply is
// exactly this size, and a failed reply is not larger.
template <Procedure P>
void expect_exact(std::uint32_t number, std::uint32_t size) {
  const auto bound = P::max_reply(sample<typename P::Args>());
  EXPECT_EQ(P::kInfo.number, number);
  EXPECT_EQ(bound.bulk[0], 0u);
  EXPECT_EQ(bound.fixed, size) << P::kInfo.name;
  EXPECT_EQ(reply_size<P>(sample<typename P::Result>()), size) << P::kInfo.name;
  typename P::Result failed{};
  failed.status = NFS3ERR_IO;
  EXPECT_LE(reply_size<P>(failed), size) << P::kInfo.name;
}

TEST(Nfs3Bounds, FixedReplies) {
  EXPECT_EQ(nfs3::Null::max_reply({}).fixed, 24u);
  expect_exact<nfs3::Getattr>(1, 112);
  expect_exact<nfs3::Setattr>(2, 144);
  expect_exact<nfs3::Lookup>(3, 272);
  expect_exact<nfs3::Access>(4, 120);
  expect_exact<nfs3::Write>(7, 160);
  expect_exact<nfs3::Create>(8, 304);
  expect_exact<nfs3::Mkdir>(9, 304);
  expect_exact<nfs3::Symlink>(10, 304);
  expect_exact<nfs3::Mknod>(11, 304);
  expect_exact<nfs3::Remove>(12, 144);
  expect_exact<nfs3::Rmdir>(13, 144);
  expect_exact<nfs3::Rename>(14, 260);
  expect_exact<nfs3::Link>(15, 232);
  expect_exact<nfs3::Fsstat>(18, 168);
  expect_exact<nfs3::Fsinfo>(19, 164);
  expect_exact<nfs3::Pathconf>(20, 140);
  expect_exact<nfs3::Commit>(21, 152);
}

TEST(Nfs3Bounds, BulkReplies) {
  const auto read = nfs3::Read::max_reply(sample<READ3args>());
  EXPECT_EQ(read.fixed, 128u);
  EXPECT_EQ(read.bulk[0], 8192u);  // 8190 bytes and their pad
  EXPECT_EQ(reply_size<nfs3::Read>(sample<READ3res>()), read.fixed + read.bulk[0]);
  const auto readlink = nfs3::Readlink::max_reply(sample<READLINK3args>());
  EXPECT_EQ(readlink.fixed, 120u);
  EXPECT_EQ(reply_size<nfs3::Readlink>(sample<READLINK3res>()), readlink.fixed + readlink.bulk[0]);
  READ3args all = sample<READ3args>();
  all.count = 0xffffffff;  // the sum of data and pad must not wrap
  EXPECT_GE(nfs3::Read::max_reply(all).bulk[0], 0xfffffffcu);
}

/// READDIR: `count` limits the size of READDIR3resok (RFC 1813 section 3.3.16). The sample nearly reaches this limit.
TEST(Nfs3Bounds, Directories) {
  const auto readdir = nfs3::Readdir::max_reply(sample<READDIR3args>());
  const std::uint32_t listed = reply_size<nfs3::Readdir>(sample<READDIR3res>());
  EXPECT_GE(listed - 28, 3900u);
  EXPECT_LE(listed - 28, 4096u);
  EXPECT_GE(readdir.fixed, 28 + 4096u);
  // Some servers apply `count` to the entries alone. The bound therefore has room for entries of `count` bytes and for
  // the other parts of the reply: header, status, attributes, verifier, end of list and eof.
  EXPECT_GE(readdir.fixed, 24 + 4 + 88 + 8 + 8 + 4096u);
  const auto plus = nfs3::Readdirplus::max_reply(sample<READDIRPLUS3args>());
  EXPECT_LE(reply_size<nfs3::Readdirplus>(sample<READDIRPLUS3res>()), plus.fixed);
  EXPECT_GE(plus.fixed, 24 + 4 + 88 + 8 + 8 + 8192u);
  READDIR3args all = sample<READDIR3args>();
  all.count = 0xffffffff;
  EXPECT_GE(nfs3::Readdir::max_reply(all).fixed, 0xfffffffcu);
}

TEST(Mount3Bounds, Replies) {
  std::vector<int> flavors(MNT3_MAXFLAVORS, 1);
  mountres3 result{};
  test::fill(result.mountres3_u.mountinfo.fhandle);
  result.mountres3_u.mountinfo.auth_flavors = {MNT3_MAXFLAVORS, flavors.data()};
  EXPECT_EQ(reply_size<mount3::Mnt>(result), mount3::Mnt::max_reply({}).fixed);
  EXPECT_EQ(reply_size<mount3::Umnt>({}), mount3::Umnt::max_reply({}).fixed);
}

template <Procedure... P>
std::vector<ProcedureInfo> infos() {
  return {P::kInfo...};
}

std::vector<ProcedureInfo> all_nfs3() {
  using namespace nfs3;
  return infos<Null, Getattr, Setattr, Lookup, Access, Readlink, Read, Write, Create, Mkdir, Symlink, Mknod, Remove,
               Rmdir, Rename, Link, Readdir, Readdirplus, Fsstat, Fsinfo, Pathconf, Commit>();
}

// [8267-4-a] [8166-3.4.2-a] only WRITE data, SYMLINK path, READ data and READLINK path are eligible
TEST(Nfs3Binding, Eligibility) {
  const auto all = all_nfs3();
  ASSERT_EQ(all.size(), 22u);
  for (std::uint32_t i = 0; i < 22; ++i) {
    EXPECT_EQ(all[i].number, i);
    EXPECT_EQ(all[i].program, 100003u);
    EXPECT_EQ(all[i].version, 3u);
    EXPECT_EQ(all[i].eligible_arguments, i == 7 || i == 10 ? 1 : 0) << all[i].name;
    EXPECT_EQ(all[i].eligible_results, i == 5 || i == 6 ? 1 : 0) << all[i].name;
  }
}

TEST(Nfs3Binding, Idempotency) {
  for (const ProcedureInfo& info : all_nfs3()) {
    const bool changes_names = info.number == 2 || (info.number >= 8 && info.number <= 15);
    EXPECT_EQ(info.idempotent, !changes_names) << info.name;
  }
}

// RFC 8267 section 5.1: MOUNT has no DDP-eligible items.
TEST(Mount3Binding, NothingIsEligible) {
  using namespace mount3;
  for (const ProcedureInfo& info : infos<Null, Mnt, Dump, Umnt, Umntall, Export>()) {
    EXPECT_EQ(info.program, 100005u);
    EXPECT_EQ(info.eligible_arguments + info.eligible_results, 0);
  }
}

}  // namespace
}  // namespace rpcrdma::rpc
