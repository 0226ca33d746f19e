// SPDX-License-Identifier: BSD-3-Clause
// Starting, draining and ending a server; its options, statistics and reports; calls back to its clients.
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <thread>

#include "bed.hpp"

namespace rpcrdma::test {
namespace {

namespace asio = boost::asio;

TEST(Server, ListensAtSeveralAddresses) {
  Server server({.listen = {"iwarp@127.0.0.1", "tcp@127.0.0.1", "tcp@[::1]:0", "iwarp@127.0.0.1:0"}});
  server.on<hello::Add>([](u_int value) { return value + 1; });
  server.start();
  ASSERT_EQ(server.listeners().size(), 4u);
  for (const Server::Listener& listener : server.listeners()) {
    Client client(listener.text());
    EXPECT_EQ(*client.call<hello::Add>(1, asio::use_future).get(), 2u) << listener.text();
  }
}

TEST(Server, ServesTheVersionsOfItsOptions) {
  using enum transport::VersionChoice;
  Server server({.listen = {"iwarp@127.0.0.1"}, .version = two});
  server.on<hello::Add>([](u_int value) { return value + 1; });
  server.start();
  const auto called = [&](transport::VersionChoice version) {
    Client client(server.listeners().front().text(), {.version = version});
    return error_of(client.call<hello::Add>(1, asio::use_future));
  };
  EXPECT_EQ(called(two), error_code());
  EXPECT_EQ(called(automatic), error_code());
  EXPECT_EQ(called(one), transport::TransportError::peer_err_vers);
}

TEST(Server, WaitsAsItsOptionsSay) {
  for (const Polling poll : {Polling::off(), Polling::fixed(std::chrono::seconds(1))}) {
    Server server({.listen = {"iwarp@127.0.0.1"}, .poll = poll});
    server.on<hello::Add>([](u_int value) { return value + 1; });
    server.start();
    Client client(server.listeners().front().text(), {.poll = poll});
    for (u_int i = 0; i < 10; ++i) EXPECT_EQ(*client.call<hello::Add>(i, asio::use_future).get(), i + 1);
    for (const Runner::Counters& waits : {server.statistics().waits, client.statistics().waits}) {
      EXPECT_EQ(waits.polls != 0, poll != Polling::off());
      if (poll == Polling::off()) {
        EXPECT_NE(waits.blocks, 0u);
      }
    }
  }
}

TEST(Server, SaysWhyItCannotStart) {
  EXPECT_THROW(Server({.listen = {"rdma@127.0.0.1"}}), std::invalid_argument);
  EXPECT_THROW(Server({.listen = {"localhost:1"}}), std::invalid_argument);
  Bed bed;
  Server second({.listen = {bed.at("tcp")}});
  EXPECT_THROW(second.start(), std::runtime_error);
  Server third({.listen = {bed.at("iwarp")}});
  EXPECT_EQ(third.run(), 1);
}

TEST(Server, DrainsWhenItIsStopped) {
  Bed bed;
  Client client(bed.at("iwarp"));
  auto hanging = client.call<hello::Hang>({}, asio::use_future);
  bed.await_held(1);
  std::thread stopping([&] { bed.server->stop(std::chrono::minutes(10)); });
  bed.answer_held();
  EXPECT_EQ(error_of(std::move(hanging)), error_code());
  stopping.join();
}

TEST(Server, RunsUntilASignal) {
  std::string address;
  {
    Bed bed;
    address = bed.at("iwarp");
  }
  Server server({.listen = {address}});
  server.on<hello::Add>([](u_int value) {
    ::kill(::getpid(), SIGTERM);
    return value + 1;
  });
  std::thread calling([&] {
    Client client(address);
    EXPECT_EQ(*client.call<hello::Add>(1, asio::use_future).get(), 2u);
  });
  EXPECT_EQ(server.run(), 0);
  calling.join();
}

TEST(Server, DestroysHandlersThatAreSuspended) {
  auto alive = std::make_shared<int>();
  std::atomic<bool> suspended = false;
  {
    Server server({.listen = {"iwarp@127.0.0.1"}});
    server.on<hello::Hang>([&suspended, alive](ServerCall<hello::Hang> call) -> awaitable<void> {
      const auto kept = alive;
      asio::steady_timer never(call.context(), std::chrono::hours(1));
      suspended = true;
      suspended.notify_all();
      co_await never.async_wait(asio::use_awaitable);
      call.reply({});
    });
    server.start();
    Client client(server.listeners().front().text());
    client.call<hello::Hang>({}, [](error_code, const auto&) {});
    suspended.wait(false);
  }
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(Server, ShowsTheStatisticsOfAConnection) {
  for (const std::string carrier : {"iwarp", "tcp"}) {
    std::promise<transport::ConnectionStatistics> second;
    Server server({.listen = {carrier + "@127.0.0.1"}});
    server.on<hello::Add>([&second](ServerCall<hello::Add> call) {
      if (call.args() == 2) second.set_value(call.statistics());
      call.reply(call.args());
    });
    server.start();
    Client client(server.listeners().front().text());
    for (u_int i = 1; i < 3; ++i) client.call<hello::Add>(i, boost::asio::use_future).get();
    const transport::ConnectionStatistics seen = second.get_future().get();
    EXPECT_EQ(seen.calls, 2u);
    EXPECT_EQ(seen.calls_in_progress, 1u);
    EXPECT_EQ(seen.credits != 0, carrier == "iwarp");
  }
}

TEST(Server, CallsBackToItsClients) {
  Bed bed;
  std::promise<u_int> told, again;
  Client client(bed.at("iwarp"));
  client.on<hello::Changed>(
      [&, first = true](u_int value) mutable { (std::exchange(first, false) ? told : again).set_value(value); });
  client.on_connected([&] { client.call<hello::Watch>({}, [](error_code, const auto&) {}); });
  client.call<hello::Null>({}, asio::use_future).get();
  {
    std::unique_lock lock(bed.mutex);
    bed.changed.wait(lock, [&] { return !bed.watchers.empty(); });
  }
  bed.watchers.front().call<hello::Changed>(17, asio::use_future).get();
  EXPECT_EQ(told.get_future().get(), 17u);
  bed.watchers.front().call<hello::Changed>(18, asio::use_future).get();
  EXPECT_EQ(again.get_future().get(), 18u);
}

TEST(Reports, MayBeMadeWhileTheServerStartsAndStops) {
  std::atomic<bool> over{false};
  for (int round = 0; round < 5; ++round) {
    Server server({.listen = {"iwarp@127.0.0.1", "tcp@127.0.0.1"}, .threads = 2});
    server.on<hello::Add>([](u_int value) { return value + 1; });
    over = false;
    std::thread reader([&] {
      while (!over) {
        const Server::Report report = server.report();
        EXPECT_TRUE(report.listeners.empty() || report.listeners.size() == 2);
        const Server::Statistics sums = server.statistics();
        EXPECT_TRUE(sums.listeners.empty() || sums.listeners.size() == 2);
      }
    });
    server.start();
    Client client(server.listeners().front().text());
    client.call<hello::Add>(1, asio::use_future).get();
    EXPECT_EQ(server.report().procedures.size(), 1u);
    server.stop(std::chrono::milliseconds(0));
    over = true;
    reader.join();
    EXPECT_TRUE(server.report().procedures.empty());
  }
}

TEST(Reports, AreNotMadeOnAThreadOfTheServer) {
  Server server({.listen = {"iwarp@127.0.0.1"}});
  bool refused = false;
  server.on<hello::Add>([&](u_int value) {
    try {
      static_cast<void>(server.report());
    } catch (const std::logic_error&) {
      refused = true;
    }
    return value;
  });
  server.start();
  Client(server.listeners().front().text()).call<hello::Add>(1, asio::use_future).get();
  server.stop();
  EXPECT_TRUE(refused);
}

}  // namespace
}  // namespace rpcrdma::test
