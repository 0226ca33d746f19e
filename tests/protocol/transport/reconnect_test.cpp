// SPDX-License-Identifier: BSD-3-Clause
// How a client reconnects, according to its log.
#include <gtest/gtest.h>

#include "both_sides.hpp"
#include "support/log_lines.hpp"

namespace rpcrdma::test {
namespace {

/// Returns the pauses between attempts that the log names, in milliseconds.
std::vector<long> waits(const LogLines& log) {
  std::vector<long> out;
  for (const std::string& line : log.with("next attempt to connect in "))
    out.push_back(std::stol(line.substr(line.rfind("in ") + 3)));
  return out;
}

// While a server that has served calls is gone, the pauses between attempts grow. After it has come back, the pauses
// start short again.
TEST(Reconnect, PausesGrowWhenAProvenServerIsGone) {
  const auto log = std::make_shared<LogLines>();
  BothSides sides;
  transport::ClientOptions options;
  options.first_backoff = std::chrono::milliseconds(1);
  options.last_backoff = std::chrono::milliseconds(16);
  sides.client = transport::Client::make(*sides.client_fabric, sides.client_pool, sides.endpoint, options, Log(log));
  const std::vector<long> bounds = {1, 2, 4, 8, 16, 16, 16};
  for (std::size_t round = 0; round < 2; ++round) {
    SCOPED_TRACE(round);
    const auto served = sides.make({});
    ASSERT_TRUE(sides.run(*served));
    EXPECT_FALSE(served->status);
    sides.server.reset();
    const std::size_t before = waits(*log).size();
    const auto call = sides.make({});
    sides.client->requester().submit(*call);
    ASSERT_TRUE(sides.wait([&] { return waits(*log).size() >= before + bounds.size(); }));
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      const long wait = waits(*log)[before + i];
      EXPECT_GE(wait, bounds[i] / 2) << i;
      EXPECT_LE(wait, bounds[i]) << i;
    }
    sides.server =
        transport::Server::make({{sides.server_fabric.get(), &sides.server_pool, &sides.handler}}, {}, Log());
    ASSERT_TRUE(sides.listen(sides.endpoint));
    ASSERT_TRUE(sides.wait([&] { return call->times_done == 1; }));
    EXPECT_FALSE(call->status);
  }
  sides.client.reset();
}

// An orderly close is not logged as an error.
TEST(Reconnect, AnOrderlyEndIsLoggedAsSuch) {
  const auto log = std::make_shared<LogLines>();
  BothSides sides;
  sides.server =
      transport::Server::make({{sides.server_fabric.get(), &sides.server_pool, &sides.handler}}, {}, Log(log));
  ASSERT_TRUE(sides.listen({}));
  sides.client = transport::Client::make(*sides.client_fabric, sides.client_pool, sides.endpoint, {}, Log(log));
  const auto call = sides.make({});
  ASSERT_TRUE(sides.run(*call));
  bool closed = false;
  sides.server->close(std::chrono::steady_clock::now() + std::chrono::hours(1), [&] { closed = true; });
  ASSERT_TRUE(sides.wait([&] { return closed && !sides.client->connected(); }));
  EXPECT_EQ(log->with("Success").size(), 0u);
  EXPECT_EQ(log->with("in an orderly way").size(), 2u);
  EXPECT_TRUE(sides.client->last_error());
  sides.client.reset();
}

}  // namespace
}  // namespace rpcrdma::test
