// SPDX-License-Identifier: BSD-3-Clause
// A neighbour grants no further credits, or does not answer a request. Runs on any fabric.
#include <gmock/gmock.h>

#include "bed.hpp"
#include "fabric_under_test.hpp"
#include "raw_neighbour.hpp"

namespace rpcrdma::test {
namespace {

/// Tests a link, 10.9.0.1, that has two neighbours. The neighbour 10.9.0.2 is another link and works. The test itself
/// plays the neighbour 10.9.0.9, which gets stuck.
class IpoibStuck : public testing::Test {
 protected:
  IpoibStuck() {
    listener_ = std::move(
        *stuck_fabric_->listen({on_.address, 0}, [this](auto request) { held_.push_back(std::move(request)); }));
    link_.link->add_neighbour({boost::asio::ip::make_address("10.9.0.9"), 32}, listener_->local());
    acquaint(link_, other_);
    link_.send(other_, 100);
    EXPECT_TRUE(run_until(context_, [&] { return other_.counts().received == 1; }));
  }
  ~IpoibStuck() override { held_.clear(); }
  /// Expects that 10.9.0.2 receives `packets` packets in total, and that no connection ends.
  void expect_served(std::uint64_t packets) {
    EXPECT_TRUE(run_until(context_, [&] { return other_.counts().received == packets; }));
    EXPECT_EQ(link_.counts().ended, 0u);
  }
  /// Gives the link `packets` packets for 10.9.0.9 and as many for 10.9.0.2, alternately.
  void give_both(std::uint32_t packets) {
    for (std::uint32_t i = 0; i < packets; ++i) {
      link_.device.give(ip_packet("10.9.0.1", "10.9.0.9", 100));
      link_.send(other_, 100);
    }
  }

  // The number of packets for each of the two neighbours. It is smaller than the number of credits that 10.9.0.2 grants
  // at first, so the link does not have to wait for room at 10.9.0.2.
  static constexpr std::uint32_t kPackets = 24;
  const FabricUnderTest& on_ = fabric_under_test();
  boost::asio::io_context context_;
  std::unique_ptr<fabric::Fabric> fabric_ = on_.open(context_, on_.address),
                                  other_fabric_ = on_.open(context_, on_.address),
                                  stuck_fabric_ = on_.open(context_, on_.address);
  Host link_{*fabric_, "10.9.0.1", {.handshake_timeout = std::chrono::seconds(5)}, {on_.address, 0}};
  Host other_{*other_fabric_, "10.9.0.2", {.handshake_timeout = std::chrono::minutes(5)}, {on_.address, 0}};
  std::vector<std::unique_ptr<fabric::ConnectionRequest>> held_;
  std::unique_ptr<fabric::Listener> listener_;
};

// The neighbour 10.9.0.9 grants no credits after its first ones. When these are used up, the link stops reading its
// device until the time limit for the neighbour is over. From then on, the link drops the packets for this neighbour
// without a further pause. It registers no further memory.
TEST_F(IpoibStuck, TakesNothing) {
  constexpr std::uint16_t kCredits = 8;
  const ipoib::PrivateData data{listener_->local().port(), 65524, ipoib::Extension{.credits = kCredits}};
  RawNeighbour stuck(*stuck_fabric_, link_.endpoint, private_data_of(data));
  ASSERT_TRUE(run_until(context_, [&] { return stuck.node.established() && link_.counts().accepted == 1; }));
  const std::size_t registered = link_.link->registered_bytes();
  give_both(kPackets);
  expect_served(1 + kPackets);
  EXPECT_TRUE(run_until(context_, [&] { return stuck.node.count(1) == kCredits; }));
  EXPECT_EQ(link_.counts().pauses, 1u);
  EXPECT_EQ(link_.counts().stalled, kPackets - kCredits);
  EXPECT_EQ(link_.link->registered_bytes(), registered);
  // The neighbour grants one more credit in a credit frame. The link then sends it the next packet.
  Bytes more(ipoib::kCreditFrameSize);
  ipoib::encode_credit(kCredits + 1, MutableOctets(more).first<ipoib::kCreditFrameSize>());
  stuck.send(more);
  // When the link has received this packet, it has also received the credit frame.
  stuck.send(frame_of(0x0800, ip_packet("10.9.0.9", "10.9.0.1", 100)));
  ASSERT_TRUE(run_until(context_, [&] { return link_.counts().received == 1; }));
  give_both(1);
  EXPECT_TRUE(run_until(context_, [&] { return stuck.node.count(1) == kCredits + 1u; }));
  expect_served(2 + kPackets);
}

// The neighbour does not answer the link's request for a connection. A few packets wait for the connection, and the
// link drops the other packets for this neighbour. It drops the waiting packets when the attempt to connect fails. The
// link does not pause its device.
TEST_F(IpoibStuck, HoldsTheRequest) {
  give_both(kPackets);
  ASSERT_TRUE(run_until(context_, [&] { return link_.device.unread.empty() && !held_.empty(); }));
  const std::size_t registered = link_.link->registered_bytes();
  expect_served(1 + kPackets);
  EXPECT_EQ(link_.counts().pauses, 0u);
  EXPECT_GE(link_.counts().unreachable, kPackets - 16u);
  EXPECT_TRUE(run_until(context_, [&] { return link_.counts().unreachable == kPackets; }));
  EXPECT_GE(link_.counts().failed, 1u);
  EXPECT_EQ(link_.link->registered_bytes(), registered);
  EXPECT_THAT(link_.device.written, testing::Contains(testing::HasSubstr("ICMP 3/1")));
}

}  // namespace
}  // namespace rpcrdma::test
