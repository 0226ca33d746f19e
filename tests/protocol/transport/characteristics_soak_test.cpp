// SPDX-License-Identifier: BSD-3-Clause
// Calls in both directions while both sides raise and lower receives, switch remote invalidation, and lose their
// connection; over the loopback fabric a seed determines all of it. No Send meets a receive that is missing or too
// short, every forward call succeeds exactly once, and no resource stays in use. RPCRDMA_TEST_SEEDS sets the number of
// seeds, RPCRDMA_TEST_CALLS the number of calls over iwarp.
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>
#include <optional>

#include "both_sides.hpp"
#include "characteristics_load.hpp"
#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/fabric/iwarp/iwarp.hpp"
#include "rpcrdma/requester/reverse.hpp"
#include "rpcrdma/responder/reverse_service.hpp"

namespace rpcrdma::test {
namespace {

using transport::VersionChoice;

struct Tally {
  std::uint64_t calls = 0;
  std::uint64_t reverse_calls = 0;
  std::uint64_t asked = 0;
  std::uint64_t raised = 0;
  std::uint64_t lowered = 0;
  std::uint64_t reconnects = 0;
  std::uint64_t updates = 0;
};

/// A client and a server. The seed determines their options and all events.
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
      if (random_() % 6 == 0) changes_.ask(*call.exchange());
      if (random_() % 6 == 0) call_back();
      return false;
    };
  }
  void run(Tally& tally) {
    if (random_() % 3 == 0) sides_.network.drop_connection_after(random_() % 60);
    for (std::uint32_t i = 0; i < calls_; ++i) {
      outstanding_.push_back(sides_.make(random_shape_of_calls(random_, i + 1)));
      sides_.client->requester().submit(*outstanding_.back());
      if (random_() % 4 == 0) changes_.ask(sides_.client->exchange());
      if (random_() % 3 == 0) sides_.wait([this, n = random_() % 20]() mutable { return n-- == 0 || !calm(); });
      if (outstanding_.size() >= 6) end_first();
    }
    while (!outstanding_.empty() && !testing::Test::HasFailure()) end_first();
    ASSERT_TRUE(sides_.wait([this] { return changes_.asked() == changes_.answered(); }));
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
    // If a connection is lost before the server has answered the offer of version two, the client uses version one for
    // the time `version_memory` before it offers version two again. A time of 0 makes it repeat the offer on the next
    // connection, so that the run does not continue in version one.
    out.client.version_memory = std::chrono::seconds(0);
    return out;
  }
  bool calm() const { return !outstanding_.empty() && outstanding_.front()->times_done == 0; }
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
    tally.asked += changes_.asked();
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
  RandomChanges changes_{random_};
  std::uint32_t calls_;
  bool chunks_;  // true if reverse calls may use chunks
  ShapedHandler client_handler_;
  std::unique_ptr<transport::ReverseService> service_;
  BothSides sides_;
  std::shared_ptr<transport::ReverseRequester> reverse_;
  std::deque<std::unique_ptr<ShapedCall>> outstanding_;
  std::vector<std::unique_ptr<ShapedCall>> callbacks_;
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

namespace asio = boost::asio;
using asio::ip::tcp;

/// Relays connections to a server, and cuts them.
class Relay {
 public:
  Relay(asio::io_context& context, fabric::Endpoint server)
      : acceptor_(context, {asio::ip::make_address("127.0.0.1"), 0}), server_(server.address(), server.port()) {
    accept();
  }
  ~Relay() { cut(); }
  fabric::Endpoint endpoint() const {
    return {acceptor_.local_endpoint().address(), acceptor_.local_endpoint().port()};
  }
  void cut() {
    for (const auto& weak : pairs_)
      if (const auto pair = weak.lock()) pair->close();
    pairs_.clear();
  }

 private:
  struct Pair : std::enable_shared_from_this<Pair> {
    explicit Pair(tcp::socket accepted) : client(std::move(accepted)), server(client.get_executor()) {}
    void close() {
      error_code ignored;
      client.close(ignored);
      server.close(ignored);
    }
    void carry(tcp::socket& from, tcp::socket& to, std::vector<char>& memory) {
      from.async_read_some(
          asio::buffer(memory), [self = shared_from_this(), &from, &to, &memory](error_code failed, std::size_t size) {
            if (failed) return self->close();
            asio::async_write(to, asio::buffer(memory, size), [self, &from, &to, &memory](error_code why, std::size_t) {
              if (why) return self->close();
              self->carry(from, to, memory);
            });
          });
    }
    tcp::socket client, server;
    std::vector<char> up = std::vector<char>(65536), down = std::vector<char>(65536);
  };
  void accept() {
    acceptor_.async_accept([this](error_code failed, tcp::socket accepted) {
      if (failed) return;
      const auto pair = std::make_shared<Pair>(std::move(accepted));
      pairs_.push_back(pair);
      pair->server.async_connect(server_, [pair](error_code why) {
        if (why) return pair->close();
        pair->client.set_option(tcp::no_delay(true));
        pair->server.set_option(tcp::no_delay(true));
        pair->carry(pair->client, pair->server, pair->up);
        pair->carry(pair->server, pair->client, pair->down);
      });
      accept();
    });
  }

  tcp::acceptor acceptor_;
  tcp::endpoint server_;
  std::vector<std::weak_ptr<Pair>> pairs_;
};

// run_characteristics_load() over real sockets; a relay cuts the connections.
TEST(CharacteristicsSoak, OverIwarp) {
  asio::io_context context;
  fabric::IwarpOptions options;
  options.crc = false;
  const auto client = std::move(*fabric::open_iwarp(context, options, {}));
  const auto server = std::move(*fabric::open_iwarp(context, options, {}));
  std::optional<Relay> relay;
  CharacteristicsLoad load{client.get(), server.get(), {asio::ip::address_v4::loopback(), 0}, 3000};
  load.way_to = [&](const fabric::Endpoint& listener) { return relay.emplace(context, listener).endpoint(); };
  load.cut = [&] { relay->cut(); };
  run_characteristics_load(context, load);
}

}  // namespace
}  // namespace rpcrdma::test
