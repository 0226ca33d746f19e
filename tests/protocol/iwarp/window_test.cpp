// SPDX-License-Identifier: BSD-3-Clause
// The life of an exposure, and the frames that name it.
#include "iwarp_test.hpp"
#include "rpcrdma/fabric/arrival.hpp"

namespace rpcrdma::test {
namespace {

constexpr std::uint32_t kLarge = 6u << 20;

class Pins : public IwarpTest {
 protected:
  /// Sends a Read Request for kLarge bytes as the peer, and does not receive the Response yet. The node under test then
  /// cannot write the whole Response to its socket, and the Response remains unfinished.
  void read_and_stall(const Segment& source) {
    boost::asio::socket_base::receive_buffer_size small(16384);
    peer_.socket().set_option(small);
    peer_.send(read_request(1, {1, 0, kLarge, source.handle, source.offset}));
    ASSERT_TRUE(until([&] { return peer_.available() != 0; }));
    run_ready(context_);
  }
  /// Receives the Response, which must hold the original content of the memory.
  void expect_response() {
    std::size_t got = 0;
    for (bool last = false; !last && !HasFailure();) {
      const Heard heard = peer_.segment();
      EXPECT_EQ(heard.opcode(), Opcode::read_response);
      EXPECT_TRUE(all_are(heard.payload, std::byte{0xee}));
      got += heard.payload.size();
      last = heard.header.last;
    }
    EXPECT_EQ(got, kLarge);
  }
  Bytes invalidating_send(std::uint32_t msn, std::uint32_t stag) {
    iwarp::DdpHeader header = untagged(Opcode::send_invalidate, 0, msn);
    header.stag = stag;
    return fpdu(ddp(header, filled(4, 0x11)));
  }
};

// [5041-8.3.1-e] The node invalidates a window while it sends a Read Response from this window. The invalidation
// completes only when the whole Response has been written to the socket.
TEST_F(Pins, InvalidationWaitsForAResponse) {
  serve();
  const Exposed exposed = expose(0, kLarge, fabric::Access::remote_read);
  read_and_stall(exposed.segment);
  ASSERT_FALSE(node().qp->invalidate(*exposed.window, node().op(1)));
  node().qp->submit();
  run_ready(context_);
  EXPECT_TRUE(exposed.window->bound());  // the unfinished Response still uses the window
  EXPECT_EQ(node().count(1), 0u);
  EXPECT_FALSE(node().qp->bind(*exposed.window, memory().part(0, 1), fabric::Access::remote_read));
  UniqueFunction<void()>& on_done = node().on_done;
  // Reuses the memory as soon as the invalidation completes. The Response must still have the original contents.
  on_done = [&] { std::fill_n(memory().octets.begin(), kLarge, std::byte{0x99}); };
  expect_response();
  ASSERT_TRUE(until([&] { return node().count(1) == 1; }));
  EXPECT_FALSE(node().result(1).status);
  EXPECT_FALSE(exposed.window->bound());
  EXPECT_TRUE(node().qp->bind(*exposed.window, memory().part(0, 1), fabric::Access::remote_read));
}

// [5040-5.5-i] a Send is delivered while the Response to an earlier Read is still being sent
TEST_F(Pins, ASendDoesNotWaitForAResponse) {
  serve();
  const Exposed exposed = expose(0, kLarge, fabric::Access::remote_read);
  used_ = kLarge;
  post_receive(10, 1);
  read_and_stall(exposed.segment);
  peer_.send(send(1, filled(4, 0x11)));
  ASSERT_TRUE(until([&] { return node().count(1) == 1; }));
  EXPECT_FALSE(node().result(1).status);
  expect_response();
}

// [5041-8.3-a] no new access is granted once an invalidation has begun
TEST_F(Pins, NothingNewOnceInvalidationHasBegun) {
  serve();
  const Exposed exposed = expose(0, kLarge, fabric::Access::remote_read);
  read_and_stall(exposed.segment);
  ASSERT_FALSE(node().qp->invalidate(*exposed.window, node().op(1)));
  peer_.send(read_request(2, {2, 0, 1, exposed.segment.handle, exposed.segment.offset}));
  EXPECT_EQ(end(), FabricError::protocol_violation);
  EXPECT_EQ(node().result(1).status, FabricError::flushed);
  terminated(iwarp::terminate::kReadInvalidStag);
}

// [5040-5.3-e] [5041-4.2-c] the peer invalidates by Send: the receive completes when the Response has been written, and
// later receives complete after it
TEST_F(Pins, InvalidationByThePeerWaitsForAResponse) {
  serve();
  const Exposed exposed = expose(0, kLarge, fabric::Access::remote_read);
  used_ = kLarge;
  post_receive(10, 1);
  post_receive(10, 2);
  read_and_stall(exposed.segment);
  peer_.send(invalidating_send(1, exposed.segment.handle) + send(2, {}));
  run_ready(context_);
  // The window stays bound until the Response has been written, although new accesses are refused already.
  EXPECT_TRUE(exposed.window->bound());
  EXPECT_TRUE(node().log.empty());
  bool bound_then = true;
  node().on_done = [&] { bound_then = exposed.window->bound(); };
  expect_response();
  ASSERT_TRUE(until([&] { return node().log.size() == 2; }));
  EXPECT_EQ(node().tags(), (std::vector<int>{1, 2}));
  EXPECT_EQ(node().result(1).invalidated, exposed.segment.handle);
  EXPECT_FALSE(node().result(2).invalidated);
  EXPECT_FALSE(bound_then);
  node().on_done.reset();
  // A local invalidation of a window that the peer has already invalidated completes as well.
  ASSERT_FALSE(node().qp->invalidate(*exposed.window, node().op(3)));
  node().qp->submit();
  EXPECT_TRUE(until([&] { return node().count(3) == 1; }));
}

// The peer invalidates a window, and then the user of the queue pair invalidates it too. Both invalidations wait for
// the Response.
TEST_F(Pins, InvalidationByBothWaitsForAResponse) {
  serve();
  const Exposed exposed = expose(0, kLarge, fabric::Access::remote_read);
  used_ = kLarge;
  post_receive(10, 1);
  read_and_stall(exposed.segment);
  peer_.send(invalidating_send(1, exposed.segment.handle));
  run_ready(context_);
  ASSERT_FALSE(node().qp->invalidate(*exposed.window, node().op(2)));
  node().qp->submit();
  run_ready(context_);
  EXPECT_TRUE(node().log.empty());
  // Overwrites the exposed memory at each completion, as a user may do. The Response must contain the old data.
  node().on_done = [&] { std::fill_n(memory().octets.begin(), kLarge, std::byte{0x99}); };
  expect_response();
  ASSERT_TRUE(until([&] { return node().count(1) == 1 && node().count(2) == 1; }));
  EXPECT_FALSE(node().result(2).status);
  EXPECT_FALSE(exposed.window->bound());
}

// The end of the connection completes a waiting invalidation.
TEST_F(Pins, TheEndOfTheConnectionReleases) {
  serve();
  const Exposed exposed = expose(0, kLarge, fabric::Access::remote_read);
  read_and_stall(exposed.segment);
  ASSERT_FALSE(node().qp->invalidate(*exposed.window, node().op(1)));
  node().qp->submit();
  peer_.reset();
  EXPECT_TRUE(end().failed());
  EXPECT_EQ(node().count(1), 1u);
}

// An invalidation waits until a partly placed segment has been placed completely.
TEST_F(Pins, InvalidationWaitsForHalfASegment) {
  serve();
  const Exposed exposed = expose(0, 60000, fabric::Access::remote_write);
  const Bytes frame = write(exposed.segment.handle, exposed.segment.offset, filled(60000, 0x11), false);
  peer_.send({frame.begin(), frame.begin() + 30000});
  ASSERT_TRUE(until([&] { return memory().octets[29000] == std::byte{0x11}; }));
  ASSERT_FALSE(node().qp->invalidate(*exposed.window, node().op(1)));
  node().qp->submit();
  run_ready(context_);
  EXPECT_EQ(node().count(1), 0u);
  peer_.send({frame.begin() + 30000, frame.end()});
  ASSERT_TRUE(until([&] { return node().count(1) == 1; }));
  EXPECT_TRUE(all_are(memory().part(0, 60000).octets(), std::byte{0x11}));
  std::fill_n(memory().octets.begin(), 60000, std::byte{0x99});
  peer_.send(write(exposed.segment.handle, exposed.segment.offset, filled(100, 0x22)));  // a new segment is refused
  terminated(iwarp::terminate::kInvalidStag);
  EXPECT_TRUE(all_are(memory().part(0, 60000).octets(), std::byte{0x99}));
}

// A window is destroyed while a Response is sent from it: the connection ends, and the memory may be freed at once.
TEST_F(Pins, DestroyingAPinnedWindowEndsTheConnection) {
  serve();
  {
    const Exposed exposed = expose(0, kLarge, fabric::Access::remote_read);
    read_and_stall(exposed.segment);
  }
  std::fill_n(memory().octets.begin(), kLarge, std::byte{0x99});
  EXPECT_EQ(end(), BaseError::cancelled);
  while (!peer_.ends()) EXPECT_EQ(peer_.receive(1)[0] == std::byte{0x99}, false);
}

// The queue pair is destroyed in the middle of a segment: the memory is not touched afterwards.
TEST_F(Pins, DestroyingTheQueuePairInMidSegment) {
  serve();
  auto exposed = std::make_unique<Exposed>(node(), memory().part(0, 60000), fabric::Access::remote_write);
  const Bytes frame = write(exposed->segment.handle, exposed->segment.offset, filled(60000, 0x11));
  peer_.send({frame.begin(), frame.begin() + 30000});
  ASSERT_TRUE(until([&] { return memory().octets[29000] == std::byte{0x11}; }));
  exposed.reset();
  node().qp.reset();
  std::fill_n(memory().octets.begin(), 60000, std::byte{0x99});
  peer_.send({frame.begin() + 30000, frame.end()});
  peer_.ends();
  run_ready(context_);
  EXPECT_TRUE(all_are(memory().part(0, 60000).octets(), std::byte{0x99}));
}

// [5041-8.3.1-c] [5041-8.3-a] bounds are exact to the byte
TEST_F(Pins, TheWholeRangeAndNothingElse) {
  serve();
  const Exposed exposed = expose(1001, 999, fabric::Access::remote_write);
  const Segment& at = exposed.segment;
  post_receive(10, 1);
  peer_.send(write(at.handle, at.offset, filled(1, 1)) + write(at.handle, at.offset + 998, filled(1, 2)) +
             write(at.handle, at.offset + 1, filled(997, 3)) + send(1, {}));
  ASSERT_TRUE(until([&] { return node().count(1) == 1; }));
  EXPECT_EQ(memory().octets[1000], std::byte{0xee});
  EXPECT_EQ(memory().octets[1001], std::byte{1});
  EXPECT_TRUE(all_are(memory().part(1002, 997).octets(), std::byte{3}));
  EXPECT_EQ(memory().octets[1999], std::byte{2});
  EXPECT_EQ(memory().octets[2000], std::byte{0xee});
}

class Arrivals : public IwarpTest {};

TEST_F(Arrivals, CountWritesThatAreCompleteAndInOrder) {
  serve();
  const Exposed exposed = expose(0, 100, fabric::Access::remote_write);
  const auto& arrival = dynamic_cast<const fabric::Arrival&>(*exposed.window);
  const auto [handle, length, offset] = exposed.segment;
  EXPECT_EQ(arrival.arrived(), 0u);
  peer_.send(write(handle, offset, filled(10, 0x11), true));
  ASSERT_TRUE(until([&] { return arrival.arrived() == 10; }));
  const Bytes next = write(handle, offset + 10, filled(20, 0x22), true);
  peer_.send(Bytes(next.begin(), next.begin() + 25));
  ASSERT_TRUE(until([&] { return memory().octets[10] == std::byte{0x22}; }));
  EXPECT_EQ(arrival.arrived(), 10u);
  peer_.send(Bytes(next.begin() + 25, next.end()));
  ASSERT_TRUE(until([&] { return arrival.arrived() == 30; }));
  EXPECT_FALSE(arrival.out_of_order());
  peer_.send(write(handle, offset + 50, filled(5, 0x33), true));
  ASSERT_TRUE(until([&] { return arrival.out_of_order(); }));
  peer_.send(write(handle, offset + 30, filled(20, 0x44), true));
  ASSERT_TRUE(until([&] { return memory().octets[49] == std::byte{0x44}; }));
  EXPECT_EQ(arrival.arrived(), 30u);
  ASSERT_FALSE(node().qp->invalidate(*exposed.window, node().op(1)));
  node().qp->submit();
  ASSERT_TRUE(until([&] { return node().count(1) == 1; }));
  ASSERT_TRUE(node().qp->bind(*exposed.window, memory().part(0, 8), fabric::Access::remote_write));
  EXPECT_EQ(arrival.arrived(), 0u);
  EXPECT_FALSE(arrival.out_of_order());
}

}  // namespace
}  // namespace rpcrdma::test
