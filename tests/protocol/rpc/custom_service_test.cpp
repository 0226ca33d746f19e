// SPDX-License-Identifier: BSD-3-Clause
// A custom service end to end: calls with several eligible items, in chunks and inline, long calls and long replies.
#include "bed.hpp"

#include "rpcrdma/connection/error.hpp"

namespace rpcrdma::test {
namespace {

namespace asio = boost::asio;
using rpc::CallOptions;

TEST(CustomService, Null) {
  Bed bed;
  bed.run([](Bed& b) -> asio::awaitable<void> {
    auto [status, nothing] = co_await b.client->async_call<Nothing>({}, kTuple);
    EXPECT_FALSE(status) << status.message();
  }(bed));
}

// What a handler throws leaves the event loop, as with Asio's own operations. The connection remains usable.
TEST(CustomService, AHandlerMayThrow) {
  Bed bed;
  bed.client->async_call<Nothing>({}, [](error_code, const auto&) { throw std::domain_error("thrown"); });
  EXPECT_THROW(bed.wait([] { return false; }), std::domain_error);
  bool called = false;
  bed.client->async_call<Nothing>({}, [&](error_code status, const auto&) { return called = !status; });
  EXPECT_TRUE(bed.wait([&] { return called; }));
}

std::vector<std::string> pushes(Bed& bed) {
  std::vector<std::string> found;
  for (const std::string& line : bed.network.take_trace_text())
    if (line.starts_with("server write") || line.starts_with("client read")) found.push_back(line);
  return found;
}

// [8166-4.3.2.1-a] the first result uses the first Write chunk, the second result the second
TEST(CustomService, TwoResultsIntoTwoWriteChunks) {
  Bed bed;
  const auto first = bed.buffer(9001);
  const auto second = bed.buffer(7002);
  bed.network.start_trace();
  bed.run([](Bed& b, BufferRef one, BufferRef two) -> asio::awaitable<void> {
    auto [status, result] =
        co_await b.client->async_call<Two>({9001, 7002, FALSE}, CallOptions().into({&one, 1}).into({&two, 1}), kTuple);
    EXPECT_FALSE(status) << status.message();
    EXPECT_EQ(result->first.length, 9001u);
    EXPECT_EQ(result->first.kind, bulk_kind::placed);
    EXPECT_EQ(result->between, 4711u);
    EXPECT_EQ(result->second.length, 7002u);
    EXPECT_EQ(result->behind.view(), "the end");
  }(bed, first.ref(), second.ref()));
  EXPECT_TRUE(has_pattern(first.octets(), kFirstSeed));
  EXPECT_TRUE(has_pattern(second.octets(), kSecondSeed));
  EXPECT_EQ(pushes(bed), (std::vector<std::string>{"server write 9001", "server write 7002"}));
}

// At least one result is shorter than its Write chunk.
TEST(CustomService, ShortAndEmptyResults) {
  Bed bed;
  const auto first = bed.buffer(9000);
  const auto second = bed.buffer(9000);
  bed.run([](Bed& b, BufferRef one, BufferRef two) -> asio::awaitable<void> {
    const std::pair<u_int, u_int> cases[] = {{1, 2}, {0, 0}, {9000, 0}, {5, 9000}};
    for (const auto& [a, c] : cases) {
      auto [status, result] =
          co_await b.client->async_call<Two>({a, c, FALSE}, CallOptions().into({&one, 1}).into({&two, 1}), kTuple);
      EXPECT_FALSE(status) << status.message();
      EXPECT_EQ(result->first.length, a);
      EXPECT_EQ(result->second.length, c);
      EXPECT_TRUE(has_pattern(one.slice(0, a).octets(), kFirstSeed));
      EXPECT_TRUE(has_pattern(two.slice(0, c).octets(), kSecondSeed));
    }
  }(bed, first.ref(), second.ref()));
}

// [8166-3.5.3-a] without Write chunks the results travel in the message, which is sent inline or in a Reply chunk
TEST(CustomService, ResultsInTheMessage) {
  Bed bed;
  bed.run([](Bed& b) -> asio::awaitable<void> {
    for (const u_int size : {10u, 500u, 5000u, 60'000u}) {
      auto [status, result] = co_await b.client->async_call<Two>({size, size + 1, FALSE}, kTuple);
      EXPECT_FALSE(status) << size << status.message();
      EXPECT_EQ(result->first.octet_span().size(), size);
      EXPECT_TRUE(has_pattern(result->first.octet_span(), kFirstSeed));
      EXPECT_TRUE(has_pattern(result->second.octet_span(), kSecondSeed));
      EXPECT_EQ(result->behind.view(), "the end");
    }
  }(bed));
}

// [8166-4.3.2.2-b] a Write chunk that may be too small for its result is not offered, even if other Write chunks have
// room
TEST(CustomService, ResultsThatOutgrowTheirBuffers) {
  Bed bed;
  const auto first = bed.buffer(5000);
  const auto second = bed.buffer(5000);
  bed.network.start_trace();
  bed.run([](Bed& b, BufferRef one, BufferRef two) -> asio::awaitable<void> {
    const std::pair<u_int, u_int> cases[] = {{5000, 5001}, {6000, 4000}, {4000, 6000}};
    for (const auto& [a, c] : cases) {
      auto [unsent, nothing] =
          co_await b.client->async_call<Two>({a, c, FALSE}, CallOptions().into({&one, 1}).into({&two, 1}), kTuple);
      EXPECT_EQ(unsent, BaseError::invalid_argument);
    }
    EXPECT_TRUE(b.network.take_trace_text().empty());
    auto [first_only, rest] =
        co_await b.client->async_call<Two>({5000, 6000, FALSE}, CallOptions().into({&one, 1}), kTuple);
    EXPECT_FALSE(first_only) << first_only.message();
    auto [fine, again] =
        co_await b.client->async_call<Two>({5000, 5000, FALSE}, CallOptions().into({&one, 1}).into({&two, 1}), kTuple);
    EXPECT_FALSE(fine) << fine.message();
  }(bed, first.ref(), second.ref()));
}

std::uint64_t sum_of(std::span<const std::byte> octets) {
  std::uint64_t sum = 0;
  for (const std::byte octet : octets) sum += static_cast<std::uint8_t>(octet);
  return sum;
}

// [8166-3.4.5-a] the Position of the second Read chunk counts the data and the pad of the first Read chunk
TEST(CustomService, TwoArguments) {
  Bed bed;
  const auto memory = bed.buffer(100'000);
  fill_pattern(memory.octets(), 3);
  bed.run([](Bed& b, BufferRef all) -> asio::awaitable<void> {
    const std::pair<std::uint32_t, std::uint32_t> cases[] = {{0, 0},       {1, 2},           {0, 5001},   {5001, 0},
                                                             {5001, 5002}, {50'003, 40'001}, {7, 40'001}, {4096, 4096}};
    for (const auto& [a, c] : cases) {
      const BufferRef first[] = {all.slice(0, a / 2), all.slice(a / 2, a - a / 2)};
      const BufferRef second = all.slice(50'003, c);
      JoinArgs args{};
      args.first.set_parts(first);
      args.between = 1;
      args.second.set_parts({&second, 1});
      auto [status, result] = co_await b.client->async_call<Join>(args, kTuple);
      EXPECT_FALSE(status) << status.message();
      EXPECT_EQ(result->length, a + c + 1);
      EXPECT_EQ(result->sum, sum_of(all.slice(0, a).octets()) + sum_of(second.octets()));
    }
  }(bed, memory.ref()));
}

TEST(CustomService, ArgumentsInUnregisteredMemory) {
  Bed bed;
  Bytes small(100);
  Bytes large(20'000);
  fill_pattern(small, 5);
  fill_pattern(large, 6);
  bed.run([](Bed& b, const Bytes& one, const Bytes& two) -> asio::awaitable<void> {
    JoinArgs args{};
    args.first.set_octets(one);
    args.second.set_octets(two);  // makes the call a long call
    auto [status, result] = co_await b.client->async_call<Join>(args, kTuple);
    EXPECT_FALSE(status) << status.message();
    EXPECT_EQ(result->length, 20'100u);
    EXPECT_EQ(result->sum, sum_of(one) + sum_of(two));
  }(bed, small, large));
}

TEST(CustomService, ManyCallsAtOnce) {
  Bed bed;
  constexpr std::uint32_t kCalls = 200;
  int over = 0;
  std::vector<memory::RegisteredBuffer> buffers;
  for (std::uint32_t i = 0; i < kCalls; ++i) buffers.push_back(bed.buffer(6000));
  for (std::uint32_t i = 0; i < kCalls; ++i) {
    const BufferRef one = buffers[i].first(3000);
    const BufferRef two = buffers[i].ref().slice(3000, 3000);
    bed.client->async_call<Two>({i * 13, i * 7, FALSE}, CallOptions().into({&one, 1}).into({&two, 1}),
                                [&over, i, one, two](error_code status, const rpc::Decoded<TwoResult>& result) {
                                  ++over;
                                  EXPECT_FALSE(status) << status.message();
                                  EXPECT_EQ(result->second.length, i * 7);
                                  EXPECT_TRUE(has_pattern(one.slice(0, i * 13).octets(), kFirstSeed));
                                  EXPECT_TRUE(has_pattern(two.slice(0, i * 7).octets(), kSecondSeed));
                                });
  }
  EXPECT_TRUE(bed.wait([&over] { return over == kCalls; }));
}

TEST(CustomService, RpcErrors) {
  Bed bed;
  bed.run([](Bed& b) -> asio::awaitable<void> {
    b.dispatcher.on<Count>([](rpc::ServerCall<Count> call) { call.reject(rpc::AuthStat::too_weak); });
    auto [weak, r1] = co_await b.client->async_call<Count>({}, kTuple);
    EXPECT_EQ(weak, rpc::RpcError::auth_too_weak);
    b.dispatcher.on<Count>([](rpc::ServerCall<Count>) {});
    auto [dropped, r2] = co_await b.client->async_call<Count>({}, kTuple);
    EXPECT_EQ(dropped, rpc::RpcError::system_err);
  }(bed));
}

}  // namespace
}  // namespace rpcrdma::test
