// SPDX-License-Identifier: BSD-3-Clause
// A slow neighbour delays packets for a fast neighbour only a little.
#include "bed.hpp"
#include "patience.hpp"
#include "raw_neighbour.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"

namespace rpcrdma::test {
namespace {

using ipoib::Patience;
using std::chrono::milliseconds;

TEST(IpoibPatience, Times) {
  Patience one(milliseconds(200));
  const auto start = Patience::Clock::now();
  const auto at = [&](int ms) { return start + milliseconds(ms); };
  EXPECT_EQ(one.begin(at(0)), at(205));
  one.end(at(5));
  EXPECT_EQ(one.begin(at(5)), at(210)) << "a pause of 5 ms does not count";
  one.end(at(110));
  EXPECT_EQ(one.begin(at(110)), at(110 + 100 + 5));
  one.end(at(215));
  EXPECT_FALSE(one.begin(at(215)));
  EXPECT_FALSE(one.begin(at(464))) << "too little patience is left for another pause";
  EXPECT_EQ(one.begin(at(465)), at(465 + 25 + 5)) << "a tenth of the elapsed time is regained";
  one.end(at(900));
  EXPECT_EQ(one.begin(at(900 + 5000)), at(5900 + 205)) << "never more than the whole patience is regained";
}

/// 10.9.0.1 is the link under test; 10.9.0.2 is another link. The test decides how many packets 10.9.0.9 takes.
class IpoibSlow : public testing::Test {
 protected:
  IpoibSlow() {
    acquaint(link_, fast_);
    listener_ = std::move(*slow_fabric_->listen({boost::asio::ip::address_v4::loopback(), 0},
                                                [](std::unique_ptr<fabric::ConnectionRequest>) {}));
    link_.link->add_neighbour({boost::asio::ip::make_address("10.9.0.9"), 32}, listener_->local());
    const ipoib::PrivateData data{listener_->local().port(), 65524, ipoib::Extension{.credits = kCredits}};
    slow_ = std::make_unique<RawNeighbour>(*slow_fabric_, link_.endpoint, private_data_of(data));
    EXPECT_TRUE(run_until(context_, [&] { return slow_->node.established(); }));
  }
  void give_to_slow() { link_.device.give(ip_packet("10.9.0.1", "10.9.0.9", 100)); }
  void give_to_fast() {
    link_.send(fast_, 100);
    ++given_to_fast_;
  }
  /// Lets the slow neighbour announce that it takes `packets` packets in total.
  void allow(std::uint32_t packets) {
    Bytes frame(ipoib::kCreditFrameSize);
    ipoib::encode_credit(packets, MutableOctets(frame).first<ipoib::kCreditFrameSize>());
    slow_->send(frame);
    run_ready(context_);
  }
  bool all_read() {
    return run_until(context_,
                     [&] { return link_.device.unread.empty() && fast_.counts().received == given_to_fast_; });
  }

  static constexpr std::uint16_t kCredits = 8;
  boost::asio::io_context context_;
  fabric::LoopbackNetwork network_{context_};
  std::unique_ptr<fabric::LoopbackFabric> fabric_ = network_.make_fabric("link");
  std::unique_ptr<fabric::LoopbackFabric> fast_fabric_ = network_.make_fabric("fast");
  std::unique_ptr<fabric::LoopbackFabric> slow_fabric_ = network_.make_fabric("slow");
  Host link_{*fabric_, "10.9.0.1"}, fast_{*fast_fabric_, "10.9.0.2"};
  std::unique_ptr<fabric::Listener> listener_;
  std::unique_ptr<RawNeighbour> slow_;
  std::uint64_t given_to_fast_ = 0;
};

// In each round the device has two packets for the slow neighbour, which takes at most one more packet than before. The
// link drops the packet for which the neighbour has no room. Before that, it may pause its device to wait for the
// neighbour, but only in fewer than half of the rounds.
TEST_F(IpoibSlow, TakesOnePacketAtATime) {
  constexpr std::uint32_t kRounds = 40;
  for (std::uint32_t i = 0; i < kCredits; ++i) give_to_slow();
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    allow(kCredits + round);
    give_to_slow();
    give_to_slow();
    give_to_fast();
    ASSERT_TRUE(all_read()) << round;
  }
  EXPECT_LT(link_.counts().pauses, kRounds / 2);
  EXPECT_EQ(link_.counts().sent, kCredits + kRounds - 1 + given_to_fast_);
  EXPECT_EQ(link_.counts().stalled, kRounds + 1) << "the rest is counted";
}

}  // namespace
}  // namespace rpcrdma::test
