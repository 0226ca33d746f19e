// SPDX-License-Identifier: BSD-3-Clause
// A client that takes reverse calls, and a hand-made server.
#include <gtest/gtest.h>

#include "exchange.hpp"
#include "raw_peer.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "rpcrdma/responder/reverse_service.hpp"
#include "support/run.hpp"

namespace rpcrdma::test {
namespace {

// [8167-5.3-b] [8167-4.1-a] [8167-4.1-c]
TEST(ReverseCalls, WithChunksAreAnsweredByErrChunk) {
  boost::asio::io_context context;
  fabric::LoopbackNetwork network(context);
  const auto client_fabric = network.make_fabric("client"), peer_fabric = network.make_fabric("peer");
  memory::Pool pool(*client_fabric);
  RawPeer peer(*peer_fabric);
  ShapedHandler handler;
  std::unique_ptr<transport::ReverseService> service;
  auto client = transport::Client::make(*client_fabric, pool, peer.listen(), {}, {});
  service = transport::ReverseService::make(*client, handler, 2, {});
  ShapedCall call(pool, client->requester(), {});
  client->requester().submit(call);
  ASSERT_TRUE(run_until(context, [&] { return !peer.messages.empty(); }));
  const auto forward = peer.take();

  wire::Header header;
  header.xid = call.xid;  // alive in the other direction too
  header.credits = 99;
  const Bytes payload = words({call.xid, 0, 1, 0, 0, 0});
  peer.send(header, payload);
  run_ready(context);
  const auto good = peer.take();
  EXPECT_EQ(good.payload, words({call.xid, 1, 1}));
  EXPECT_EQ(good.header.credits, 2u);
  EXPECT_EQ(client->requester().counters().granted, 1u);  // 99 was a request, not a grant

  std::vector<wire::Header> chunked(4, header);
  chunked[0].chunks.reads.push_back({20, {1, 100, 0}});
  chunked[1].chunks.add_write_chunk(std::vector<Segment>{{1, 100, 0}});
  chunked[2].chunks.begin_reply_chunk();
  chunked[3].procedure = wire::Procedure::nomsg;
  chunked[3].chunks.reads.push_back({0, {1, 100, 0}});
  for (const wire::Header& bad : chunked) {
    peer.send(bad, bad.procedure == wire::Procedure::nomsg ? Bytes() : payload);
    run_ready(context);
    const auto answer = peer.take();
    EXPECT_EQ(answer.header.procedure, wire::Procedure::error);
    EXPECT_EQ(answer.header.error, wire::ErrorKind::chunk);
    EXPECT_EQ(answer.header.xid, call.xid);
  }
  EXPECT_EQ(call.times_done, 0);
  wire::Header reply = forward.header;
  peer.send(reply, words({call.xid, 1, 1}));
  run_ready(context);
  EXPECT_EQ(call.times_done, 1);
  EXPECT_FALSE(call.status);
  client.reset();
}

}  // namespace
}  // namespace rpcrdma::test
