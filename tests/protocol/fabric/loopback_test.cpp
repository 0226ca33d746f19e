// SPDX-License-Identifier: BSD-3-Clause
// The loopback fabric: injected faults, pauses, a trace, reduced capabilities, and mistakes of its user.
#include "rpcrdma/fabric/loopback/loopback.hpp"

#include "support/fabric_conformance.hpp"

namespace rpcrdma::test {
namespace {

using fabric::Access;
using fabric::Capabilities;
using fabric::FabricError;
using fabric::LoopbackNetwork;
using fabric::LoopbackOperation;
using fabric::LoopbackPause;

const error_code kReset = boost::system::errc::make_error_code(boost::system::errc::connection_reset);

class LoopbackTest : public testing::Test {
 protected:
  explicit LoopbackTest(fabric::LoopbackOptions options = {}) : network_(context_, options) {}

  void make(const Capabilities& capabilities) {
    server_fabric_ = network_.make_fabric("server", capabilities);
    client_fabric_ = network_.make_fabric("client", capabilities);
    client_ = std::make_unique<Node>(*client_fabric_);
    server_ = std::make_unique<Node>(*server_fabric_);
  }
  void SetUp() override { make(LoopbackNetwork::default_capabilities()); }

  void begin() {
    listener_ = std::move(*server_fabric_->listen(
        {boost::asio::ip::address_v4::loopback(), 0}, [this](std::unique_ptr<fabric::ConnectionRequest> request) {
          auto qp = server_fabric_->make_acceptor(std::move(request), {}, *server_);
          if (!qp) return;
          server_->qp = std::move(*qp);
          server_fabric_->start(*server_->qp);
        }));
    auto qp = client_fabric_->make_connector(listener_->local(), {}, *client_);
    ASSERT_TRUE(qp);
    client_->qp = std::move(*qp);
    client_fabric_->start(*client_->qp);
    run_ready(context_);
  }
  void connect() {
    begin();
    ASSERT_TRUE(client_->established());
    ASSERT_TRUE(server_->established());
  }

