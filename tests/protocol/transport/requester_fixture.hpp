// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <gtest/gtest.h>

#include <deque>

#include "exchange.hpp"
#include "raw_peer.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/wire/private_data.hpp"
#include "support/pattern.hpp"
#include "support/run.hpp"

namespace rpcrdma::test {

using transport::TransportError;

/// A client, and a hand-made server that it is connected to.
class RequesterTest : public testing::Test {
 protected:
  void start(transport::ClientOptions options = {}) {
    options.first_backoff = options.last_backoff = std::chrono::milliseconds(1);
    const auto r = wire::encode(wire::PrivateData{true, 4096, 4096});
    peer.private_data.assign(r.begin(), r.end());
    client = transport::Client::make(*client_fabric, pool, peer.listen(), options, {});
  }
  ShapedCall& submit(const Shape& shape = {}) {
    calls.push_back(std::make_unique<ShapedCall>(pool, client->requester(), shape));
    client->requester().submit(*calls.back());
    run_ready(context);
    return *calls.back();
  }
  /// Waits for the next call to reach the peer.
  RawPeer::Message next_call() {
    EXPECT_TRUE(run_until(context, [&] { return !peer.messages.empty(); }));
    return peer.take();
  }
  /// Returns the header of an RDMA_MSG reply to `call`: it repeats the Write chunks and the Reply chunk of the call
  /// with unchanged lengths.
  static wire::Header reply_to(const wire::Header& call, std::uint32_t credits = 32) {
    wire::Header out = call;
    out.credits = credits;
    out.procedure = wire::Procedure::msg;
    out.chunks.reads.clear();
    return out;
  }
  static Bytes small_reply(std::uint32_t xid) { return words({xid, 1, 1}); }
  void answer(const wire::Header& call, std::uint32_t credits = 32) {
    wire::Header reply = reply_to(call, credits);
    for (std::size_t i = 0; i < reply.chunks.write_chunk_count(); ++i)
      for (Segment& segment : reply.chunks.write_chunk(i)) segment.length = 0;
    for (Segment& segment : reply.chunks.reply_chunk()) segment.length = 0;
    send(reply, small_reply(call.xid));
  }
  void send(const wire::Header& reply, Octets payload, std::optional<std::uint32_t> invalidate = {}) {
    peer.send(reply, payload, invalidate);
    run_ready(context);
  }
  void send(std::string_view hex) {
    peer.send(from_hex(hex));
    run_ready(context);
  }
  static std::string hex(std::uint32_t xid) { return to_hex(words({xid})); }

  boost::asio::io_context context;
  fabric::LoopbackNetwork network{context};
  std::unique_ptr<fabric::LoopbackFabric> client_fabric = network.make_fabric("client");
  std::unique_ptr<fabric::LoopbackFabric> peer_fabric = network.make_fabric("peer");
  memory::Pool pool{*client_fabric};
  RawPeer peer{*peer_fabric};
  std::deque<std::unique_ptr<ShapedCall>> calls;
  std::unique_ptr<transport::Client> client;
};

}  // namespace rpcrdma::test
