// SPDX-License-Identifier: BSD-3-Clause
// Calls over the userspace iWARP fabric, with real sockets. In some tests the server has several threads.
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <future>
#include <optional>
#include <thread>

#include "exchange.hpp"
#include "raw_peer.hpp"
#include "rpcrdma/fabric/iwarp/iwarp.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/responder/server.hpp"
#include "rpcrdma/wire/private_data.hpp"
#include "support/pattern.hpp"
#include "support/run.hpp"

namespace rpcrdma::test {
namespace {

const fabric::Endpoint kAnyPort{boost::asio::ip::make_address("127.0.0.1"), 0};

std::unique_ptr<fabric::Fabric> make_iwarp(boost::asio::io_context& context, bool crc = false) {
  fabric::IwarpOptions options;
  options.crc = crc;
  return std::move(*fabric::open_iwarp(context, options, {}));
}

/// Makes `count` random calls, up to 40 at a time, and checks each one.
void run_random_calls(boost::asio::io_context& context, memory::Pool& pool, transport::Client& client,
                      std::uint32_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::deque<std::unique_ptr<ShapedCall>> calls;
  const auto finish_first = [&] {
    ASSERT_TRUE(run_until(context, [&] { return calls.front()->times_done != 0; }));
    EXPECT_EQ(calls.front()->times_done, 1);
    EXPECT_FALSE(calls.front()->status) << calls.front()->status.message();
    EXPECT_EQ(calls.front()->complaint, "");
    calls.pop_front();
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    calls.push_back(std::make_unique<ShapedCall>(pool, client.requester(), random_shape(random, i + 1)));
    client.requester().submit(*calls.back());
    if (calls.size() == 40) finish_first();
  }
  while (!calls.empty() && !testing::Test::HasFatalFailure()) finish_first();
}

class OverIwarp : public testing::TestWithParam<bool> {};

TEST_P(OverIwarp, ThousandRandomCallsAreByteIdentical) {
  boost::asio::io_context context;
  auto client_fabric = make_iwarp(context, GetParam()), server_fabric = make_iwarp(context, GetParam());
  memory::Pool client_pool(*client_fabric), server_pool(*server_fabric);
  ShapedHandler handler;
  auto server = transport::Server::make({{server_fabric.get(), &server_pool, &handler}}, {}, {});
  fabric::Endpoint endpoint;
  server->listen(kAnyPort, [&](Result<fabric::Endpoint> bound) { endpoint = bound.value(); });
  ASSERT_TRUE(run_until(context, [&] { return endpoint.port() != 0; }));
  auto client = transport::Client::make(*client_fabric, client_pool, endpoint, {}, {});
  run_random_calls(context, client_pool, *client, 1000, 7);
  EXPECT_EQ(handler.complaint, "");
  EXPECT_EQ(handler.calls, 1000);
  ASSERT_TRUE(run_until(context, [&] { return handler.sent == 1000; }));
  EXPECT_EQ(client->requester().counters().resent, 0u);
  bool client_closed = false, server_closed = false;
  client->close([&] { client_closed = true; });
  ASSERT_TRUE(run_until(context, [&] { return client_closed; }));
  server->close(std::chrono::steady_clock::now() + std::chrono::seconds(5), [&] { server_closed = true; });
  ASSERT_TRUE(run_until(context, [&] { return server_closed; }));
  client.reset();
  server.reset();
  EXPECT_EQ(client_pool.counters().lent, 0u);
  EXPECT_EQ(server_pool.counters().lent, 0u);
}

INSTANTIATE_TEST_SUITE_P(Crc, OverIwarp, testing::Bool());

// The loop of the second worker runs one handler at a time, and the loop of the first worker runs after each of them.
// Therefore nothing that the second worker has posted to its own loop has run yet when close() completes.
TEST(OverIwarpWorkers, CloseCompletesWhenTheConnectionsAreDestroyed) {
  boost::asio::io_context first, second, clients;
  const auto first_fabric = make_iwarp(first), second_fabric = make_iwarp(second), client_fabric = make_iwarp(clients);
  memory::Pool first_pool(*first_fabric), second_pool(*second_fabric), client_pool(*client_fabric);
  ShapedHandler handler, other_handler;
  auto server = transport::Server::make(
      {{first_fabric.get(), &first_pool, &handler}, {second_fabric.get(), &second_pool, &other_handler}}, {}, {});
  const auto all_until = [&](const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (!done() && std::chrono::steady_clock::now() < end) {
      run_ready(clients);
      second.restart();
      second.poll_one();
      run_ready(first);
    }
    return done();
  };
  fabric::Endpoint endpoint;
  server->listen(kAnyPort, [&](Result<fabric::Endpoint> bound) { endpoint = bound.value(); });
  ASSERT_TRUE(all_until([&] { return endpoint.port() != 0; }));
  std::vector<std::unique_ptr<transport::Client>> connected;
  for (int i = 0; i < 2; ++i) {  // the server gives the first connection to its first worker, the second to its second
    connected.push_back(transport::Client::make(*client_fabric, client_pool, endpoint, {}, {}));
    ShapedCall call(client_pool, connected.back()->requester(), {});
    connected.back()->requester().submit(call);
    ASSERT_TRUE(all_until([&] { return call.times_done == 1; }));
  }
  EXPECT_EQ(other_handler.calls, 1);
  EXPECT_NE(second_pool.counters().lent, 0u);
  std::optional<std::size_t> lent;
  server->close(std::chrono::steady_clock::now(), [&] { lent = second_pool.counters().lent; });
  ASSERT_TRUE(all_until([&] { return lent.has_value(); }));
  EXPECT_EQ(*lent, 0u);
  connected.clear();
  server.reset();
}

// [8166-4.4.1-a] A server issues an RDMA Read, invalidates the handle, and stops reading from its socket. The client
// cancels the call: the call does not complete while a Response is being sent from its memory.
TEST(OverIwarpHostile, InvalidatesWhatItStillReads) {
  boost::asio::io_context context, peers_context;
  auto client_fabric = make_iwarp(context), peer_fabric = make_iwarp(peers_context);
  memory::Pool pool(*client_fabric);
  RawPeer peer(*peer_fabric);
  const auto r = wire::encode(wire::PrivateData{true, 4096, 4096});
  peer.private_data.assign(r.begin(), r.end());
  transport::ClientOptions options;
  options.grace = std::chrono::hours(1);
  auto client = transport::Client::make(*client_fabric, pool, peer.listen(), options, {});
  Shape shape;
  shape.items = {48u << 20};  // more than the sockets hold
  ShapedCall call(pool, client->requester(), shape);
  client->requester().submit(call);
  const auto both_until = [&](const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (!done() && std::chrono::steady_clock::now() < end) {
      run_ready(peers_context);
      context.restart();
      context.run_one_for(std::chrono::milliseconds(1));
    }
    return done();
  };
  ASSERT_TRUE(both_until([&] { return !peer.messages.empty(); }));
  const auto message = peer.take();
  const Segment segment = message.header.chunks.reads.at(0).target;
  wire::Header reply;
  reply.xid = call.xid;
  reply.credits = 1;
  Bytes data;
  peer.read(segment, data);
  peer.send(reply, words({call.xid, 1, 1}), segment.handle);
  run_ready(context);
  client->requester().cancel(call);
  run_ready(context);
  EXPECT_EQ(call.times_done, 0);
  ASSERT_TRUE(both_until([&] { return call.times_done == 1 && peer.read_ended(); }));
  EXPECT_EQ(call.status, BaseError::cancelled);
  EXPECT_TRUE(has_pattern(data, 2));
}

struct WorkerThread {
  boost::asio::io_context context{1};
  std::unique_ptr<fabric::Fabric> fabric = make_iwarp(context);
  memory::Pool pool{*fabric};
  ShapedHandler handler;
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> guard{context.get_executor()};
  std::thread thread;
};

/// A server with three threads.
class OverIwarpThreads : public testing::Test {
 protected:
  void start(const transport::ServerOptions& options) {
    std::vector<transport::Worker> lent;
    for (int i = 0; i < 3; ++i) {
      workers.push_back(std::make_unique<WorkerThread>());
      lent.push_back({workers.back()->fabric.get(), &workers.back()->pool, &workers.back()->handler});
    }
    server = transport::Server::make(lent, options, {});
    for (const auto& worker : workers) worker->thread = std::thread([&context = worker->context] { context.run(); });
    std::promise<fabric::Endpoint> bound;
    server->listen(kAnyPort, [&](Result<fabric::Endpoint> at) { bound.set_value(at.value()); });
    endpoint = bound.get_future().get();
  }
  void stop() {
    std::promise<void> closed;
    server->close(std::chrono::steady_clock::now() + std::chrono::seconds(5), [&] { closed.set_value(); });
    closed.get_future().get();
    for (const auto& worker : workers) {
      worker->guard.reset();
      worker->context.stop();
      worker->thread.join();
      EXPECT_EQ(worker->handler.complaint, "");
    }
    server.reset();
    for (const auto& worker : workers) EXPECT_EQ(worker->pool.counters().lent, 0u);
  }

