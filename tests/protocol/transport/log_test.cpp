// SPDX-License-Identifier: BSD-3-Clause
// What both sides log: how a client reconnects, and the connection and call that a line is about.
#include <gtest/gtest.h>

#include "both_sides.hpp"
#include "raw_peer.hpp"
#include "support/log_lines.hpp"

namespace rpcrdma::test {
namespace {

/// The waits before attempts to connect that `log` reports, in milliseconds.
std::vector<long> waits(const LogLines& log) {
  std::vector<long> out;
  for (const std::string& line : log.with("next attempt to connect in "))
    out.push_back(std::stol(line.substr(line.rfind("in ") + 3)));
  return out;
}

// While a server that has served calls is unreachable, the pauses between attempts grow. When the server becomes
// unreachable again later, the pauses start short again.
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

// When a connection is closed, each side logs that it ended in an orderly way. Neither logs "Success" as the reason.
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

using Lines = std::vector<std::string>;

struct LoggedSides {
  explicit LoggedSides(SidesOptions options = {}) {
    options.server_log = Log(server);
    sides.emplace(options);
    sides->client = transport::Client::make(*sides->client_fabric, sides->client_pool, sides->endpoint, options.client,
                                            Log(client));
  }
  std::uint64_t number() const { return sides->server->report(0, 1).busiest.at(0).number; }
  std::shared_ptr<LogLines> server = std::make_shared<LogLines>(), client = std::make_shared<LogLines>();
  std::optional<BothSides> sides;
};

TEST(Subjects, LinesOfAConnectionHaveTheNumberOfTheReport) {
  LoggedSides logged;
  BothSides& sides = *logged.sides;
  const auto call = sides.make({});
  ASSERT_TRUE(sides.run(*call));
  const auto report = sides.server->report(0, 1).busiest.at(0);
  const std::string about =
      text_of(LogSubject{.connection = report.number, .fabric = "loopback", .peer = report.peer}) + ": ";
  sides.client.reset();
  ASSERT_TRUE(sides.wait([&] { return sides.server->counters().connections == 0; }));
  EXPECT_EQ(logged.server->with(about + "connection accepted").size(), 1u) << logged.server->all();
  EXPECT_EQ(logged.server->with(about + "connection ended: ").size(), 1u) << logged.server->all();
  EXPECT_EQ(logged.server->with("conn=").size(), logged.server->with(about).size()) << logged.server->all();
  // The client's lines name the server as the peer, and have another connection number than the server's lines.
  const Lines made = logged.client->with("connected to the server: ");
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].find("conn="), 0u);
  EXPECT_NE(made[0].find(" peer=" + rpcrdma::text_of(sides.endpoint) + " fabric=loopback: "), std::string::npos)
      << made[0];
  EXPECT_EQ(made[0].find(about), std::string::npos);
}

TEST(Subjects, LinesOfACallHaveItsXid) {
  LoggedSides logged;
  BothSides& sides = *logged.sides;
  RawPeer peer(*sides.client_fabric);
  peer.connect(sides.endpoint);
  ASSERT_TRUE(sides.wait([&] { return peer.connected(); }));
  peer.send(words({0x1a2b, 1, 1, 77, 0, 0, 0}));  // an unknown procedure
  ASSERT_TRUE(sides.wait([&] { return !peer.messages.empty(); }));
  const Lines answered = logged.server->with("call answered by RDMA_ERROR ERR_CHUNK: unknown RPC-over-RDMA procedure");
  ASSERT_EQ(answered.size(), 1u) << logged.server->all();
  EXPECT_EQ(answered[0].find("conn=" + std::to_string(logged.number()) + " peer="), 0u) << answered[0];
  EXPECT_NE(answered[0].find(" xid=00001a2b: "), std::string::npos) << answered[0];
  // The line about a message that is too short shows no XID, not even that of the previous message.
  peer.send(words({0x77}));
  ASSERT_TRUE(sides.wait([&] { return logged.server->with("message discarded").size() == 1; }));
  EXPECT_EQ(logged.server->with("message discarded")[0].find("xid="), std::string::npos);
  // The short message has been discarded [8166-4.5-a]. The next one is an RDMA_ERROR whose XID belongs to no call.
  peer.send(words({0x99, 1, 1, 4, 2}));
  ASSERT_TRUE(sides.wait([&] { return logged.server->with("RDMA_ERROR ERR_CHUNK received").size() == 1; }));
  EXPECT_NE(logged.server->with("RDMA_ERROR ERR_CHUNK received")[0].find(" xid=00000099: "), std::string::npos);
}

// A peer that repeats a fault cannot fill the disk with log lines.
TEST(Subjects, RepeatedFaultsAreNotAllLogged) {
  LoggedSides logged;
  BothSides& sides = *logged.sides;
  RawPeer peer(*sides.client_fabric);
  peer.connect(sides.endpoint);
  ASSERT_TRUE(sides.wait([&] { return peer.connected(); }));
  constexpr std::size_t kMany = 20 * LogLimit::kMost;
  for (std::size_t i = 0; i < kMany; ++i) {
    peer.send(words({static_cast<std::uint32_t>(i), 1, 1, 77, 0, 0, 0}));
    ASSERT_TRUE(sides.wait([&] { return peer.messages.size() == 1; }));
    peer.messages.clear();
  }
  EXPECT_EQ(sides.server->counters().errors_sent, kMany);
  EXPECT_GE(logged.server->with("RDMA_ERROR").size(), std::size_t{LogLimit::kMost});
  EXPECT_LT(logged.server->with("RDMA_ERROR").size(), kMany);
}

TEST(Subjects, AClientLogsCallsThatItSendsAgain) {
  LoggedSides logged;
  BothSides& sides = *logged.sides;
  const auto first = sides.make({});
  ASSERT_TRUE(sides.run(*first));  // its reply grants more than one credit
  transport::IncomingCall* held = nullptr;
  sides.handler.intercept = [&](transport::IncomingCall& call) {
    if (held != nullptr) return false;
    held = &call;
    return true;
  };
  const auto call = sides.make({});
  sides.client->requester().submit(*call);
  ASSERT_TRUE(sides.wait([&] { return held != nullptr; }));
  const std::string xid = " xid=" + xid_text(held->xid()) + ": ";
  // The next frame breaks its connection. This frame carries the call `next`, which is submitted below. The server has
  // not answered `call` by then, so the client sends `call` again.
  sides.network.drop_connection_after(0);
  const auto next = sides.make({});
  sides.client->requester().submit(*next);
  ASSERT_TRUE(sides.wait([&] { return call->times_done == 1 && next->times_done == 1; }));
  EXPECT_FALSE(call->status);
  const Lines again = logged.client->with(xid + "call sent again");
  ASSERT_EQ(again.size(), 1u) << logged.client->all();
  // The call is sent again on another connection.
  const Lines ended = logged.client->with("connection ended: ");
  ASSERT_GE(ended.size(), 1u);
  EXPECT_NE(ended[0].substr(0, ended[0].find(' ')), again[0].substr(0, again[0].find(' ')));
  held->discard();
}

}  // namespace
}  // namespace rpcrdma::test
