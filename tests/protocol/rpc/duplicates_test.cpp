// SPDX-License-Identifier: BSD-3-Clause
// A non-idempotent call takes effect once, at whatever moment its connection is lost.
#include "bed.hpp"

namespace rpcrdma::test {
namespace {

namespace asio = boost::asio;

/// Makes a non-idempotent call. The network drops the connection of the call after `frames` more frames. Expects that
/// the call succeeds, and that the server has run it once.
void count_with_loss(std::uint64_t frames, std::string_view ballast) {
  Bed bed;
  bed.run([](Bed& b, std::uint64_t n, std::string_view text) -> asio::awaitable<void> {
    auto [warm, none] = co_await b.client->async_call<Nothing>({}, kTuple);
    EXPECT_FALSE(warm);
    b.network.drop_connection_after(n);
    CountArgs args{};
    args.add = 1;
    args.ballast.set(text);
    auto [status, result] = co_await b.client->async_call<Count>(args, kTuple);
    EXPECT_FALSE(status) << status.message();
    EXPECT_EQ(result->total, 1u);
  }(bed, frames, ballast));
  EXPECT_EQ(bed.total, 1u) << "lost after " << frames;
}

TEST(ResentCalls, RunOnce) {
  for (std::uint64_t frames = 0; frames < 6; ++frames) count_with_loss(frames, "small");
  const std::string large(20'000, 'b');  // makes the call a long call, which needs RDMA Reads
  for (std::uint64_t frames = 0; frames < 14; ++frames) count_with_loss(frames, large);
}

// The client retransmits the call on a second connection while the server still serves the first transmission.
TEST(ResentCalls, AttachToTheCallInProgress) {
  Bed bed;
  bed.hold_counts = true;
  std::optional<u_int> total;
  CountArgs args{};
  args.add = 5;
  bed.client->async_call<Nothing>({}, [](error_code, const rpc::Decoded<rpc::Void>&) {});
  bed.client->async_call<Count>(args, [&total](error_code status, const rpc::Decoded<CountResult>& result) {
    EXPECT_FALSE(status) << status.message();
    total = result->total;
  });
  ASSERT_TRUE(bed.wait([&bed] { return bed.held.size() == 1; }));
  bed.network.drop_connection_after(0);
  // The network breaks the connection instead of delivering this call.
  bed.client->async_call<Nothing>({}, [](error_code, const rpc::Decoded<rpc::Void>&) {});
  ASSERT_TRUE(bed.wait([&bed] { return bed.cache.counters().attached == 1; }));
  EXPECT_EQ(bed.held.size(), 1u);
  EXPECT_FALSE(total);
  bed.held[0].first.reply(bed.held[0].second);
  EXPECT_TRUE(bed.wait([&total] { return total.has_value(); }));
  EXPECT_EQ(*total, 5u);
  EXPECT_EQ(bed.total, 5u);
}

/// Pulls the first argument and replies; rejects the call if the pull fails.
void serve_store(rpc::ServerCall<Store> call) {
  const bulk_data& data = call.args().first;
  auto memory = std::make_shared<memory::RegisteredBuffer>(*call.pool().allocate(data.length));
  const BufferRef part = memory->ref();
  async_fetch(std::move(call), data, {&part, 1}, [memory](error_code status, rpc::ServerCall<Store> fetched) {
    if (status) return fetched.reject(rpc::AcceptStat::system_err);
    fetched.reply({fetched.args().first.length, 0});
  });
}

// Like serve_store(), but a failed pull throws, which destroys the call.
asio::awaitable<void> store_in_coroutine(rpc::ServerCall<Store> call) {
  const memory::RegisteredBuffer memory = std::move(*call.pool().allocate(call.args().first.length));
  const BufferRef part = memory.ref();
  co_await call.async_fetch(call.args().first, {&part, 1}, asio::use_awaitable);
  call.reply({call.args().first.length, 0});
}

// Each round loses the connection one frame later than the round before. Some rounds lose it while the server pulls the
// argument.
TEST(ResentCalls, AreRunIfTheTransferOfTheFirstFailed) {
  for (std::uint64_t frames = 0; frames < 8; ++frames) {
    SCOPED_TRACE(frames);
    Bed bed;
    const memory::RegisteredBuffer argument = bed.buffer(9000);
    const BufferRef part = argument.ref();
    bed.dispatcher.on<Store>([](rpc::ServerCall<Store> call) { return store_in_coroutine(std::move(call)); });
    bed.run([](Bed& b, const BufferRef& from, std::uint64_t n) -> asio::awaitable<void> {
      auto [warm, none] = co_await b.client->async_call<Nothing>({}, kTuple);
      EXPECT_FALSE(warm);
      b.network.drop_connection_after(n);
      JoinArgs args{};
      args.first.set_parts({&from, 1});
      auto [status, result] = co_await b.client->async_call<Store>(args, kTuple);
      EXPECT_FALSE(status) << status.message();
      EXPECT_TRUE(status || result->length == 9000u);
    }(bed, part, frames));
  }
}

/// Pulls the first of two arguments and has an effect; the connection is lost before the second one is pulled.
asio::awaitable<void> store_in_steps(rpc::ServerCall<Store> call, fabric::LoopbackNetwork& network, int& effects) {
  const memory::RegisteredBuffer memory = std::move(*call.pool().allocate(call.args().first.length));
  const BufferRef part = memory.ref();
  co_await call.async_fetch(call.args().first, {&part, 1}, asio::use_awaitable);
  ++effects;
  network.drop_connection_after(0);
  co_await call.async_fetch(call.args().second, {&part, 1}, asio::use_awaitable);
  call.reply({call.args().second.length, 0});
}

TEST(ResentCalls, AreNotRunIfTheFirstHasFetchedAnArgument) {
  Bed bed;
  const memory::RegisteredBuffer argument = bed.buffer(9000);
  int effects = 0;
  bed.dispatcher.on<Store>(
      [&](rpc::ServerCall<Store> call) { return store_in_steps(std::move(call), bed.network, effects); });
  bed.run([](Bed& b, BufferRef from) -> asio::awaitable<void> {
    JoinArgs args{};
    args.first.set_parts({&from, 1});
    args.second.set_parts({&from, 1});
    auto [status, none] = co_await b.client->async_call<Store>(args, kTuple);
    EXPECT_EQ(status, rpc::RpcError::system_err) << status.message();
  }(bed, argument.ref()));
  EXPECT_EQ(effects, 1);
  EXPECT_EQ(bed.connection->requester().counters().resent, 1u);
}

// The connection is lost before the server has pulled the argument of the first transmission. This argument can then no
// longer be pulled, so the server runs the retransmission.
TEST(ResentCalls, AreRunIfTheFirstCannotBe) {
  Bed bed;
  const memory::RegisteredBuffer argument = bed.buffer(9000);
  const BufferRef part = argument.ref();
  std::vector<rpc::ServerCall<Store>> arrived;
  bed.dispatcher.on<Store>([&arrived](rpc::ServerCall<Store> call) { arrived.push_back(std::move(call)); });
  std::optional<u_int> stored;
  JoinArgs args{};
  args.first.set_parts({&part, 1});
  bed.client->async_call<Nothing>({}, [](error_code, const rpc::Decoded<rpc::Void>&) {});
  bed.client->async_call<Store>(args, [&stored](error_code status, const rpc::Decoded<JoinResult>& result) {
    EXPECT_FALSE(status) << status.message();
    stored = result->length;
  });
  ASSERT_TRUE(bed.wait([&arrived] { return arrived.size() == 1; }));
  bed.network.drop_connection_after(0);
  // The message of this call breaks the connection. The client then sends its unanswered calls again on a new
  // connection.
  bed.client->async_call<Nothing>({}, [](error_code, const rpc::Decoded<rpc::Void>&) {});
  ASSERT_TRUE(bed.wait([&bed] { return bed.cache.counters().attached == 1; }));
  serve_store(std::move(arrived[0]));
  ASSERT_TRUE(bed.wait([&arrived] { return arrived.size() == 2; }));
  serve_store(std::move(arrived[1]));
  ASSERT_TRUE(bed.wait([&stored] { return stored.has_value(); }));
  EXPECT_EQ(*stored, 9000u);
  EXPECT_EQ(arrived.size(), 2u);
}

/// Allocates all memory of a pool.
std::vector<memory::RegisteredBuffer> exhaust(memory::Pool& pool) {
  std::vector<memory::RegisteredBuffer> all;
  for (std::uint32_t size = 4u << 20; size >= 4096; size /= 2)
    while (auto buffer = pool.allocate(size)) all.push_back(std::move(*buffer));
  return all;
}

// [8166-4.5.4-b] there is no memory for a reply: the connection ends, and the retransmission receives the reply
TEST(ResentCalls, GetTheReplyThatCouldNotBeSent) {
  Bed bed;
  bed.hold_counts = true;
  std::optional<u_int> total;
  CountArgs args{};
  args.add = 5;
  bed.client->async_call<Count>(args, [&total](error_code status, const rpc::Decoded<CountResult>& result) {
    EXPECT_FALSE(status) << status.message();
    total = result->total;
  });
  ASSERT_TRUE(bed.wait([&bed] { return bed.held.size() == 1; }));
  std::vector<memory::RegisteredBuffer> all = exhaust(bed.server_pool);
  bed.held[0].first.reply(bed.held[0].second);
  EXPECT_TRUE(bed.wait([&bed] { return bed.server->counters().connections == 0; }));
  EXPECT_FALSE(total);
  all.clear();
  EXPECT_TRUE(bed.wait([&total] { return total.has_value(); }));
  EXPECT_EQ(*total, 5u);
  EXPECT_EQ(bed.total, 5u);
}

}  // namespace
}  // namespace rpcrdma::test
