// SPDX-License-Identifier: BSD-3-Clause
// What happens to a connection request that a worker receives, and how it is counted.
#include <gtest/gtest.h>

#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "server_worker.hpp"
#include "support/run.hpp"

namespace rpcrdma::transport {
namespace {

struct NoCalls final : CallHandler {
  void on_call(IncomingCall& call) noexcept override { call.discard(); }
};

struct NoEvents final : fabric::QueuePairEvents {
  void on_established(const fabric::ConnectionInfo&) noexcept override { established = true; }
  void on_disconnected(error_code reason) noexcept override { why = reason; }
  bool established = false;
  std::optional<error_code> why;
};

class TakeTest : public testing::Test {
 protected:
  TakeTest() {
    worker->context();
    connector = std::move(*client->make_connector(listener->local(), {}, events));
  }
  ~TakeTest() override { worker->destroy(); }

  /// The request of a new connection.
  Arrival arrival() {
    client->start(*connector);
    EXPECT_TRUE(test::run_until(context, [this] { return request != nullptr; }));
    return {std::move(request), counts};
  }

  boost::asio::io_context context;
  fabric::LoopbackNetwork network{context};
  std::unique_ptr<fabric::LoopbackFabric> server = network.make_fabric("server"),
                                          client = network.make_fabric("client");
  memory::Pool pool{*server};
  NoCalls handler;
  FaultyCalls faulty;
  std::size_t left = 0;
  std::shared_ptr<ServerWorker> worker =
      std::make_shared<ServerWorker>(Worker{server.get(), &pool, &handler}, ServerOptions{}, faulty, Log{},
                                     [this](const boost::asio::ip::address&) { ++left; });
  std::unique_ptr<fabric::ConnectionRequest> request;
  std::unique_ptr<fabric::Listener> listener = std::move(
      *server->listen({boost::asio::ip::make_address("127.0.0.1"), 0},
                      [this](std::unique_ptr<fabric::ConnectionRequest> made) { request = std::move(made); }));
  NoEvents events;
  std::unique_ptr<fabric::QueuePair> connector;
  std::shared_ptr<ListenerCounts> counts = std::make_shared<ListenerCounts>();
};

TEST_F(TakeTest, AConnectionThatIsMadeIsAccepted) {
  worker->take(arrival());
  EXPECT_EQ(counts->connections, 1u);
  EXPECT_EQ(counts->accepted, 0u);
  ASSERT_TRUE(test::run_until(context, [this] { return events.established; }));
  EXPECT_EQ(counts->accepted, 1u);
  connector->abort();
  ASSERT_TRUE(test::run_until(context, [this] { return left == 1; }));
  EXPECT_EQ(counts->connections, 0u);
  EXPECT_EQ(counts->refused + counts->failed, 0u);
}

TEST_F(TakeTest, ARequestDuringTheDrainIsRefused) {
  Arrival late = arrival();
  bool drained = false;
  worker->drain(std::chrono::steady_clock::now() + std::chrono::hours(1), [&drained] { drained = true; });
  EXPECT_TRUE(drained);
  worker->take(std::move(late));
  EXPECT_EQ(counts->refused, 1u);
  EXPECT_EQ(counts->accepted + counts->failed + counts->connections, 0u);
  EXPECT_EQ(left, 1u);
  ASSERT_TRUE(test::run_until(context, [this] { return events.why.has_value(); }));
  EXPECT_EQ(*events.why, fabric::FabricError::rejected);
}

TEST_F(TakeTest, AHandshakeThatFailsIsCounted) {
  server->fail_nth(fabric::LoopbackOperation::accept, 1);
  worker->take(arrival());
  ASSERT_TRUE(test::run_until(context, [this] { return left == 1; }));
  EXPECT_EQ(counts->failed, 1u);
  EXPECT_EQ(counts->accepted + counts->refused + counts->connections, 0u);
}

TEST_F(TakeTest, AConnectionWithoutAQueuePairHasFailed) {
  server->fail_nth(fabric::LoopbackOperation::make_queue_pair, 1);
  worker->take(arrival());
  EXPECT_EQ(counts->failed, 1u);
  EXPECT_EQ(counts->accepted + counts->refused + counts->connections, 0u);
  EXPECT_EQ(left, 1u);
}

}  // namespace
}  // namespace rpcrdma::transport
