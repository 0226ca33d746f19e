// SPDX-License-Identifier: BSD-3-Clause
// A non-idempotent call whose connection is lost runs once, however far it had come.
#include "bed.hpp"

namespace rpcrdma::test {
namespace {

namespace asio = boost::asio;

/// Loses the connection after `frames` further frames, makes a call, and expects that it ran once.
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

TEST(CallsSentAgain, RunOnce) {
  for (std::uint64_t frames = 0; frames < 6; ++frames) count_with_loss(frames, "small");
  const std::string large(20'000, 'b');  // a long call: Reads in between
  for (std::uint64_t frames = 0; frames < 14; ++frames) count_with_loss(frames, large);
}

// The first connection's call is still being served when the second one brings it again.
TEST(CallsSentAgain, JoinTheOneInProgress) {
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
  bed.client->async_call<Nothing>({}, [](error_code, const rpc::Decoded<rpc::Void>&) {});  // finds it lost
  ASSERT_TRUE(bed.wait([&bed] { return bed.cache.counters().attached == 1; }));
  EXPECT_EQ(bed.held.size(), 1u);
  EXPECT_FALSE(total);
  bed.held[0].first.reply(bed.held[0].second);
  EXPECT_TRUE(bed.wait([&total] { return total.has_value(); }));
  EXPECT_EQ(*total, 5u);
  EXPECT_EQ(bed.total, 5u);
}

}  // namespace
}  // namespace rpcrdma::test
