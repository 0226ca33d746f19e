// SPDX-License-Identifier: BSD-3-Clause
// Conversion of NFSv3 values to XDR types and back.
#include "rpcrdma/nfs/convert.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rpcrdma::nfs {
namespace {

TEST(Convert, Attributes) {
  const Attributes in{.type = FileType::block,
                      .mode = 04755,
                      .links = 2,
                      .uid = 3,
                      .gid = 4,
                      .size = std::uint64_t{5} << 40,
                      .used = 6,
                      .device = {7, 8},
                      .fsid = 9,
                      .fileid = 10,
                      .atime = {11, 12},
                      .mtime = {13, 14},
                      .ctime = {15, 16}};
  const std::optional<Attributes> out = from_wire(to_wire(std::optional(in), 99));
  ASSERT_TRUE(out);
  EXPECT_EQ(out->type, in.type);
  EXPECT_EQ(out->mode, in.mode);
  EXPECT_EQ(out->links, in.links);
  EXPECT_EQ(out->uid, in.uid);
  EXPECT_EQ(out->gid, in.gid);
  EXPECT_EQ(out->size, in.size);
  EXPECT_EQ(out->used, in.used);
  EXPECT_EQ(out->device.major, in.device.major);
  EXPECT_EQ(out->device.minor, in.device.minor);
  EXPECT_EQ(out->fsid, 99u);
  EXPECT_EQ(out->fileid, in.fileid);
  EXPECT_EQ(out->atime, in.atime);
  EXPECT_EQ(out->mtime, in.mtime);
  EXPECT_EQ(out->ctime, in.ctime);
  EXPECT_FALSE(from_wire(to_wire(std::optional<Attributes>(), 99)));
}

TEST(Convert, SetAttributes) {
  const SetAttributes nothing = from_wire(to_wire(SetAttributes()));
  EXPECT_FALSE(nothing.mode || nothing.uid || nothing.gid || nothing.size || nothing.atime || nothing.mtime);
  const SetAttributes in{
      .mode = 0644, .uid = 1, .gid = 2, .size = 3, .atime = {SetTime::How::server, {}}, .mtime = SetTime::to({4, 5})};
  const SetAttributes out = from_wire(to_wire(in));
  EXPECT_EQ(out.mode, in.mode);
  EXPECT_EQ(out.uid, in.uid);
  EXPECT_EQ(out.gid, in.gid);
  EXPECT_EQ(out.size, in.size);
  EXPECT_EQ(out.atime.how, SetTime::How::server);
  EXPECT_EQ(out.mtime.how, SetTime::How::client);
  EXPECT_EQ(out.mtime.value, in.mtime.value);
}

TEST(Convert, NoUserHasTheIdMinusOne) {
  const SetAttributes out = from_wire(to_wire(SetAttributes{.uid = UINT32_MAX, .gid = UINT32_MAX}));
  EXPECT_FALSE(out.uid || out.gid);
}

TEST(Convert, Handles) {
  const std::vector<std::byte> bytes(FileHandle::kMaxSize, std::byte{7});
  const FileHandle full{bytes};
  EXPECT_EQ(from_wire(to_wire(full)), full);
  EXPECT_EQ(from_wire(optional_handle(full)), full);
  EXPECT_EQ(from_wire(post_op_fh3{}), std::nullopt);
  EXPECT_EQ(FileHandle(std::vector<std::byte>(100, std::byte{7})), full) << "truncated";
}

TEST(Convert, Verifiers) {
  const Verifier in{std::byte{1}, std::byte{255}};
  writeverf3 wire;
  to_wire(in, wire);
  EXPECT_EQ(from_wire(wire), in);
}

}  // namespace
}  // namespace rpcrdma::nfs