  std::vector<std::unique_ptr<WorkerThread>> workers;
  std::unique_ptr<transport::Server> server;
  fabric::Endpoint endpoint;
};

TEST_F(OverIwarpThreads, ManyClients) {
  start({});
  {
    boost::asio::io_context context;
    auto fabric = make_iwarp(context);
    memory::Pool pool(*fabric);
    std::vector<std::unique_ptr<transport::Client>> clients;
    for (std::uint32_t i = 0; i < 6; ++i) {
      clients.push_back(transport::Client::make(*fabric, pool, endpoint, {}, {}));
      run_random_calls(context, pool, *clients.back(), 60, i);
    }
    EXPECT_EQ(server->counters().connections, 6u);
    EXPECT_EQ(server->counters().calls, 360u);
  }
  stop();
  for (const auto& worker : workers) EXPECT_EQ(worker->handler.calls, 120);
}

// On every thread, idle connections are evicted for new ones.
TEST_F(OverIwarpThreads, IdleConnectionsGiveWay) {
  transport::ServerOptions options;
  options.max_connections = 3;
  options.idle_grace = std::chrono::milliseconds(20);
  start(options);
  {
    boost::asio::io_context context;
    auto fabric = make_iwarp(context);
    memory::Pool pool(*fabric);
    transport::ClientOptions impatient;
    impatient.first_backoff = impatient.last_backoff = std::chrono::milliseconds(5);
    std::vector<std::unique_ptr<transport::Client>> clients;
    for (std::uint32_t i = 0; i < 9; ++i) {
      clients.push_back(transport::Client::make(*fabric, pool, endpoint, impatient, {}));
      run_random_calls(context, pool, *clients.back(), 3, i);
    }
    EXPECT_EQ(server->counters().calls, 27u);
    EXPECT_LE(server->counters().connections, 4u);
  }
  stop();
}

}  // namespace
}  // namespace rpcrdma::test
