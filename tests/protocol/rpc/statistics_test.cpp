// SPDX-License-Identifier: BSD-3-Clause
// Compares the counters of both sides with what the test has done.
#include "bed.hpp"
#include "rpcrdma/connection/error.hpp"

namespace rpcrdma::test {
namespace {

namespace asio = boost::asio;
using rpc::CallOptions;
using transport::Traffic;

/// Returns the statistics of a procedure, nullptr if there are none. `side` is a Dispatcher or a Client.
template <class Side>
const rpc::ProcedureStatistics* of(const Side& side, std::uint32_t number) {
  for (const rpc::ProcedureReport& one : side.procedures())
    if (one.program == Two::kInfo.program && one.number == number) return one.statistics;
  return nullptr;
}

asio::awaitable<void> call_nothing(Bed& bed, int count) {
  for (int i = 0; i < count; ++i) {
    auto [status, nothing] = co_await bed.client->async_call<Nothing>({}, kTuple);
    EXPECT_FALSE(status) << status.message();
  }
}

Traffic served(const Bed& bed) { return bed.server->report(0, 8).traffic; }

TEST(Statistics, AreEmptyBeforeTheFirstCall) {
  Bed bed;
  EXPECT_TRUE(bed.dispatcher.procedures().empty());
  EXPECT_EQ(bed.server->report(0, 8).connections, 0u);
  EXPECT_EQ(served(bed).calls, 0u);
  EXPECT_EQ(bed.connection->requester().traffic().calls, 0u);
}

TEST(Statistics, OfInlineCalls) {
  Bed bed;
  bed.run(call_nothing(bed, 5));
  run_ready(bed.context);
  const rpc::ProcedureStatistics* null = of(bed.dispatcher, 0);
  ASSERT_NE(null, nullptr);
  EXPECT_EQ(null->calls(), 5u);
  EXPECT_EQ(null->replies(), 5u);
  EXPECT_EQ(null->errors, 0u);
  EXPECT_EQ(null->latency.count(), 5u);
  EXPECT_EQ(null->call_size.count(), 5u);
  EXPECT_EQ(null->reply_size.sum(), 5u * 24);
  const Traffic there = bed.connection->requester().traffic();
  const Traffic here = served(bed);
  for (const Traffic& one : {there, here}) {
    EXPECT_EQ(one.calls, 5u);
    EXPECT_EQ(one.inline_calls, 5u);
    EXPECT_EQ(one.sends, 5u);
    EXPECT_EQ(one.receives, 5u);
    EXPECT_EQ(one.reads + one.writes + one.windows, 0u);
    EXPECT_EQ(one.credits_asked, there.credits_asked);
    EXPECT_EQ(one.credits_granted, here.credits_granted);
  }
  EXPECT_EQ(there.send_bytes, here.receive_bytes);
  EXPECT_EQ(here.send_bytes, there.receive_bytes);
  const rpc::ProcedureStatistics* sent = of(*bed.client, Nothing::kInfo.number);
  ASSERT_NE(sent, nullptr);
  EXPECT_EQ(sent->calls(), 5u);
  EXPECT_EQ(sent->inline_calls(), 5u);
  EXPECT_EQ(sent->replies(), 5u);
  EXPECT_EQ(sent->errors, 0u);
  EXPECT_EQ(sent->latency.count(), 5u);
  EXPECT_EQ(sent->call_size.sum(), null->call_size.sum());
  EXPECT_EQ(sent->reply_size.sum(), null->reply_size.sum());
}

TEST(Statistics, OfChunks) {
  Bed bed;
  const auto first = bed.buffer(9001);
  const auto second = bed.buffer(7002);
  bed.run([](Bed& b, BufferRef one, BufferRef two) -> asio::awaitable<void> {
    auto [status, result] =
        co_await b.client->async_call<Two>({9001, 7002, FALSE}, CallOptions().into({&one, 1}).into({&two, 1}), kTuple);
    EXPECT_FALSE(status) << status.message();
    JoinArgs args{};
    args.first.set_parts({&one, 1});
    args.second.set_parts({&two, 1});
    auto [joined, sum] = co_await b.client->async_call<Join>(args, kTuple);
    EXPECT_FALSE(joined) << joined.message();
  }(bed, first.ref(), second.ref()));
  run_ready(bed.context);
  const Traffic here = served(bed);
  EXPECT_EQ(here.calls, 2u);
  EXPECT_EQ(here.write_chunk_calls, 1u);
  EXPECT_EQ(here.read_chunk_calls, 1u);
  EXPECT_EQ(here.writes, 2u);
  EXPECT_EQ(here.write_bytes, 9001u + 7002u);
  EXPECT_EQ(here.reads, 2u);
  EXPECT_EQ(here.read_bytes, 9001u + 7002u);
  EXPECT_EQ(here.sends_with_invalidate, 2u);
  const Traffic there = bed.connection->requester().traffic();
  EXPECT_EQ(there.windows, 4u);
  EXPECT_EQ(there.window_bytes, here.write_bytes + here.read_bytes);
  EXPECT_EQ(there.remote_invalidations, 2u);
  EXPECT_EQ(there.local_invalidations, 2u);
  const rpc::ProcedureStatistics* two = of(bed.dispatcher, 1);
  ASSERT_NE(two, nullptr);
  EXPECT_GE(two->reply_size.sum(), 9001u + 7002u) << "data in chunks counts, too";
  EXPECT_EQ(two->calls_with(transport::kWriteChunk), 1u);
  EXPECT_EQ(two->calls_with(transport::kReadChunk) + two->inline_calls(), 0u);
  const rpc::ProcedureStatistics* join = of(bed.dispatcher, Join::kInfo.number);
  ASSERT_NE(join, nullptr);
  EXPECT_EQ(join->calls_with(transport::kReadChunk), 1u);
  EXPECT_EQ(join->calls_with(transport::kPositionZero) + join->inline_calls(), 0u);
  const rpc::ProcedureStatistics* sent = of(*bed.client, Join::kInfo.number);
  ASSERT_NE(sent, nullptr);
  EXPECT_EQ(sent->calls_with(transport::kReadChunk), 1u);
  EXPECT_EQ(sent->call_size.sum(), join->call_size.sum());
  EXPECT_EQ(of(*bed.client, Two::kInfo.number)->reply_size.sum(), two->reply_size.sum());
}

TEST(Statistics, OfOneConnection) {
  Bed bed;
  bed.run(call_nothing(bed, 3));
  const transport::WorkerReport report = bed.server->report(0, 8);
  ASSERT_EQ(report.busiest.size(), 1u);
  EXPECT_EQ(report.connections, 1u);
  EXPECT_EQ(report.busiest[0].fabric, "loopback");
  EXPECT_EQ(report.busiest[0].statistics.calls, 3u);
  EXPECT_EQ(report.busiest[0].traffic.calls, 3u);
  EXPECT_GT(report.busiest[0].inline_receive, 0u);
  ASSERT_EQ(report.busiest[0].procedures.size(), 1u);
  EXPECT_EQ(report.busiest[0].procedures[0].procedure.name, "NULL");
  EXPECT_EQ(report.busiest[0].procedures[0].procedure.program, Two::kInfo.program);
  EXPECT_EQ(report.busiest[0].procedures[0].calls, 3u);
  EXPECT_TRUE(bed.server->report(0, 0).busiest.empty());
}

TEST(Statistics, OfProceduresOfOneConnection) {
  Bed bed;
  bed.run(call_nothing(bed, 2));
  bed.run([](Bed& b) -> asio::awaitable<void> {
    for (int i = 0; i < 3; ++i) {
      auto [status, result] = co_await b.client->async_call<Two>({1, 1, FALSE}, kTuple);
      EXPECT_FALSE(status) << status.message();
    }
  }(bed));
  const auto procedures = bed.server->report(0, 8).busiest.at(0).procedures;
  ASSERT_EQ(procedures.size(), 2u);
  EXPECT_EQ(procedures[0].procedure.number, Two::kInfo.number) << "the most frequent procedure is the first";
  EXPECT_EQ(procedures[0].calls, 3u);
  EXPECT_EQ(procedures[1].calls, 2u);
}

// The sums of both sides include the traffic of connections that have ended.
TEST(Statistics, OutliveTheConnection) {
  Bed bed;
  bed.run(call_nothing(bed, 2));
  bed.network.drop_connection_after(0);
  bed.run(call_nothing(bed, 2));
  run_ready(bed.context);
  const transport::Requester::Counters counters = bed.connection->requester().counters();
  EXPECT_EQ(counters.reconnects, 1u);
  const Traffic here = served(bed);
  EXPECT_EQ(here.calls, of(bed.dispatcher, 0)->calls());
  EXPECT_GE(here.calls, 4u);
  const std::vector<Traffic> by_listener = bed.server->report(0, 8).by_listener;
  ASSERT_EQ(by_listener.size(), bed.server->listeners().size());
  EXPECT_EQ(by_listener[0].calls, here.calls);
  EXPECT_EQ(bed.connection->requester().traffic().calls, 4u + counters.resent);
}

TEST(Statistics, OfResentCalls) {
  Bed bed;
  // The client has one credit before the first reply. This reply grants enough credits for two calls at a time.
  bed.run(call_nothing(bed, 1));
  bed.hold_counts = true;
  bool done = false;
  CountArgs args{};
  args.add = 5;
  bed.client->async_call<Count>(args, [&done](error_code status, const rpc::Decoded<CountResult>&) {
    EXPECT_FALSE(status);
    done = true;
  });
  ASSERT_TRUE(bed.wait([&bed] { return bed.held.size() == 1; }));
  bed.network.drop_connection_after(0);
  // The Send of this call is the next frame, which breaks the connection. The client then connects again, and resends
  // the Count call.
  bed.client->async_call<Nothing>({}, [](error_code, const rpc::Decoded<rpc::Void>&) {});
  ASSERT_TRUE(bed.wait([&bed] { return bed.cache.counters().attached == 1; }));
  bed.held[0].first.reply(bed.held[0].second);
  EXPECT_TRUE(bed.wait([&done] { return done; }));
  const rpc::ProcedureStatistics* counted = of(bed.dispatcher, Count::kInfo.number);
  ASSERT_NE(counted, nullptr);
  EXPECT_EQ(counted->calls(), 2u);
  EXPECT_EQ(counted->replayed, 1u);
  EXPECT_EQ(counted->replies(), 1u);
}

TEST(Statistics, OfCallsThatWaitForACredit) {
  transport::ClientOptions options = Bed::quick();
  options.connection.credits = 2;
  Bed bed(options);
  bed.run(call_nothing(bed, 1));  // connects
  int over = 0;
  for (int i = 0; i < 8; ++i)
    bed.client->async_call<Nothing>({}, [&over](error_code status, const rpc::Decoded<rpc::Void>&) {
      EXPECT_FALSE(status);
      ++over;
    });
  EXPECT_TRUE(bed.wait([&over] { return over == 8; }));
  const Traffic there = bed.connection->requester().traffic();
  EXPECT_EQ(there.calls, 9u);
  EXPECT_EQ(there.credit_waits, 6u);
}

// Each of these calls needs five entries of the send queue: its Send, two binds and two invalidations.
TEST(Statistics, OfCallsThatWaitForTheSendQueue) {
  constexpr std::uint32_t kCalls = 150;
  transport::ClientOptions options = Bed::quick();
  options.connection.credits = kCalls;
  transport::ServerOptions server;
  server.connection.credits = kCalls;
  Bed bed(options, server);
  bed.run(call_nothing(bed, 1));  // connects, and its reply grants the credits
  const auto first = bed.buffer(9001);
  const auto second = bed.buffer(7002);
  const BufferRef one = first.ref();
  const BufferRef two = second.ref();
  std::uint32_t over = 0;
  for (std::uint32_t i = 0; i < kCalls; ++i)
    bed.client->async_call<Two>({9001, 7002, FALSE}, CallOptions().into({&one, 1}).into({&two, 1}),
                                [&over](error_code status, const rpc::Decoded<TwoResult>&) {
                                  EXPECT_FALSE(status) << status.message();
                                  ++over;
                                });
  EXPECT_TRUE(bed.wait([&over] { return over == kCalls; }));
  const Traffic there = bed.connection->requester().traffic();
  EXPECT_GE(there.send_queue_waits, 1u);
  EXPECT_LT(there.send_queue_waits, kCalls);
  EXPECT_EQ(there.memory_waits, 0u);
  EXPECT_EQ(there.credit_waits, 0u);
}

// The list of statuses has a maximum length, whatever statuses a peer sends.
TEST(Statistics, ListOfFailuresIsBounded) {
  rpc::ProcedureStatistics one;
  for (std::uint32_t status = 1; status <= 1000; ++status) one.fail(status);
  one.fail(3, 5);
  EXPECT_EQ(one.failures[2].count, 6u);
  EXPECT_EQ(one.other_failures, 1000 - one.failures.size());
  rpc::ProcedureStatistics sum;
  sum.fail(2000);
  sum += one;
  EXPECT_EQ(sum.failures[0].status, 2000u);
  EXPECT_EQ(sum.failures[3].count, 6u);
  EXPECT_EQ(sum.other_failures, 1001 - sum.failures.size());
}

}  // namespace
}  // namespace rpcrdma::test
