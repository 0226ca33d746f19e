// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A hand-made client whose optional messages of version two may break the rules.
#include <gtest/gtest.h>

#include <array>

#include "both_sides.hpp"
#include "raw_peer.hpp"
#include "rpcrdma/wire/v2/options.hpp"

namespace rpcrdma::test {

inline constexpr std::uint32_t kInit = 1, kRequest = 2, kResponse = 3, kUpdate = 4;

inline wire::Header decoded(const RawPeer::Message& message) {
  wire::Header out;
  EXPECT_TRUE(wire::decode(message.octets, out, {.highest_version = wire::kVersionTwo}));
  return out;
}

/// Returns a text such as "error 3 of 7", "option 1 of 7" or "message of 7", where 7 is the XID.
inline std::string text_of(const RawPeer::Message& message) {
  const wire::Header header = decoded(message);
  const std::string xid = " of " + std::to_string(header.xid);
  switch (header.procedure) {
    case wire::Procedure::error: return "error " + std::to_string(static_cast<std::uint32_t>(header.error)) + xid;
    case wire::Procedure::optional: return "option " + std::to_string(header.option_type) + xid;
    default: return "message" + xid;
  }
}

/// Returns an optional message of version two.
inline Bytes option(std::uint32_t xid, std::uint32_t type, std::initializer_list<std::uint32_t> content,
                    std::uint32_t direction = 0) {
  Bytes out = words({xid, 2, 8, 5, direction, type, static_cast<std::uint32_t>(content.size() * 4)});
  const Bytes body = words(content);
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

/// Options with which both sides support version two.
inline SidesOptions two() {
  SidesOptions options;
  options.client.connection.version = options.server.connection.version = transport::VersionChoice::automatic;
  return options;
}

/// A server of this library, and a raw client `peer` that is connected to it. The test composes the bytes of each
/// message that the client sends.
class HostileClient : public testing::Test {
 protected:
  explicit HostileClient(const SidesOptions& options = two(), std::uint32_t inbound_reads = 16)
      : sides(options), fabric(sides.network.make_fabric("raw")), peer(*fabric) {
    peer.inbound_reads = inbound_reads;
    peer.receive_size = 65536;  // large, because a test may announce any smaller size
    connect();
  }
  void connect() {
    peer.messages.clear();
    peer.connect(sides.endpoint);
    ASSERT_TRUE(sides.wait([&] { return peer.connected(); }));
  }
  /// Makes a NULL call; expects the server's INIT_XCHAR and the reply.
  void begin() {
    const std::vector<std::string> got = answers(words({7, 2, 8, 0, 0, 0, 0, 0, 7, 0, 1, 0, 0, 0}));
    EXPECT_EQ(got, (std::vector<std::string>{"option 1 of " + std::to_string(last_init), "message of 7"}));
  }
  std::uint32_t init_xid() {
    for (const RawPeer::Message& message : peer.messages)
      if (decoded(message).option_type == kInit) return decoded(message).xid;
    return last_init;
  }
  /// Sends `message`, and runs handlers until none is ready. Returns text_of() for each message that has arrived.
  std::vector<std::string> answers(const Bytes& message) {
    peer.send(message);
    return answers();
  }
  std::vector<std::string> answers() {
    run_ready(sides.context);
    last_init = init_xid();
    std::vector<std::string> out;
    for (const RawPeer::Message& one : peer.messages) out.push_back(text_of(one));
    last = peer.messages.empty() ? Bytes() : peer.messages.back().octets;
    peer.messages.clear();
    return out;
  }
  std::vector<std::string> one(std::string text) { return {std::move(text)}; }
  void expect_alive() {
    EXPECT_FALSE(peer.ended());
    const auto got = answers(words({9, 2, 8, 0, 0, 0, 0, 0, 9, 0, 1, 0, 0, 0}));
    ASSERT_FALSE(got.empty());
    EXPECT_EQ(got.back(), "message of 9");
  }
  /// Sends a long call whose Position-Zero Read chunk has two segments, and does not answer the server's RDMA Reads. If
  /// `inbound_reads` of the peer is 1, the server's second Read must wait for the first one, and later work requests of
  /// the server wait for both Reads.
  void stall() {
    wire::Header header;
    header.xid = 50;
    header.version = 2;
    header.credits = 8;
    header.procedure = wire::Procedure::nomsg;
    for (RawPeer::Exposed& one : exposed) {
      one = peer.expose(4096, fabric::Access::remote_read);
      header.chunks.reads.push_back({0, one.segment});
    }
    sides.network.pause(fabric::LoopbackPause::half_placed);
    peer.send(header, {});
    run_ready(sides.context);
  }
  void TearDown() override {
    sides.client.reset();
    sides.server.reset();
    run_ready(sides.context);
    EXPECT_EQ(sides.server_pool.counters().lent, 0u);
  }

  BothSides sides;
  std::unique_ptr<fabric::LoopbackFabric> fabric;
  RawPeer peer;
  std::array<RawPeer::Exposed, 2> exposed;
  std::uint32_t last_init = 0;
  Bytes last;
};

}  // namespace rpcrdma::test
