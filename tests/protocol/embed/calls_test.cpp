// SPDX-License-Identifier: BSD-3-Clause
// The same calls over RDMA and TCP, with each form of completion token. They complete on the client's own thread or on
// a thread of the program.
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

#include "bed.hpp"
#include "support/pattern.hpp"

namespace rpcrdma::test {
namespace {

namespace asio = boost::asio;

class Calls : public testing::TestWithParam<const char*> {
 protected:
  std::string server() const { return bed.at(GetParam()); }
  Bed bed;
};
INSTANTIATE_TEST_SUITE_P(Carriers, Calls, testing::Values("iwarp", "tcp"),
                         [](const auto& carrier) { return std::string(carrier.param); });

TEST_P(Calls, CompleteAFuture) {
  Client client(server());
  const auto reply = client.call<hello::Greet>({"world"}, asio::use_future).get();
  EXPECT_EQ(reply->text.view(), "Hello, world!");
  EXPECT_STREQ(reply->copy, "world");
}

TEST_P(Calls, CompleteACallback) {
  Client client(server());
  std::promise<std::string> promise;
  client.call<hello::Greet>({"you"}, [&](error_code failed, rpc::Decoded<greet_result> reply) {
    promise.set_value(failed ? failed.message() : std::string(reply->text.view()));
  });
  EXPECT_EQ(promise.get_future().get(), "Hello, you!");
}

awaitable<void> make_calls(Client& client, std::uint32_t& sum, std::thread::id thread) {
  const auto one = co_await client.call<hello::Add>(1);
  const auto two = co_await client.call<hello::Add>(2, asio::use_awaitable);
  const auto [failed, three] = co_await client.call<hello::Add>(3, CallOptions(), asio::as_tuple(asio::use_awaitable));
  EXPECT_FALSE(failed);
  EXPECT_EQ(std::this_thread::get_id(), thread) << "on the thread of the coroutine";
  sum = *one + *two + *three;
}

TEST_P(Calls, ResumeACoroutineOnItsThread) {
  asio::io_context context;
  std::uint32_t sum = 0;
  const auto rethrow = [](const std::exception_ptr& thrown) {
    if (thrown) std::rethrow_exception(thrown);
  };
  {
    Client own(server());
    asio::co_spawn(context, make_calls(own, sum, std::this_thread::get_id()), rethrow);
    context.run();
  }
  EXPECT_EQ(sum, 1u + 3u + 6u);
  Client client(context, server());
  asio::co_spawn(context, make_calls(client, sum, std::this_thread::get_id()), [&](const std::exception_ptr& thrown) {
    rethrow(thrown);
    client.close([] {});
  });
  context.restart();
  while (sum != 7u + 9u + 12u && context.run_one() != 0) continue;
  EXPECT_EQ(sum, 7u + 9u + 12u);
}

TEST_P(Calls, StartWhenADeferredOperationIsInitiated) {
  Client client(server());
  {
    auto unused = client.call<hello::Add>(100);
    auto later = client.call<hello::Add>(5);
    EXPECT_EQ(*std::move(later)(asio::use_future).get(), 5u);
  }
  EXPECT_EQ(*client.call<hello::Add>(0, asio::use_future).get(), 5u) << "the unused operation has not been started";
}

TEST_P(Calls, CarryBulkDataInTheCallersOwnMemory) {
  Client client(server());
  std::vector<std::byte> mine(300'001);
  const Buffer adopted = client.adopt(mine, asio::use_future).get();
  const Buffer pooled = client.allocate(300'001, asio::use_future).get();
  for (u_int seed = 0; seed < 5; ++seed) {
    for (const Buffer* buffer : {&adopted, &pooled}) {
      fill_pattern(buffer->octets(), seed);
      store_args args{};
      args.seed = seed;
      args.data.set_parts(buffer->parts());
      const auto stored = client.call<hello::Store>(args, asio::use_future).get();
      EXPECT_EQ(stored->length, buffer->octets().size());
      EXPECT_TRUE(stored->right);
      const auto fetched =
          client.call<hello::Fetch>({300'001, seed + 7}, CallOptions().into(buffer->parts()), asio::use_future).get();
      EXPECT_EQ(fetched->data.length, 300'001u);
      EXPECT_EQ(fetched->data.kind, bulk_kind::placed);
      std::vector<std::byte> expected(300'001);
      fill_pattern(expected, seed + 7);
      EXPECT_TRUE(std::ranges::equal(buffer->octets(), expected));
    }
  }
  // If the caller supplies no memory, the data arrives in the message.
  const auto small = client.call<hello::Fetch>({1000, 3}, asio::use_future).get();
  std::vector<std::byte> expected(1000);
  fill_pattern(expected, 3);
  EXPECT_TRUE(std::ranges::equal(small->data.octet_span(), expected));
}

TEST_P(Calls, FailAtTheirDeadline) {
  Client client(server());
  client.call<hello::Null>({}, asio::use_future).get();
  auto late = client.call<hello::Hang>({}, CallOptions().within(std::chrono::milliseconds(20)), asio::use_future);
  EXPECT_EQ(error_of(std::move(late)), BaseError::deadline_exceeded);
}

TEST_P(Calls, AreCancelledFromTheThreadThatMadeThem) {
  Client client(server());
  // Over RDMA, the reply to this call grants more than one credit. The second HANG below needs a credit of its own,
  // because the server has not answered the cancelled HANG.
  client.call<hello::Null>({}, asio::use_future).get();
  asio::cancellation_signal signal;
  auto hanging = client.call<hello::Hang>({}, asio::bind_cancellation_slot(signal.slot(), asio::use_future));
  bed.await_held(1);
  signal.emit(asio::cancellation_type::terminal);
  EXPECT_EQ(error_of(std::move(hanging)), BaseError::cancelled);
  // The signal of a call that has ended does not affect the next call.
  auto next = client.call<hello::Hang>({}, asio::use_future);
  bed.await_held(2);
  signal.emit(asio::cancellation_type::terminal);
  bed.answer_held();
  EXPECT_EQ(error_of(std::move(next)), error_code());
}

TEST_P(Calls, AreCancelledOnTheContextOfTheApplication) {
  asio::io_context context;
  Client client(context, server());
  asio::cancellation_signal signal;
  error_code ended;
  client.call<hello::Hang>({}, asio::bind_cancellation_slot(signal.slot(), [&](error_code failed, const auto&) {
                             ended = failed;
                             context.stop();
                           }));
  std::thread waiting([&] {
    bed.await_held(1);
    asio::post(context, [&] { signal.emit(asio::cancellation_type::terminal); });
  });
  context.run();
  waiting.join();
  EXPECT_EQ(ended, BaseError::cancelled);
}

TEST_P(Calls, ReportWhatTheHandlerThrows) {
  Client client(server());
  EXPECT_EQ(error_of(client.call<hello::Fail>(0, asio::use_future)), rpc::RpcError::garbage_args);
  EXPECT_EQ(error_of(client.call<hello::Fail>(1, asio::use_future)), rpc::RpcError::auth_too_weak);
  EXPECT_EQ(error_of(client.call<hello::Fail>(2, asio::use_future)), rpc::RpcError::system_err);
  EXPECT_EQ(error_of(client.call<hello::Fail>(3, asio::use_future)), error_code());
}

TEST_P(Calls, ReportAnErrorOfTheServer) {
  Client client(server());
  EXPECT_EQ(error_of(client.call<hello::Changed>(0, asio::use_future)), rpc::RpcError::procedure_unavailable);
  EXPECT_EQ(error_of(client.call<hello::Who>({}, asio::use_future)), rpc::RpcError::auth_too_weak);
  CallOptions named;
  named.credential = rpc::Credential::sys(1234, 5);
  EXPECT_EQ(*client.call<hello::Who>({}, named, asio::use_future).get(), 1234u);
}

TEST_P(Calls, ComeFromManyThreadsAndClients) {
  constexpr u_int kThreads = 4, kClients = 3, kCalls = 50;
  std::vector<std::unique_ptr<Client>> clients;
  for (u_int i = 0; i < kClients; ++i) clients.push_back(std::make_unique<Client>(server()));
  std::vector<std::thread> threads;
  std::atomic<u_int> greeted = 0;
  for (u_int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (u_int i = 0; i < kCalls; ++i) {
        for (const auto& client : clients) {
          auto added = client->call<hello::Add>(1, asio::use_future);
          const std::string name = std::to_string(t) + "." + std::to_string(i);
          const auto reply = client->call<hello::Greet>({name}, asio::use_future).get();
          if (reply->text.view() == "Hello, " + name + "!") ++greeted;
          added.get();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(greeted, kThreads * kClients * kCalls);
  EXPECT_EQ(bed.total, kThreads * kClients * kCalls);
}

TEST_P(Calls, AreCancelledByTheDestructor) {
  std::future<rpc::Decoded<rpc::Void>> hanging;
  {
    Client client(server());
    hanging = client.call<hello::Hang>({}, asio::use_future);
    bed.await_held(1);
  }
  EXPECT_EQ(error_of(std::move(hanging)), BaseError::cancelled);
}

TEST_P(Calls, AreAwaitedByClose) {
  Client client(server());
  auto hanging = client.call<hello::Hang>({}, asio::use_future);
  bed.await_held(1);
  auto closed = client.close(asio::use_future);
  bed.answer_held();
  closed.get();
  EXPECT_EQ(hanging.wait_for(std::chrono::seconds(0)), std::future_status::ready);
}

TEST_P(Calls, AreCounted) {
  Client client(server());
  for (int i = 0; i < 3; ++i) client.call<hello::Null>({}, asio::use_future).get();
  const Client::Statistics statistics = client.statistics();
  EXPECT_EQ(statistics.fabric, GetParam());
  EXPECT_EQ(statistics.calls.replies, 3u);
  ASSERT_EQ(statistics.procedures.size(), 1u);
  EXPECT_EQ(statistics.procedures[0].procedure.program, hello::Null::kInfo.program);
  EXPECT_EQ(statistics.procedures[0].calls(), 3u);
  EXPECT_EQ(statistics.procedures[0].replies(), 3u);
  EXPECT_EQ(statistics.procedures[0].latency.count(), 3u);
  EXPECT_EQ(statistics.procedures[0].errors, 0u);
  EXPECT_EQ(statistics.traffic.calls, GetParam() == std::string("tcp") ? 0u : 3u);
  const Server::Statistics sums = bed.server->statistics();
  EXPECT_EQ(sums.connections, 1u);
  ASSERT_EQ(sums.listeners.size(), bed.server->listeners().size());
  for (const Server::ListenerStatistics& one : sums.listeners) {
    const bool used = one.listener.text() == server();
    EXPECT_EQ(one.counters.endpoint, one.listener.endpoint);
    EXPECT_EQ(one.counters.connections, used ? 1u : 0u) << one.listener.text();
    EXPECT_EQ(one.counters.accepted, used ? 1u : 0u) << one.listener.text();
    EXPECT_EQ(one.counters.refused + one.counters.failed, 0u) << one.listener.text();
  }
}

TEST_P(Calls, AreReportedByTheServer) {
  const bool tcp = GetParam() == std::string("tcp");
  Client first(server()), second(server());
  for (int i = 0; i < 3; ++i) first.call<hello::Null>({}, asio::use_future).get();
  second.call<hello::Null>({}, asio::use_future).get();
  const Server::Report report = bed.server->report(1);
  ASSERT_EQ(report.procedures.size(), 1u);
  EXPECT_EQ(report.procedures[0].procedure.number, hello::Null::kInfo.number);
  EXPECT_EQ(report.procedures[0].calls(), 4u);
  EXPECT_EQ(report.procedures[0].replies(), 4u);
  EXPECT_EQ(report.traffic.calls, tcp ? 0u : 4u);
  // A client that waits long for a reply also sends empty Writes, which the server counts as frames.
  const std::uint64_t sent = first.statistics().provider.frames_sent + second.statistics().provider.frames_sent;
  EXPECT_GE(report.provider.frames_received, tcp ? 0u : 4u);
  EXPECT_LE(report.provider.frames_received, sent);
  EXPECT_EQ(second.statistics().provider.frames_received, tcp ? 0u : 1u);
  ASSERT_EQ(report.listeners.size(), bed.server->listeners().size());
  for (std::size_t i = 0; i < report.listeners.size(); ++i) {
    const bool used = !tcp && bed.server->listeners()[i].text() == server();
    EXPECT_EQ(report.listeners[i].calls, used ? 4u : 0u) << bed.server->listeners()[i].text();
  }
  ASSERT_EQ(report.connections.size(), 1u);
  EXPECT_EQ(report.connections[0].statistics.calls, 3u);
  EXPECT_EQ(report.connections[0].fabric, GetParam());
  bed.server->stop(std::chrono::milliseconds(0));
  EXPECT_TRUE(bed.server->report().procedures.empty());
}

TEST(Buffers, OutliveTheirClient) {
  Bed bed;
  Buffer buffer;
  {
    Client client(bed.at("iwarp"));
    buffer = client.allocate(5000, asio::use_future).get();
  }
  buffer.octets()[0] = std::byte{1};
  EXPECT_EQ(buffer.octets().size(), 5000u);
}

// Other threads destroy the buffers while the client's thread ends, or after it has ended.
TEST(Buffers, AreDestroyedOnAnyThread) {
  Bed bed;
  for (int round = 0; round < 6; ++round) {
    std::optional<Client> client(std::in_place, bed.at("iwarp"));
    std::array<std::vector<Buffer>, 4> shares;
    for (auto& share : shares)
      for (int i = 0; i < 300; ++i) share.push_back(client->allocate(100, asio::use_future).get());
    if (round % 2 != 0) client.reset();
    std::latch all(shares.size());
    std::vector<std::thread> threads;
    for (auto& share : shares)
      threads.emplace_back([&share, &all] {
        all.arrive_and_wait();
        while (!share.empty()) share.pop_back();
      });
    client.reset();
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace rpcrdma::test
