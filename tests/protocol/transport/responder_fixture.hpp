// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <gtest/gtest.h>

#include "exchange.hpp"
#include "raw_peer.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "rpcrdma/responder/server.hpp"
#include "rpcrdma/wire/private_data.hpp"
#include "support/run.hpp"

namespace rpcrdma::test {

inline constexpr std::uint32_t kXid = 0xa0000001;

/// A server, and a hand-made client that is connected to it.
class ResponderTest : public testing::Test {
 protected:
  void start(const transport::ServerOptions& options = {}) {
    server = transport::Server::make({{server_fabric.get(), &pool, &handler}}, options, {});
    server->listen({boost::asio::ip::make_address("127.0.0.1"), 0},
                   [this](Result<fabric::Endpoint> bound) { endpoint = bound.value(); });
    run_ready(context);
    const auto r = wire::encode(wire::PrivateData{true, 4096, 4096});
    peer.private_data.assign(r.begin(), r.end());
    connect();
  }
  void connect() {
    peer.connect(endpoint);
    run_ready(context);
    ASSERT_TRUE(peer.connected());
  }
  /// Sends `message`; returns the answer in hexadecimal, or "" if there is none.
  std::string answer(Octets message) {
    peer.send(message);
    run_ready(context);
    return to_hex(peer.take().octets);
  }
  std::string answer(std::string_view hex) { return answer(from_hex(hex)); }
  /// Returns a call of the test protocol that has no arguments and no body. It asks for results of the lengths in
  /// `results` and for a reply body of `reply_body` bytes.
  static Bytes small_call(std::uint32_t xid, std::initializer_list<std::uint32_t> results = {},
                          std::uint32_t reply_body = 0) {
    Bytes out = words({xid, 0, 7, reply_body, 0, static_cast<std::uint32_t>(results.size())});
    const Bytes lengths = words(results);
    out.insert(out.end(), lengths.begin(), lengths.end());
    return out;
  }
  static wire::Header header(std::uint32_t xid, wire::Procedure procedure = wire::Procedure::msg) {
    wire::Header out;
    out.xid = xid;
    out.credits = 32;
    out.procedure = procedure;
    return out;
  }
  RawPeer::Message exchange(const wire::Header& call, Octets payload) {
    peer.send(call, payload);
    run_ready(context);
    return peer.take();
  }
  void expect_alive() {
    const auto reply = exchange(header(0xbbbb), small_call(0xbbbb));
    EXPECT_EQ(reply.header.procedure, wire::Procedure::msg);
    EXPECT_EQ(reply.payload, words({0xbbbb, 1, 7}));
  }
  void expect_err_chunk(const RawPeer::Message& message, std::uint32_t xid = kXid) {
    ASSERT_EQ(message.octets.size(), 20u);
    EXPECT_EQ(message.header.procedure, wire::Procedure::error);
    EXPECT_EQ(message.header.error, wire::ErrorKind::chunk);
    EXPECT_EQ(message.header.xid, xid);  // [8166-4.5-d]
    EXPECT_FALSE(message.invalidated);
  }

  boost::asio::io_context context;
  fabric::LoopbackNetwork network{context};
  std::unique_ptr<fabric::LoopbackFabric> server_fabric = network.make_fabric("server");
  std::unique_ptr<fabric::LoopbackFabric> peer_fabric = network.make_fabric("peer");
  memory::Pool pool{*server_fabric};
  ShapedHandler handler;
  fabric::Endpoint endpoint;
  std::unique_ptr<transport::Server> server;
  RawPeer peer{*peer_fabric};
};

}  // namespace rpcrdma::test