  boost::asio::io_context context_;
  LoopbackNetwork network_;
  std::unique_ptr<fabric::LoopbackFabric> server_fabric_;
  std::unique_ptr<fabric::LoopbackFabric> client_fabric_;
  std::unique_ptr<Node> client_;
  std::unique_ptr<Node> server_;
  std::unique_ptr<fabric::Listener> listener_;
};

TEST_F(LoopbackTest, PostsFailOnRequest) {
  connect();
  Memory memory(*client_fabric_, 64);
  client_fabric_->fail_nth(LoopbackOperation::post_send, 2);
  EXPECT_FALSE(client_->send(memory.all(), 1));
  EXPECT_EQ(client_->send(memory.all(), 2), BaseError::out_of_memory);
  EXPECT_FALSE(client_->send(memory.all(), 3));
  client_fabric_->fail_nth(LoopbackOperation::any, 1, FabricError::unsupported);
  EXPECT_EQ(client_->qp->post_receive(memory.all(), client_->op(4)), FabricError::unsupported);
  EXPECT_EQ(client_fabric_->operations(LoopbackOperation::post_send), 3u);
  client_fabric_->fail_nth(LoopbackOperation::make_window, 1);
  EXPECT_FALSE(client_->qp->make_window());
  auto window = client_->qp->make_window();
  ASSERT_TRUE(window);
  client_fabric_->fail_nth(LoopbackOperation::bind, 1);
  EXPECT_FALSE(client_->qp->bind(**window, memory.all(), Access::remote_read));
  EXPECT_FALSE((*window)->bound());
}

TEST_F(LoopbackTest, ConnectingFailsOnRequest) {
  client_fabric_->fail_nth(LoopbackOperation::connect, 1);
  begin();
  EXPECT_EQ(*client_->disconnected, FabricError::handshake_failed);
  EXPECT_EQ(server_->qp, nullptr);
}

TEST_F(LoopbackTest, AcceptingFailsOnRequest) {
  server_fabric_->fail_nth(LoopbackOperation::accept, 1);
  begin();
  EXPECT_EQ(*server_->disconnected, FabricError::handshake_failed);
  EXPECT_TRUE(client_->disconnected->failed());
}

TEST_F(LoopbackTest, MakingAnAcceptorFailsOnRequest) {
  server_fabric_->fail_nth(LoopbackOperation::make_queue_pair, 1);
  begin();
  EXPECT_EQ(*client_->disconnected, FabricError::rejected);
}

TEST_F(LoopbackTest, ACompletionFailsOnRequest) {
  connect();
  Memory from(*client_fabric_, 64);
  Memory to(*server_fabric_, 64);
  for (int i = 0; i < 5; ++i) ASSERT_FALSE(server_->qp->post_receive(to.all(), server_->op(i)));
  server_fabric_->fail_nth(LoopbackOperation::completion, 2);
  for (int i = 0; i < 3; ++i) ASSERT_FALSE(client_->send(from.all(), i));
  client_->qp->submit();
  run_ready(context_);
  EXPECT_EQ(server_->tags(), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_FALSE(server_->result(0).status);
  EXPECT_EQ(server_->result(1).status, FabricError::protocol_violation);
  EXPECT_EQ(server_->result(2).status, FabricError::flushed) << "arrives after the connection has ended";
  EXPECT_EQ(server_->result(3).status, FabricError::flushed);
  EXPECT_EQ(*server_->disconnected, FabricError::protocol_violation);
  EXPECT_TRUE(client_->disconnected->failed());
}

TEST_F(LoopbackTest, TheHandshakeTimesOut) {
  std::unique_ptr<fabric::ConnectionRequest> kept;
  listener_ = std::move(
      *server_fabric_->listen({boost::asio::ip::address_v4::loopback(), 0},
                              [&](std::unique_ptr<fabric::ConnectionRequest> request) { kept = std::move(request); }));
  fabric::QueuePairOptions options;
  options.handshake_timeout = std::chrono::milliseconds(1);
  client_->qp = std::move(*client_fabric_->make_connector(listener_->local(), options, *client_));
  client_fabric_->start(*client_->qp);
  ASSERT_TRUE(run_until(context_, [&] { return client_->disconnected.has_value(); }));
  EXPECT_EQ(*client_->disconnected, FabricError::handshake_timeout);
  EXPECT_NE(kept, nullptr);
}

TEST_F(LoopbackTest, TheConnectionDropsAfterSoManyFrames) {
  connect();
  Memory from(*client_fabric_, 64);
  Memory to(*server_fabric_, 64);
  for (int i = 0; i < 5; ++i) ASSERT_FALSE(server_->qp->post_receive(to.all(), server_->op(i)));
  network_.drop_connection_after(3);
  for (int i = 0; i < 5; ++i) ASSERT_FALSE(client_->send(from.all(), i));
  client_->qp->submit();
  run_ready(context_);
  EXPECT_EQ(network_.frames(), 3u);
  EXPECT_EQ(*client_->disconnected, kReset);
  EXPECT_EQ(*server_->disconnected, kReset);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(server_->result(i).status.failed(), i >= 3) << i;
  // Only that connection is lost; the next one works.
  make(LoopbackNetwork::default_capabilities());
  connect();
  Memory again(*client_fabric_, 64);
  Memory there(*server_fabric_, 64);
  ASSERT_FALSE(server_->qp->post_receive(there.all(), server_->op(1)));
  ASSERT_FALSE(client_->send(again.all(), 2));
  client_->qp->submit();
  run_ready(context_);
  EXPECT_EQ(server_->count(1), 1u);
}

// [5040-5.3-c] [5041-7.1-a] A Send that is longer than the posted Receive ends the connection. So does a Send for which
// no Receive is posted. The network counts both in overruns().
TEST_F(LoopbackTest, SendsWithoutASuitableReceiveAreCounted) {
  connect();
  Memory from(*client_fabric_, 65);
  Memory to(*server_fabric_, 64);
  ASSERT_FALSE(server_->qp->post_receive(to.all(), server_->op(1)));
  ASSERT_FALSE(client_->send(from.all(), 2));
  client_->qp->submit();
  run_ready(context_);
  EXPECT_EQ(*server_->disconnected, FabricError::message_too_long);
  EXPECT_EQ(network_.overruns(), 1u);
  make(LoopbackNetwork::default_capabilities());
  connect();
  Memory again(*client_fabric_, 1);
  ASSERT_FALSE(client_->send(again.all(), 3));
  client_->qp->submit();
  run_ready(context_);
  EXPECT_EQ(*server_->disconnected, FabricError::no_receive);
  EXPECT_EQ(network_.overruns(), 2u);
}

TEST_F(LoopbackTest, AHalfPlacedWritePinsItsWindow) {
  connect();
  Memory target(*client_fabric_, 1000);
  Memory source(*server_fabric_, 1000, std::byte{0x11});
  const Exposed exposed(*client_, target.all(), Access::remote_write);
  network_.pause(LoopbackPause::half_placed);
  ASSERT_FALSE(server_->write(source.all(), exposed.segment, 1));
  server_->qp->submit();
  run_ready(context_);
  EXPECT_EQ(target.octets[499], std::byte{0x11});
  EXPECT_EQ(target.octets[500], std::byte{0});
  ASSERT_FALSE(client_->qp->invalidate(*exposed.window, client_->op(2)));
  client_->qp->submit();
  run_ready(context_);
  EXPECT_EQ(client_->count(2), 0u);
  network_.resume();
  run_ready(context_);
  EXPECT_EQ(client_->count(2), 1u);
  EXPECT_TRUE(all_are(target.octets, std::byte{0x11}));
  EXPECT_EQ(client_fabric_->bound_windows(), 0u);
}

TEST_F(LoopbackTest, AnUnansweredReadPinsItsWindow) {
  connect();
  Memory source(*client_fabric_, 1000, std::byte{0x11});
  Memory sink(*server_fabric_, 1000);
  const Exposed exposed(*client_, source.all(), Access::remote_read);
  network_.pause(LoopbackPause::half_placed);
  ASSERT_FALSE(server_->read(sink.all(), exposed.segment, 1));
  server_->qp->submit();
  run_ready(context_);
  ASSERT_FALSE(client_->qp->invalidate(*exposed.window, client_->op(2)));
  client_->qp->submit();
  run_ready(context_);
  EXPECT_EQ(client_->count(2), 0u);
  network_.resume();
  run_ready(context_);
  EXPECT_EQ(client_->count(2), 1u);
  EXPECT_EQ(server_->count(1), 1u);
  EXPECT_TRUE(all_are(sink.octets, std::byte{0x11}));
}

// The peer invalidates a window while its own Read Request for this window has not been answered. Until the Read
// Response has been sent, Window::bound() stays true, and a local invalidation of the window does not complete.
TEST_F(LoopbackTest, AnUnansweredReadPinsItsWindowThoughThePeerInvalidatesIt) {
  connect();
  Memory source(*client_fabric_, 1000, std::byte{0x11});
  Memory message(*client_fabric_, 64);
  Memory sink(*server_fabric_, 1000);
  const Exposed exposed(*client_, source.all(), Access::remote_read);
  ASSERT_FALSE(client_->qp->post_receive(message.all(), client_->op(1)));
  network_.pause(LoopbackPause::half_placed);
  ASSERT_FALSE(server_->read(sink.all(), exposed.segment, 1));
  ASSERT_FALSE(server_->send(sink.part(0, 10), 2, {.invalidate = exposed.segment.handle}));
  server_->qp->submit();
  run_ready(context_);
  EXPECT_EQ(client_->count(1), 0u);
  EXPECT_EQ(client_fabric_->bound_windows(), 0u);
  EXPECT_TRUE(exposed.window->bound());
  ASSERT_FALSE(client_->qp->invalidate(*exposed.window, client_->op(2)));
  client_->qp->submit();
  run_ready(context_);
  EXPECT_EQ(client_->count(2), 0u);
  network_.resume();
  run_ready(context_);
  EXPECT_EQ(client_->count(1), 1u);
  EXPECT_EQ(client_->count(2), 1u);
  EXPECT_FALSE(exposed.window->bound());
  EXPECT_TRUE(all_are(sink.octets, std::byte{0x11}));
}

TEST_F(LoopbackTest, FramesStayOnTheirWayWhilePaused) {
  connect();
  Memory from(*client_fabric_, 10);
  Memory to(*server_fabric_, 10);
  ASSERT_FALSE(server_->qp->post_receive(to.all(), server_->op(1)));
  network_.pause(LoopbackPause::before_arrival);
  ASSERT_FALSE(client_->send(from.all(), 2));
  client_->qp->submit();
  run_ready(context_);
  EXPECT_EQ(client_->count(2), 1u);
  EXPECT_EQ(server_->count(1), 0u);
  network_.resume();
  run_ready(context_);
  EXPECT_EQ(server_->count(1), 1u);
}

TEST_F(LoopbackTest, TheTraceShowsTheWire) {
  connect();
  Memory at_client(*client_fabric_, 1000);
  Memory at_server(*server_fabric_, 1000);
  fill_pattern(at_client.octets, 1);
  const Exposed exposed(*client_, at_client.part(0, 500), Access::remote_read);
  network_.start_trace();
  ASSERT_FALSE(client_->qp->post_receive(at_client.part(900, 100), client_->op(0)));
  ASSERT_FALSE(server_->qp->post_receive(at_server.part(900, 100), server_->op(0)));
  ASSERT_FALSE(client_->send(at_client.part(500, 60), 1));
  client_->qp->submit();
  run_ready(context_);
  ASSERT_FALSE(server_->read(at_server.part(0, 500), exposed.segment, 2));
  ASSERT_FALSE(server_->send(at_server.part(0, 40), 3, {.invalidate = exposed.segment.handle}));
  server_->qp->submit();
  run_ready(context_);
  EXPECT_TRUE(has_pattern(network_.trace().front().octets, 1, 500));
  EXPECT_EQ(network_.take_trace_text(), (std::vector<std::string>{"client send 60", "server read 500",
                                                                  "server send 40 invalidate", "client response 500"}));
  client_->qp->disconnect();
  run_ready(context_);
  EXPECT_EQ(network_.take_trace_text(), (std::vector<std::string>{"client close", "server close"}));
}

TEST_F(LoopbackTest, WithoutRemoteInvalidation) {
  Capabilities capabilities = LoopbackNetwork::default_capabilities();
  capabilities.remote_invalidation = false;
  make(capabilities);
  connect();
  Memory memory(*server_fabric_, 10);
  EXPECT_EQ(server_->send(memory.all(), 1, {.invalidate = 5}), FabricError::unsupported);
}

TEST_F(LoopbackTest, InexactWindowsReachTheirWholeRegion) {
  Capabilities capabilities = LoopbackNetwork::default_capabilities();
  capabilities.exact_window_bounds = false;
  make(capabilities);
  connect();
  Memory target(*client_fabric_, 1000);
  Memory source(*server_fabric_, 1000, std::byte{0x11});
  const Exposed exposed(*client_, target.part(100, 100), Access::remote_write);
  ASSERT_FALSE(server_->write(source.all(), exposed.segment, 1, static_cast<std::uint64_t>(-100)));
  server_->qp->submit();
  run_ready(context_);
  EXPECT_TRUE(all_are(target.octets, std::byte{0x11}));
  ASSERT_FALSE(server_->write(source.all(), exposed.segment, 2, static_cast<std::uint64_t>(-99)));
  server_->qp->submit();
  run_ready(context_);
  EXPECT_EQ(*client_->disconnected, FabricError::protocol_violation);
}

TEST_F(LoopbackTest, WithoutReads) {
  Capabilities capabilities = LoopbackNetwork::default_capabilities();
  capabilities.max_read_depth = 0;
  make(capabilities);
  connect();
  Memory memory(*client_fabric_, 10);
  EXPECT_EQ(client_->read(memory.all(), {1, 10, 0}, 1), FabricError::unsupported);
}

TEST_F(LoopbackTest, UnregisteredMemoryIsRefused) {
  connect();
  std::array<std::byte, 16> strange{};
  EXPECT_EQ(client_->send({strange.data(), 16, 0}, 1), BaseError::invalid_argument);
  EXPECT_EQ(client_->qp->post_receive({strange.data(), 16, 0}, client_->op(2)), BaseError::invalid_argument);
  auto memory = std::make_unique<Memory>(*client_fabric_, 16);
  const BufferRef gone = memory->all();
  EXPECT_EQ(client_fabric_->regions(), 1u);
  memory.reset();
  EXPECT_EQ(client_fabric_->regions(), 0u);
  EXPECT_EQ(client_->send(gone, 1), BaseError::invalid_argument);
}

TEST_F(LoopbackTest, UnsignalledWorkHoldsItsSlot) {
  connect();
  Memory memory(*client_fabric_, 16);
  Memory to(*server_fabric_, 16);
  const BufferRef buffer = memory.all();
  for (int i = 0; i < 64; ++i) {
    ASSERT_FALSE(server_->qp->post_receive(to.all(), nullptr));
    ASSERT_FALSE(client_->qp->post_send({&buffer, 1}, {}, nullptr));
  }
  client_->qp->submit();
  run_ready(context_);
  EXPECT_EQ(client_->send(buffer, 1), FabricError::queue_full);
}

/// Returns the trace of fixed traffic, whose frames have delays and an order drawn from `seed`.
std::vector<std::string> traffic(std::uint64_t seed) {
  boost::asio::io_context context;
  LoopbackNetwork network(context, {.seed = seed, .max_delay = 5, .reorder = true});
  const auto a = network.make_fabric("a");
  const auto b = network.make_fabric("b");
  Node left(*a);
  Node right(*b);
  const auto listener = std::move(*b->listen({boost::asio::ip::address_v4::loopback(), 0}, [&](auto request) {
    right.qp = std::move(*b->make_acceptor(std::move(request), {}, right));
    b->start(*right.qp);
  }));
  left.qp = std::move(*a->make_connector(listener->local(), {}, left));
  a->start(*left.qp);
  run_ready(context);
  Memory at_left(*a, 10000);
  Memory at_right(*b, 10000);
  const Exposed exposed(left, at_left.all(), Access::remote_read);
  network.start_trace();
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_FALSE(left.qp->post_receive(at_left.part(0, 100), left.op(0)));
    EXPECT_FALSE(right.qp->post_receive(at_right.part(0, 100), right.op(0)));
    EXPECT_FALSE(right.read(at_right.part(i * 100, 50 + i), exposed.segment, 1));
    EXPECT_FALSE(left.send(at_left.part(0, i), 2));
  }
  left.qp->submit();
  right.qp->submit();
  run_ready(context);
  EXPECT_EQ(left.log.size(), 10u);
  EXPECT_EQ(right.log.size(), 20u);
  return network.take_trace_text();
}

TEST(LoopbackSeed, TheSameSeedGivesTheSameOrder) {
  EXPECT_EQ(traffic(1), traffic(1));
  EXPECT_EQ(traffic(2), traffic(2));
}

}  // namespace
}  // namespace rpcrdma::test
