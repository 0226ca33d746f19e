// SPDX-License-Identifier: BSD-3-Clause
// Links over the loopback fabric that are each other's neighbours.
#include <gmock/gmock.h>

#include "bed.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"

namespace rpcrdma::test {
namespace {

using ipoib::LinkOptions;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

class IpoibLink : public testing::Test {
 protected:
  std::unique_ptr<Host> host(const std::string& ip, LinkOptions options = {}, std::uint16_t port = 0) {
    fabrics_.push_back(network_.make_fabric(ip));
    const fabric::Endpoint local(boost::asio::ip::address_v4::loopback(), port);
    return std::make_unique<Host>(*fabrics_.back(), ip, std::move(options), local);
  }
  /// A link at 10.9.0.2 that learns its neighbours from their packets.
  std::unique_ptr<Host> learner(milliseconds idle = milliseconds(300'000)) {
    return host("10.9.0.2", {.idle = idle, .learn_within = {{boost::asio::ip::make_address("10.9.0.0"), 24}}});
  }
  template <class Predicate>
  bool until(Predicate done) {
    return run_until(context_, done);
  }
  void run() { run_ready(context_); }
  /// Ends one round of a test: expects that the fabrics have no registered memory, and destroys them. Must be called
  /// after the links have been destroyed. `round` appears in the message of a failure.
  void end(std::uint64_t round) {
    run();
    for (const auto& fabric : fabrics_) EXPECT_EQ(fabric->regions(), 0u) << round;
    fabrics_.clear();
    run();
  }

  boost::asio::io_context context_;
  fabric::LoopbackNetwork network_{context_};
  std::vector<std::unique_ptr<fabric::LoopbackFabric>> fabrics_;
};

// [4755-7-a] the first packet makes the connection, which then serves both directions, for IPv4 and IPv6
TEST_F(IpoibLink, PacketsBothWays) {
  auto a = host("10.9.0.1"), b = host("10.9.0.2");
  acquaint(*a, *b);
  a->link->add_neighbour({boost::asio::ip::make_address("fd00::2"), 128}, b->endpoint);
  b->link->add_neighbour({boost::asio::ip::make_address("fd00::1"), 128}, a->endpoint);
  a->send(*b, 21, 1);
  a->send(*b, 65520, 2);
  run();
  EXPECT_THAT(b->device.written, ElementsAre("10.9.0.1 > 10.9.0.2 21 1", "10.9.0.1 > 10.9.0.2 65520 2"));
  b->send(*a, 1500, 3);
  b->device.give(ip_packet("fd00::2", "fd00::1", 65520, 4));
  run();
  EXPECT_THAT(a->device.written, ElementsAre("10.9.0.2 > 10.9.0.1 1500 3", "fd00::2 > fd00::1 65520 4"));
  EXPECT_EQ(a->counts().connected, 1u);
  EXPECT_EQ(b->counts().accepted, 1u);
  EXPECT_EQ(b->counts().connected, 0u) << "the connection serves both directions";
  EXPECT_EQ(a->counts().sent, 2u);
  EXPECT_EQ(a->counts().received_bytes, 1500u + 65520u);
}

// More packets are sent than receives are posted. Thanks to the credits all arrive, in order, and no packet arrives
// without a receive.
TEST_F(IpoibLink, ManyPackets) {
  for (const std::uint32_t mtu : {2044u, 65520u}) {
    auto a = host("10.9.0.1", {.mtu = mtu}), b = host("10.9.0.2", {.mtu = mtu});
    acquaint(*a, *b);
    a->send(*b, 100);
    run();
    for (int i = 0; i < 3000; ++i) {
      a->send(*b, 100 + static_cast<std::size_t>(i) % 1000, static_cast<std::uint8_t>(i));
      b->send(*a, 200, static_cast<std::uint8_t>(i));
    }
    ASSERT_TRUE(until([&] { return b->counts().received == 3001 && a->counts().received == 3000; }));
    for (std::size_t i = 0; i < 3000; ++i)
      ASSERT_THAT(b->device.written[i + 1], testing::EndsWith(" " + std::to_string(i % 256)));
    EXPECT_EQ(a->counts().ended + b->counts().ended, 0u);
    EXPECT_EQ(a->counts().lost + a->counts().stalled, 0u);
  }
}

// [4755-5.1-a] [4755-5.1-b] [4755-7.2-a] the smaller MTU applies: ICMP reports it to the IP stack, and packets that fit
// pass
TEST_F(IpoibLink, PathMtu) {
  auto large = host("10.9.0.1"), small = host("10.9.0.2", {.mtu = 2044});
  acquaint(*large, *small);
  large->link->add_neighbour({boost::asio::ip::make_address("fd00::2"), 128}, small->endpoint);
  large->send(*small, 2045);
  large->send(*small, 2044, 7);
  large->device.give(ip_packet("fd00::1", "fd00::2", 2045));
  run();
  EXPECT_THAT(small->device.written, ElementsAre("10.9.0.1 > 10.9.0.2 2044 7"));
  EXPECT_THAT(large->device.written,
              ElementsAre("10.9.0.2 > 10.9.0.1 ICMP 3/4 2044", "fd00::2 > fd00::1 ICMP 2/0 2044"));
  EXPECT_EQ(large->counts().too_big, 2u);
}

// [4755-2.1-a] [4755-7-b] The link counts and drops multicast packets, packets to an address without a neighbour, and
// invalid packets. Only the packet to the address without a neighbour gets an ICMP error.
TEST_F(IpoibLink, WhatCannotBeSent) {
  auto a = host("10.9.0.1"), b = host("10.9.0.2");
  acquaint(*a, *b);
  a->device.give(ip_packet("10.9.0.1", "224.0.0.1", 40));
  a->device.give(ip_packet("fe80::1", "ff02::2", 48));
  a->device.give(ip_packet("10.9.0.1", "10.9.0.3", 40));
  a->device.give(Bytes(19));
  a->device.give(Bytes(65521, std::byte{0x45}));
  run();
  EXPECT_THAT(a->device.written, ElementsAre("10.9.0.3 > 10.9.0.1 ICMP 3/1 0"));
  EXPECT_EQ(a->counts().multicast, 2u);
  EXPECT_EQ(a->counts().no_neighbour, 1u);
  EXPECT_EQ(a->counts().invalid, 2u);
  EXPECT_EQ(a->counts().sent, 0u);
  EXPECT_EQ(a->link->connections(), 0u);
}

// [4755-3.3-a] [4755-3.3-b] If two links request a connection to each other at the same time, one of the requests is
// refused. The test connects two links a thousand times, with different delays. In each round one connection remains,
// and no packet is lost. The delays make the requests cross so often that more than 300 of them are refused.
TEST_F(IpoibLink, CrossingRequests) {
  std::uint64_t refused = 0;
  for (std::uint32_t round = 0; round < 1000; ++round) {
    network_.set_max_delay(round % 4);
    auto a = host("10.9.0.1"), b = host("10.9.0.2");
    acquaint(*a, *b);
    a->send(*b, 100, 1);
    if (round % 3 == 1) context_.poll_one();
    b->send(*a, 100, 2);
    refused += refused_crossing(context_, *a, *b);
    EXPECT_TRUE(run_until(context_, [&] { return a->link->connections() == 1 && b->link->connections() == 1; }));
    ASSERT_FALSE(HasFailure()) << round;
    run();
    a.reset();
    b.reset();
    end(round);
  }
  EXPECT_GT(refused, 300u) << "requests crossed";
}

// [4755-3.4-b] an idle connection is closed and leaves nothing behind; the next packet makes a new connection
TEST_F(IpoibLink, IdleConnectionsAreClosed) {
  auto a = host("10.9.0.1", {.idle = milliseconds(40)}), b = host("10.9.0.2");
  acquaint(*a, *b);
  for (int round = 1; round <= 3; ++round) {
    a->send(*b, 100);
    ASSERT_TRUE(until([&] { return b->counts().received == static_cast<std::uint64_t>(round); }));
    ASSERT_TRUE(until([&] { return a->link->connections() == 0 && b->link->connections() == 0; }));
    EXPECT_EQ(a->counts().idle, static_cast<std::uint64_t>(round));
  }
  EXPECT_EQ(a->counts().connected, 3u);
  EXPECT_EQ(a->counts().lost + a->counts().unreachable, 0u);
}

// [4755-3.4-a]
TEST_F(IpoibLink, CloseEndsConnections) {
  auto a = host("10.9.0.1"), b = host("10.9.0.2");
  acquaint(*a, *b);
  a->send(*b, 100);
  run();
  bool closed = false;
  a->link->close([&] { closed = true; });
  EXPECT_FALSE(closed);
  ASSERT_TRUE(until([&] { return closed; }));
  run();
  EXPECT_EQ(b->link->connections(), 0u);
  b->send(*a, 100);
  run();
  EXPECT_THAT(b->device.written.back(), HasSubstr("ICMP 3/1"));
}

// A peer disappears and comes back: meanwhile ICMP reports it as unreachable.
TEST_F(IpoibLink, PeerComesBack) {
  auto a = host("10.9.0.1", {.first_retry = milliseconds(1), .last_retry = milliseconds(4)}), b = host("10.9.0.2");
  acquaint(*a, *b);
  a->send(*b, 100);
  run();
  const fabric::Endpoint at = b->endpoint;
  b.reset();
  ASSERT_TRUE(until([&] { return a->link->connections() == 0; }));
  const std::uint64_t before = a->counts().unreachable;
  ASSERT_TRUE(until([&] {
    a->device.give(ip_packet("10.9.0.1", "10.9.0.2", 100));
    return a->counts().unreachable > before + 2;
  }));
  b = host("10.9.0.2", {}, at.port());
  b->knows(*a);
  ASSERT_TRUE(until([&] {
    a->device.give(ip_packet("10.9.0.1", "10.9.0.2", 100, 9));
    return b->counts().received != 0;
  }));
}

// While the network is paused, a peer accepts no packets. The link first stops reading its device, so that most packets
// stay in the device. After LinkOptions::stall, it reads the device again. It then drops the packets for this peer, and
// counts them.
TEST_F(IpoibLink, BackPressure) {
  auto a = host("10.9.0.1", {.stall = milliseconds(50)}), b = host("10.9.0.2"), c = host("10.9.0.3");
  acquaint(*a, *b);
  acquaint(*a, *c);
  a->send(*b, 100);
  a->send(*c, 100);
  run();
  network_.pause(fabric::LoopbackPause::before_arrival);
  constexpr int kMany = 500;
  for (int i = 0; i < kMany; ++i) a->send(*b, 100);
  context_.restart();
  ASSERT_TRUE(until([&] { return a->counts().pauses == 1; }));
  EXPECT_GT(a->device.unread.size(), 400u) << "packets stay in the device";
  ASSERT_TRUE(until([&] { return a->device.unread.empty(); }));
  EXPECT_GT(a->counts().stalled, 400u) << "packets for a peer that accepts none are dropped";
  network_.resume();
  ASSERT_TRUE(until([&] { return b->counts().received + a->counts().stalled == kMany + 1; }));
  a->send(*c, 100);
  ASSERT_TRUE(until([&] { return c->counts().received == 2; }));
  const std::uint64_t received = b->counts().received;
  for (int i = 0; i < kMany; ++i) a->send(*b, 100);
  ASSERT_TRUE(until([&] { return b->counts().received + a->counts().stalled == 2 * kMany + 1; }));
  EXPECT_GT(b->counts().received, received + 64) << "the peer grants credits repeatedly";
}

// The source address of a packet is learnt only if it lies within `learn_within` and is not a broadcast address.
// Packets to a learnt address go to the host that has sent from it.
TEST_F(IpoibLink, Learning) {
  auto a = host("10.9.0.1"), b = learner();
  a->knows(*b);
  a->send(*b, 100);
  a->device.give(ip_packet("10.8.0.1", "10.9.0.2", 100));
  a->device.give(ip_packet("10.9.0.255", "10.9.0.2", 100));  // refused: the broadcast address
  run();
  EXPECT_EQ(b->counts().received, 1u);
  EXPECT_EQ(b->counts().bad_sources, 2u);
  b->send(*a, 100);
  run();
  EXPECT_EQ(a->counts().received, 1u);
}

// A learnt address moves to another sender only when the connection of the previous sender has ended.
TEST_F(IpoibLink, LearntAddressMoves) {
  auto b = learner(), before = host("10.9.0.1"), after = host("10.9.0.1");
  before->knows(*b);
  after->knows(*b);
  before->send(*b, 100);
  run();
  after->send(*b, 100);
  run();
  EXPECT_EQ(b->counts().received, 1u);
  EXPECT_EQ(b->counts().bad_sources, 1u) << "the owner of the address is still connected";
  before.reset();
  run();
  after->send(*b, 100);
  run();
  EXPECT_EQ(b->counts().received, 2u);
  b->send(*after, 100);
  run();
  EXPECT_EQ(after->counts().received, 1u);
}

// All hosts at one fabric address together may have 8 link-layer addresses and 16 IP addresses. Hosts whose connection
// has ended do not count.
TEST_F(IpoibLink, LearningIsBounded) {
  auto b = learner();
  std::vector<std::unique_ptr<Host>> strangers;
  for (int i = 0; i < 9; ++i) {
    strangers.push_back(host("10.9.0." + std::to_string(10 + i)));
    strangers.back()->knows(*b);
    strangers.back()->send(*b, 100);
    run();
  }
  EXPECT_EQ(b->counts().received, 8u);
  EXPECT_EQ(b->counts().refused_unknown, 1u);
  for (int i = 0; i < 20; ++i)
    strangers[0]->device.give(ip_packet("10.9.0." + std::to_string(100 + i), "10.9.0.2", 100));
  run();
  EXPECT_EQ(b->counts().received, 16u);
  EXPECT_EQ(b->counts().bad_sources, 12u);
  strangers.clear();
  run();
  auto other = host("10.9.0.30");
  other->knows(*b);
  other->send(*b, 100);
  run();
  EXPECT_EQ(b->counts().received, 17u);
}

TEST_F(IpoibLink, LearntAddressIsForgotten) {
  auto b = learner(milliseconds(40)), a = host("10.9.0.1");
  a->knows(*b);
  for (std::uint64_t round = 1; round <= 2; ++round) {
    a->send(*b, 100);
    ASSERT_TRUE(until([&] { return b->counts().received == round; }));
    ASSERT_TRUE(until([&] { return b->link->connections() == 0; }));
    boost::asio::steady_timer timer(context_, milliseconds(50));  // expires after the next sweep of learnt addresses
    bool swept = false;
    timer.async_wait([&](error_code) { swept = true; });
    ASSERT_TRUE(until([&] { return swept; }));
    b->send(*a, 100);
    ASSERT_TRUE(until([&] { return b->counts().no_neighbour + b->counts().sent == round; }));
    EXPECT_EQ(b->counts().no_neighbour, round);
  }
}

TEST_F(IpoibLink, DeviceFails) {
  auto a = host("10.9.0.1");
  const auto gone = boost::system::errc::make_error_code(boost::system::errc::io_error);
  a->device.fail(gone);
  run();
  EXPECT_EQ(a->failed, gone);
}

// In each round, the test makes at most one operation of each fabric fail. Packets may then be lost, but both hosts
// must receive packets again.
TEST_F(IpoibLink, EveryOperationFails) {
  for (std::uint64_t n = 1; n < 400; n += 7) {
    auto a = host("10.9.0.1", {.first_retry = milliseconds(1), .last_retry = milliseconds(2)});
    auto b = host("10.9.0.2", {.first_retry = milliseconds(1), .last_retry = milliseconds(2)});
    acquaint(*a, *b);
    fabrics_.back()->fail_nth(fabric::LoopbackOperation::any, n);
    fabrics_.front()->fail_nth(fabric::LoopbackOperation::any, n + 3);
    ASSERT_TRUE(until([&] {
      a->send(*b, 100);
      b->send(*a, 100);
      return a->counts().received > 20 && b->counts().received > 20;
    })) << n;
    a.reset();
    b.reset();
    end(n);
  }
}

}  // namespace
}  // namespace rpcrdma::test
