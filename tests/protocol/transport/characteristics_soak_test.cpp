// SPDX-License-Identifier: BSD-3-Clause
// Calls in both directions while both sides raise and lower receives, switch remote invalidation, and lose their
// connection, all drawn from a seed: no Send meets a receive that is missing or too short, every call succeeds exactly
// once, and no resource is left in use. RPCRDMA_TEST_SEEDS sets the number of seeds, RPCRDMA_TEST_CALLS that of the
// calls over iwarp.
#include <gtest/gtest.h>

#include <cstdlib>

#include "both_sides.hpp"
#include "log_lines.hpp"
#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/fabric/iwarp/iwarp.hpp"
#include "rpcrdma/requester/reverse.hpp"
#include "rpcrdma/responder/reverse_service.hpp"

namespace rpcrdma::test {
namespace {

using transport::CharacteristicChange;
using transport::VersionChoice;

std::uint32_t number_from(const char* variable, std::uint32_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

CharacteristicChange random_change(std::mt19937& random) {
  constexpr std::array<std::uint32_t, 5> kSizes{4096, 5120, 8192, 12288, 16384};
  CharacteristicChange out;
  if (random() % 4 != 0) out.receive_buffer_size = kSizes[random() % kSizes.size()];
  if (random() % 4 == 0) out.requester_remote_invalidation = random() % 2 == 0;
  if (random() % 8 == 0) out.backward_request_support = transport::BackwardSupport::general;
  return out;
}

/// Most sizes are near those of receives.
Shape random_shape_of_calls(std::mt19937& random, std::uint32_t seed) {
  Shape out;
  out.seed = seed;
  out.max_reply = 0;
  const auto size = [&random] { return static_cast<std::uint32_t>(random() % (1024u << random() % 5)); };
  if (random() % 2 == 0) out.call_body = size() & ~3u;
  if (random() % 2 == 0) out.reply_body = size() & ~3u;
  if (random() % 3 == 0) out.items.push_back(size());
  if (random() % 3 == 0) out.results.push_back(1 + size());
  return out;
}

struct Tally {
  std::uint64_t calls = 0;
  std::uint64_t reverse_calls = 0;
  std::uint64_t asked = 0;
  std::uint64_t raised = 0;
  std::uint64_t lowered = 0;
  std::uint64_t reconnects = 0;
  std::uint64_t updates = 0;
};

/// One client and one server, whose options and events are drawn from a seed.
class Life {
 public:
  Life(std::uint32_t seed, std::uint32_t calls)
      : random_(seed), calls_(calls), chunks_(seed % 2 == 0), sides_(options(random_, seed)) {
    service_ = transport::ReverseService::make(*sides_.client, client_handler_, 2, {}, {}, chunks_ ? 1u << 20 : 0u);
    sides_.handler.intercept = [this](transport::IncomingCall& call) {
      if (auto to_client = call.reverse(); to_client && to_client != reverse_) {
        reverse_ = std::move(to_client);
        reverse_->allow();
      }
      if (random_() % 6 == 0) disturb(*call.exchange());
      if (random_() % 6 == 0) call_back();
      return false;
    };
  }
  void run(Tally& tally) {
    if (random_() % 3 == 0) sides_.network.drop_connection_after(random_() % 60);
    for (std::uint32_t i = 0; i < calls_; ++i) {
      outstanding_.push_back(sides_.make(random_shape_of_calls(random_, i + 1)));
      sides_.client->requester().submit(*outstanding_.back());
      if (random_() % 4 == 0) disturb(sides_.client->exchange());
      if (random_() % 3 == 0) sides_.wait([this, n = random_() % 20]() mutable { return n-- == 0 || !calm(); });
      if (outstanding_.size() >= 6) end_first();
    }
    while (!outstanding_.empty() && !testing::Test::HasFailure()) end_first();
    ASSERT_TRUE(sides_.wait([this] { return asked_ == answered_; }));
    ASSERT_TRUE(sides_.wait(
        [this] { return std::ranges::all_of(callbacks_, [](const auto& call) { return call->times_done == 1; }); }));
    for (const auto& call : callbacks_) {
      const bool lost = call->status == transport::TransportError::connection_lost ||
                        call->status == transport::TransportError::call_too_long ||
                        call->status == transport::TransportError::reply_too_long;
      EXPECT_TRUE(!call->status || lost) << call->status.message();
      EXPECT_EQ(call->complaint, "");
    }
    EXPECT_EQ(sides_.handler.complaint, "");
    EXPECT_EQ(sides_.network.overruns(), 0u);
    count(tally);
    end();
  }

 private:
  static SidesOptions options(std::mt19937& random, std::uint32_t seed) {
    SidesOptions out;
    out.network.seed = seed;
    out.network.max_delay = static_cast<std::uint32_t>(random() % 4);
    out.network.reorder = random() % 2 == 0;
    for (transport::ConnectionOptions* side : {&out.client.connection, &out.server.connection}) {
      side->version = VersionChoice::automatic;
      side->credits = 1 + static_cast<std::uint32_t>(random() % 6);
      side->characteristics.max_receive_size = random() % 4 == 0 ? 8192 : 16384;
      side->characteristics.max_send_size = 16384;
      side->receive_size = random() % 8 == 0 ? 8192 : 4096;
      side->private_data = random() % 4 != 0;
    }
    // A connection lost during an offer must not select version one for the rest of the run.
    out.client.version_memory = std::chrono::seconds(0);
    return out;
  }
  bool calm() const { return !outstanding_.empty() && outstanding_.front()->times_done == 0; }
  void disturb(transport::CharacteristicsExchange& exchange) {
    ++asked_;
    const auto token = [this](error_code, transport::ChangeOutcome) { ++answered_; };
    if (random_() % 4 == 0)
      exchange.async_change(random_change(random_), token);
    else
      exchange.async_request(random_change(random_), token);
  }
  void call_back() {
    if (!reverse_ || callbacks_.size() >= 20) return;
    Shape shape;
    shape.call_body = static_cast<std::uint32_t>(random_() % 2000) & ~3u;
    if (chunks_ && random_() % 3 == 0) shape.items.push_back(static_cast<std::uint32_t>(random_() % 9000));
    if (chunks_ && random_() % 3 == 0) shape.results.push_back(1 + static_cast<std::uint32_t>(random_() % 9000));
    callbacks_.push_back(std::make_unique<ShapedCall>(sides_.server_pool, *reverse_, shape));
    reverse_->submit(*callbacks_.back());
  }
  void end_first() {
    ShapedCall& call = *outstanding_.front();
    ASSERT_TRUE(sides_.wait([&] { return call.times_done != 0; }));
    EXPECT_EQ(call.times_done, 1);
    EXPECT_FALSE(call.status) << call.status.message();
    EXPECT_EQ(call.complaint, "");
    outstanding_.pop_front();
  }
  void count(Tally& tally) {
    tally.calls += calls_;
    tally.reverse_calls += callbacks_.size();
    tally.asked += asked_;
    tally.raised += sides_.server->counters().receives_raised;
    tally.lowered += sides_.server->counters().receives_lowered;
    tally.reconnects += sides_.client->requester().counters().reconnects;
    tally.updates += sides_.client->exchange().characteristics().updates_received;
  }
  void end() {
    reverse_.reset();
    ASSERT_TRUE(sides_.wait([this] { return sides_.server->counters().bulk_in_use == 0; }));
    callbacks_.clear();
    sides_.client.reset();
    sides_.server.reset();
    run_ready(sides_.context);
    EXPECT_EQ(sides_.client_fabric->bound_windows(), 0u);
    EXPECT_EQ(sides_.client_pool.counters().lent, 0u);
    EXPECT_EQ(sides_.server_pool.counters().lent, 0u);
  }

  std::mt19937 random_;
  std::uint32_t calls_;
  bool chunks_;  // reverse calls use chunks
  ShapedHandler client_handler_;
  std::unique_ptr<transport::ReverseService> service_;
  BothSides sides_;
  std::shared_ptr<transport::ReverseRequester> reverse_;
  std::deque<std::unique_ptr<ShapedCall>> outstanding_;
  std::vector<std::unique_ptr<ShapedCall>> callbacks_;
  std::uint64_t asked_ = 0;
  std::uint64_t answered_ = 0;
};

TEST(CharacteristicsSoak, Seeds) {
  const std::uint32_t first = number_from("RPCRDMA_TEST_FIRST_SEED", 1);
  const std::uint32_t seeds = number_from("RPCRDMA_TEST_SEEDS", 150);
  Tally tally;
  for (std::uint32_t seed = first; seed < first + seeds && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Life(seed, 16).run(tally);
  }
  RecordProperty("calls", static_cast<int>(tally.calls));
  std::printf(
      "%u seeds: %llu calls, %llu reverse calls, %llu changes asked for, %llu raised, %llu lowered, "
      "%llu reconnects, %llu updates\n",
      seeds, static_cast<unsigned long long>(tally.calls), static_cast<unsigned long long>(tally.reverse_calls),
      static_cast<unsigned long long>(tally.asked), static_cast<unsigned long long>(tally.raised),
      static_cast<unsigned long long>(tally.lowered), static_cast<unsigned long long>(tally.reconnects),
      static_cast<unsigned long long>(tally.updates));
  EXPECT_GT(tally.raised, 0u);
  EXPECT_GT(tally.lowered, 0u);
}

// The same over real sockets, without losses.
TEST(CharacteristicsSoak, OverIwarp) {
  boost::asio::io_context context;
  fabric::IwarpOptions fabric_options;
  fabric_options.crc = false;
  auto client_fabric = std::move(*fabric::open_iwarp(context, fabric_options, {}));
  auto server_fabric = std::move(*fabric::open_iwarp(context, fabric_options, {}));
  memory::Pool client_pool(*client_fabric), server_pool(*server_fabric);
  SidesOptions options;
  options.client.connection.version = options.server.connection.version = VersionChoice::automatic;
  ShapedHandler handler;
  const auto lines = std::make_shared<LogLines>();
  auto server = transport::Server::make({{server_fabric.get(), &server_pool, &handler}}, options.server, Log(lines));
  fabric::Endpoint endpoint;
  server->listen({boost::asio::ip::make_address("127.0.0.1"), 0},
                 [&](Result<fabric::Endpoint> bound) { endpoint = bound.value(); });
  ASSERT_TRUE(run_until(context, [&] { return endpoint.port() != 0; }));
  auto client = transport::Client::make(*client_fabric, client_pool, endpoint, options.client, {});

  std::mt19937 random(5);
  std::uint64_t asked = 0, answered = 0;
  const auto token = [&](error_code, transport::ChangeOutcome) { ++answered; };
  handler.intercept = [&](transport::IncomingCall& call) {
    if (random() % 64 == 0 && ++asked != 0) call.exchange()->async_request(random_change(random), token);
    return false;
  };
  const std::uint32_t count = number_from("RPCRDMA_TEST_CALLS", 3000);
  std::deque<std::unique_ptr<ShapedCall>> calls;
  const auto end_first = [&] {
    ASSERT_TRUE(run_until(context, [&] { return calls.front()->times_done != 0; }));
    EXPECT_FALSE(calls.front()->status) << calls.front()->status.message();
    EXPECT_EQ(calls.front()->complaint, "");
    calls.pop_front();
  };
  for (std::uint32_t i = 0; i < count && !HasFailure(); ++i) {
    calls.push_back(
        std::make_unique<ShapedCall>(client_pool, client->requester(), random_shape_of_calls(random, i + 1)));
    client->requester().submit(*calls.back());
    if (random() % 64 == 0 && ++asked != 0) client->exchange().async_request(random_change(random), token);
    if (calls.size() == 24) end_first();
  }
  while (!calls.empty() && !HasFailure()) end_first();
  EXPECT_TRUE(run_until(context, [&] { return answered == asked; }));
  std::printf("%u calls, %llu changes asked for, %llu raised, %llu lowered, %llu reconnects\n", count,
              static_cast<unsigned long long>(asked),
              static_cast<unsigned long long>(server->counters().receives_raised),
              static_cast<unsigned long long>(server->counters().receives_lowered),
              static_cast<unsigned long long>(client->requester().counters().reconnects));
  EXPECT_GT(server->counters().receives_raised, 0u);
  // The client reconnects only if the server asked for smaller receives while calls relied on large ones.
  EXPECT_LE(client->requester().counters().reconnects, lines->with("asked for smaller").size());
  client.reset();
  server.reset();
  EXPECT_EQ(client_pool.counters().lent, 0u);
  EXPECT_EQ(server_pool.counters().lent, 0u);
}

}  // namespace
}  // namespace rpcrdma::test
