// SPDX-License-Identifier: BSD-3-Clause
// A connection or a request for one fails at a critical moment; afterwards the link requests a new one. The test drives
// the other side.
#include "bed.hpp"
#include "controlled_fabric.hpp"
#include "raw_neighbour.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"

namespace rpcrdma::test {
namespace {

using std::chrono::milliseconds;

class IpoibEnds : public testing::Test {
 protected:
  IpoibEnds() {
    listener_ = std::move(*fabric_->listen({boost::asio::ip::address_v4::loopback(), 0},
                                           [this](std::unique_ptr<fabric::ConnectionRequest> request) {
                                             ++requests_;
                                             if (keeps_) kept_.push_back(std::move(request));
                                           }));
  }
  /// The link under test. Its neighbour 10.9.0.9 is the listener.
  std::unique_ptr<Host> host(milliseconds retry, std::uint16_t port = 0) {
    const ipoib::LinkOptions options{.first_retry = retry, .last_retry = retry};
    auto made = std::make_unique<Host>(*held_, "10.9.0.1", options,
                                       fabric::Endpoint(boost::asio::ip::address_v4::loopback(), port));
    made->link->add_neighbour({boost::asio::ip::make_address("10.9.0.9"), 32}, listener_->local());
    return made;
  }
  std::unique_ptr<RawNeighbour> neighbour(const Host& of) {
    const ipoib::PrivateData data{listener_->local().port(), 65524, ipoib::Extension{.credits = 60}};
    return std::make_unique<RawNeighbour>(*fabric_, of.endpoint, private_data_of(data));
  }
  template <class Predicate>
  bool until(Predicate done) {
    return run_until(context_, done);
  }
  /// Runs the event loop until each timer that expires within `time` has fired.
  void pass(milliseconds time) {
    boost::asio::steady_timer timer(context_, time);
    bool passed = false;
    timer.async_wait([&](error_code) { passed = true; });
    EXPECT_TRUE(until([&] { return passed; }));
  }

  boost::asio::io_context context_;
  fabric::LoopbackNetwork network_{context_};
  std::unique_ptr<fabric::LoopbackFabric> fabric_ = network_.make_fabric("raw");
  std::unique_ptr<ControlledFabric> held_ = std::make_unique<ControlledFabric>(network_.make_fabric("link"));
  std::unique_ptr<fabric::Listener> listener_;
  int requests_ = 0;  // requests that the link has made; the listener accepts none of them
  // If true, the listener stores each request of the link in kept_, and a request is rejected when it is removed from
  // kept_. If false, the listener rejects each request at once.
  bool keeps_ = false;
  std::vector<std::unique_ptr<fabric::ConnectionRequest>> kept_;
};

// The peer rejects the link's request for a connection, and then requests a connection itself. While the link accepts
// the peer's request, it makes no further request. After the peer's connection has failed, the link requests one again.
TEST_F(IpoibEnds, IncomingDiesAfterRejection) {
  const auto link = host(milliseconds(20));
  const auto give = [&] { link->device.give(ip_packet("10.9.0.1", "10.9.0.9", 100)); };
  give();
  ASSERT_TRUE(until([&] { return link->counts().rejected == 1; }));
  held_->holds = true;
  auto peer = neighbour(*link);
  ASSERT_TRUE(until([&] { return held_->holds_one(); }));
  pass(milliseconds(40));
  EXPECT_EQ(requests_, 1) << "the link waits for the connection that the peer requested";
  peer.reset();
  held_->release();
  ASSERT_TRUE(until([&] { return link->link->connections() == 0; }));
  for (int i = 0; i < 20 && requests_ < 2; ++i) {
    give();
    pass(milliseconds(40));
  }
  EXPECT_GE(requests_, 2) << "the link requests a connection again";
  run_ready(context_);
}

// The link's first attempt to connect fails with the error of a stale connection: the peer's device mistakes the new
// queue pair for one that has ended. The link keeps the packet and makes a second attempt, which the listener rejects.
TEST_F(IpoibEnds, StaleConnection) {
  const auto link = host(milliseconds(1));
  held_->fails_with = boost::system::errc::make_error_code(boost::system::errc::resource_unavailable_try_again);
  link->device.give(ip_packet("10.9.0.1", "10.9.0.9", 100));
  ASSERT_TRUE(until([&] { return link->counts().failed == 1; }));
  ASSERT_TRUE(until([&] { return requests_ == 1 || link->counts().unreachable != 0; }));
  EXPECT_EQ(requests_, 1);
  ASSERT_TRUE(until([&] { return link->counts().unreachable == 1; })) << "the second attempt was rejected";
}

// [4755-3.3-a] The link's own request is rejected after the peer's crossing request has already made a connection.
TEST_F(IpoibEnds, RejectionAfterTheCrossingRequest) {
  const auto link = host(std::chrono::minutes(10), 1);  // its link-layer address is smaller than the peer's
  keeps_ = true;
  const auto give = [&] { link->device.give(ip_packet("10.9.0.1", "10.9.0.9", 100)); };
  give();
  ASSERT_TRUE(until([&] { return kept_.size() == 1; }));
  const auto peer = neighbour(*link);
  ASSERT_TRUE(until([&] { return peer->node.established() && link->counts().accepted == 1; }));
  kept_.clear();
  ASSERT_TRUE(until([&] { return link->counts().rejected == 1; }));
  peer->node.qp->disconnect();
  ASSERT_TRUE(until([&] { return link->counts().ended == 1 && link->link->connections() == 0; }));
  give();
  run_ready(context_);
  EXPECT_EQ(requests_, 2) << "the rejection is no reason to wait before the next request";
  EXPECT_EQ(link->counts().unreachable, 0u);
  kept_.clear();
}

// A packet and the orderly end of its connection arrive together. The link passes the packet to the stack, although it
// cannot post the Receive of the packet again.
TEST_F(IpoibEnds, PacketBeforeOrderlyEnd) {
  const auto link = host(std::chrono::minutes(10));
  const auto peer = neighbour(*link);
  ASSERT_TRUE(until([&] { return peer->node.established(); }));
  network_.pause(fabric::LoopbackPause::before_arrival);
  peer->send(frame_of(0x0800, ip_packet("10.9.0.9", "10.9.0.1", 100)));
  run_ready(context_);
  peer->node.qp->disconnect();
  run_ready(context_);
  network_.resume();
  ASSERT_TRUE(until([&] { return link->counts().ended == 1; }));
  EXPECT_EQ(link->counts().received, 1u);
  link->device.give(ip_packet("10.9.0.1", "10.9.0.9", 100));
  run_ready(context_);
  EXPECT_EQ(requests_, 1) << "after an orderly end, the link requests a connection at once";
}

}  // namespace
}  // namespace rpcrdma::test
