// SPDX-License-Identifier: BSD-3-Clause
// Linux's server as the peer of the verbs fabric: its private data, and its remote invalidation of windows.
#include <algorithm>
#include <fstream>
#include <iterator>

#include "interop/knfsd/knfsd.hpp"
#include "rpcrdma/wire/header.hpp"
#include "rpcrdma/wire/private_data.hpp"

namespace rpcrdma::test {
namespace {

using fabric::Access;

constexpr std::uint32_t kThreshold = 4096;
constexpr std::uint32_t kNfs = 100003;
constexpr std::uint32_t kAuthSys = 1;
constexpr std::uint32_t kLookup = 3;
constexpr std::uint32_t kRead = 6;
constexpr std::size_t kReplyHeader = 24;  // bytes of the header of an accepted, successful reply without verifier

/// One connection to the server, with a message buffer for each direction.
class Peer : public testing::Test {
 protected:
  Peer() {
    fabric::QueuePairOptions options;
    const auto ours = wire::encode({.remote_invalidation = true, .send_size = kThreshold, .receive_size = kThreshold});
    options.private_data.assign(ours.begin(), ours.end());
    auto made = fabric_->make_connector(knfsd(), options, node_);
    EXPECT_TRUE(made) << made.error().message();
    node_.qp = std::move(*made);
    post_receive();
    fabric_->start(*node_.qp);
    EXPECT_TRUE(run_until(context_, [&] { return node_.established() || node_.disconnected; }));
    EXPECT_TRUE(node_.established()) << node_.disconnected.value_or(error_code()).message();
  }

  void post_receive() { EXPECT_FALSE(node_.qp->post_receive(in_.all(), node_.op(1))); }

  /// Sends one call and waits for its reply. Returns the results without the reply's header, or an empty range if the
  /// reply has no results.
  Octets call(std::uint32_t procedure, Octets arguments, const wire::ChunkLists& chunks = {}) {
    wire::Header header;
    header.xid = ++xid_;
    header.credits = 8;
    header.chunks = chunks;
    const auto length = wire::encode(header, out_.octets);
    EXPECT_TRUE(length);
    Writer rpc(MutableOctets(out_.octets).subspan(*length));
    for (const std::uint32_t word : {xid_, 0u, 2u, kNfs, 3u, procedure, kAuthSys, 20u, 0u, 0u, 0u, 0u, 0u, 0u, 0u})
      rpc.u32(word);
    rpc.octets(arguments);
    const std::size_t seen = node_.count(1);
    EXPECT_FALSE(node_.send(out_.part(0, static_cast<std::uint32_t>(*length + rpc.size())), 2));
    node_.qp->submit();
    EXPECT_TRUE(run_until(context_, [&] { return node_.count(1) > seen || node_.disconnected; }));
    EXPECT_FALSE(node_.disconnected) << node_.disconnected->message();
    return results();
  }

  Octets results() {
    const auto latest =
        std::find_if(node_.log.rbegin(), node_.log.rend(), [](const auto& done) { return done.tag == 1; });
    if (latest == node_.log.rend()) return {};
    last_ = latest->completion;
    const Octets message = Octets(in_.octets).first(last_.length);
    const auto length = wire::decode(message, reply_);
    EXPECT_TRUE(length);
    if (!length || message.size() < *length + kReplyHeader) return {};
    Reader rpc(message.subspan(*length));
    EXPECT_EQ(rpc.u32(), xid_);
    for (const std::uint32_t word : {1u, 0u, 0u, 0u, 0u}) EXPECT_EQ(rpc.u32(), word);
    return rpc.rest();
  }

  /// Looks up the file `numbers` in the root of the export; returns its handle in XDR.
  Bytes lookup() {
    Bytes arguments(64);
    Writer out(arguments);
    out.u32(8);
    out.octets(from_hex(kRootHandle));
    out.u32(7);
    out.octets(from_hex("6e756d6265727300"));
    const Octets found = call(kLookup, Octets(arguments).first(out.size()));
    Reader in(found);
    EXPECT_EQ(in.u32(), 0u);
    const std::uint32_t size = in.u32();
    const Octets handle = in.octets(size);
    EXPECT_TRUE(in.ok());
    Bytes xdr(4 + pad4(std::size_t{size}));
    Writer copy(xdr);
    copy.u32(size);
    copy.octets(handle);
    return xdr;
  }

  boost::asio::io_context context_;
  std::unique_ptr<fabric::Fabric> fabric_ = open_at_device(context_);
  Memory in_{*fabric_, kThreshold};
  Memory out_{*fabric_, kThreshold};
  Node node_{*fabric_};
  wire::Header reply_;
  fabric::Completion last_;
  std::uint32_t xid_ = 0x51000000;
};

// [8797-5.2] Linux's private data is found, although zeros may follow it
TEST_F(Peer, SaysWhatItCanDo) {
  const auto data = wire::find_private_data(node_.info->private_data);
  ASSERT_TRUE(data);
  EXPECT_FALSE(data->remote_invalidation);
  EXPECT_EQ(data->receive_size, 4096u);
  EXPECT_GE(node_.info->inbound_reads, 1u);
}

TEST_F(Peer, AnswersInline) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(call(0, {}).empty());
    EXPECT_FALSE(last_.invalidated);
    post_receive();
  }
}

// [8166-4.4.2] Each READ call exposes memory by one handle, which the server must invalidate with its reply. The client
// itself invalidates no handle. The test makes enough calls for handles to recur.
TEST_F(Peer, InvalidatesOurWindow) {
  const Bytes handle = lookup();
  post_receive();
  constexpr std::uint32_t kSize = 20000;
  Memory target(*fabric_, kSize);
  std::ifstream file(std::string(std::getenv("RPCRDMA_TEST_EXPORT")) + "/numbers", std::ios::binary);
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  ASSERT_GE(expected.size(), 32768u);
  auto window = node_.qp->make_window();
  ASSERT_TRUE(window);
  for (std::uint32_t i = 0; i < 300; ++i) {
    const auto bound = node_.qp->bind(**window, target.all(), Access::remote_write);
    ASSERT_TRUE(bound) << bound.error().message();
    wire::ChunkLists chunks;
    chunks.add_write_chunk({&*bound, 1});
    Bytes arguments = handle;
    arguments.resize(handle.size() + 12);
    Writer rest(MutableOctets(arguments).subspan(handle.size()));
    rest.u64(i * 10);
    rest.u32(kSize);
    const Octets results = call(kRead, arguments, chunks);
    ASSERT_FALSE(results.empty());
    EXPECT_EQ(Reader(results).u32(), 0u);
    ASSERT_EQ(last_.invalidated, bound->handle) << i;
    ASSERT_FALSE((*window)->bound());
    ASSERT_EQ(reply_.chunks.write_chunk(0)[0].length, kSize);
    ASSERT_EQ(std::memcmp(target.octets.data(), expected.data() + i * 10, kSize), 0) << i;
    post_receive();
  }
}

}  // namespace
}  // namespace rpcrdma::test
