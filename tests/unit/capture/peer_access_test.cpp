// SPDX-License-Identifier: BSD-3-Clause
#include "peer_access.hpp"

#include <gtest/gtest.h>

namespace rpcrdma::capture {
namespace {

using fabric::Access;

constexpr std::uint32_t kXid = 0x1234;

/// Passes the messages of one call, and the windows that they name, to a PeerAccess.
class PeerAccessTest : public testing::Test {
 protected:
  void bind(std::uint32_t handle, std::uint64_t offset, std::uint32_t size, Access access) {
    access_.bound({handle, size, offset}, {memory_.data(), size, 0}, access);
  }
  std::vector<std::byte> encoded(const wire::Header& header) {
    std::vector<std::byte> message(4096);
    const auto size = wire::encode(header, message);
    EXPECT_TRUE(size);
    message.resize(*size);
    if (header.procedure != wire::Procedure::msg) return message;
    for (int shift = 24; shift >= 0; shift -= 8)  // the RPC message begins with the XID
      message.push_back(static_cast<std::byte>(header.xid >> shift & 0xff));
    return message;
  }
  static wire::Header header() {
    wire::Header out;
    out.xid = kXid;
    return out;
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(1000);
  PeerAccess access_;
};

TEST_F(PeerAccessTest, ReadChunkIsReadBeforeTheReply) {
  bind(7, 100, 50, Access::remote_read);
  wire::Header call = header();
  call.chunks.reads.push_back({0, {7, 50, 100}});
  access_.sent(encoded(call));
  wire::Header other = header();
  other.xid = kXid + 1;
  EXPECT_TRUE(access_.received(encoded(other)).empty());
  const auto& parts = access_.received(encoded(header()));
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].access, Access::remote_read);
  EXPECT_EQ(parts[0].data.size, 50u);
  EXPECT_TRUE(access_.received(encoded(header())).empty());  // each access is reported once
}

TEST_F(PeerAccessTest, WriteListAndReplyChunkSayWhatWasWritten) {
  bind(1, 1000, 100, Access::remote_write);
  bind(2, 5000, 300, Access::remote_write);
  wire::Header reply = header();
  const Segment written{1, 60, 1020};
  reply.chunks.add_write_chunk({&written, 1});
  reply.chunks.begin_reply_chunk();
  reply.chunks.add_reply_segment({2, 300, 5000});
  const auto& parts = access_.received(encoded(reply));
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].data.data, memory_.data() + 20);
  EXPECT_EQ(parts[0].data.size, 60u);
  EXPECT_EQ(parts[1].data.size, 300u);
}

TEST_F(PeerAccessTest, RangesBeyondTheWindowAreIgnored) {
  bind(1, 1000, 100, Access::remote_write);
  bind(3, 0, 100, Access::remote_read);
  for (const Segment& lie : {Segment{1, 101, 1000}, Segment{1, 1, 999}, Segment{1, 1, 1101}, Segment{1, 50, 1051},
                             Segment{1, 0xffffffff, 1000}, Segment{1, 10, ~std::uint64_t{0}}, Segment{2, 1, 1000},
                             Segment{3, 10, 0}, Segment{1, 0, 1000}}) {
    wire::Header reply = header();
    reply.chunks.add_write_chunk({&lie, 1});
    EXPECT_TRUE(access_.received(encoded(reply)).empty());
  }
  EXPECT_TRUE(access_.received({}).empty());
  access_.unbound(1);
  wire::Header reply = header();
  const Segment late{1, 10, 1000};
  reply.chunks.add_write_chunk({&late, 1});
  EXPECT_TRUE(access_.received(encoded(reply)).empty());
}

}  // namespace
}  // namespace rpcrdma::capture
