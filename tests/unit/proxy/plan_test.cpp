// SPDX-License-Identifier: BSD-3-Clause
// Which messages a rule acts on, and that the seed determines all random choices.
#include <gtest/gtest.h>

#include <set>

#include "plan.hpp"

namespace rpcrdma::proxy {
namespace {

Frame frame_of(Kind kind) {
  Frame frame;
  frame.kind = kind;
  frame.size = 100;
  return frame;
}

Frame call_of(std::uint32_t xid, std::uint32_t procedure) {
  Frame frame = frame_of(Kind::call);
  frame.rpc = RpcMessage{xid, true, Procedure{100003, 3, procedure}};
  return frame;
}

Frame reply_of(std::uint32_t xid) {
  Frame frame = frame_of(Kind::reply);
  frame.rpc = RpcMessage{xid, false, std::nullopt};
  return frame;
}

Director director_of(std::initializer_list<const char*> lines, std::uint64_t seed = 1) {
  Script script;
  for (const char* line : lines) EXPECT_EQ(add_rule(line, script), std::nullopt) << line;
  return Director(script, seed);
}

/// Passes ten replies in the direction `side` to `plan`. Returns the numbers, from 1 to 10, of the replies on which a
/// rule acts.
std::vector<int> struck(Plan& plan, Side side = Side::to_client) {
  std::vector<int> out;
  for (int i = 1; i <= 10; ++i)
    if (!plan.judge(side, frame_of(Kind::reply)).empty()) out.push_back(i);
  return out;
}

using Numbers = std::vector<int>;

TEST(Plan, NumberCountAndDirection) {
  Director director = director_of({"delay reply 3 count=4 ms=1 dir=to-client times=3"});
  Plan one(director, 1), two(director, 2);
  EXPECT_EQ(struck(one), (Numbers{3, 4, 5, 6}));
  EXPECT_EQ(struck(one), Numbers{});
  EXPECT_EQ(struck(two, Side::to_server), Numbers{});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(two.judge(Side::to_client, frame_of(Kind::write)).empty());
  EXPECT_EQ(struck(two), (Numbers{3, 4, 5, 6}));
}

TEST(Plan, EachDirectionIsCountedByItself) {
  Director director = director_of({"delay reply 3 ms=1"});
  Plan one(director, 1), two(director, 2);
  EXPECT_EQ(struck(one, Side::to_server), (Numbers{3}));
  EXPECT_EQ(struck(one, Side::to_client), (Numbers{3})) << "still the same connection";
  EXPECT_EQ(struck(two), Numbers{});
}

TEST(Plan, OnlyTheFirstSegmentOfAMessageCounts) {
  Director director = director_of({"cut write 2"});
  Plan plan(director, 1);
  Frame more = frame_of(Kind::write);
  more.first = false;
  EXPECT_TRUE(plan.judge(Side::to_client, frame_of(Kind::write)).empty());
  EXPECT_TRUE(plan.judge(Side::to_client, more).empty());
  EXPECT_EQ(plan.judge(Side::to_client, frame_of(Kind::write)).size(), 1u);
}

TEST(Plan, ConnectionsAndTimes) {
  Director director = director_of({"cut reply 2", "delay reply 1 ms=1 connection=3", "join reply 5 times=2"});
  const auto numbers = [&](std::uint32_t connection) {
    Plan plan(director, connection);
    return struck(plan);
  };
  EXPECT_EQ(numbers(1), (Numbers{2, 5}));
  EXPECT_EQ(numbers(2), (Numbers{5}));
  EXPECT_EQ(numbers(3), (Numbers{1}));
  EXPECT_EQ(numbers(4), Numbers{});
}

TEST(Plan, ARuleThatIsNotReachedIsNotUsedUp) {
  Director director = director_of({"cut reply 11"});
  Plan one(director, 1), two(director, 2);
  EXPECT_EQ(struck(one), Numbers{});
  EXPECT_EQ(struck(two), Numbers{});
  EXPECT_EQ(struck(two), (Numbers{1}));
  EXPECT_EQ(struck(one), Numbers{}) << "the other connection has used the rule up";
}

TEST(Plan, RepliesToNonIdempotentCalls) {
  Director director = director_of({"drop-reply remove 2"});
  Plan plan(director, 1);
  const auto answered = [&](std::uint32_t xid, std::uint32_t procedure) {
    EXPECT_TRUE(plan.judge(Side::to_server, call_of(xid, procedure)).empty());
    return !plan.judge(Side::to_client, reply_of(xid)).empty();
  };
  EXPECT_FALSE(answered(1, 12));
  EXPECT_FALSE(answered(2, 1));
  EXPECT_FALSE(answered(3, 8));
  EXPECT_TRUE(plan.judge(Side::to_client, reply_of(1)).empty()) << "this call has been answered already";
  EXPECT_TRUE(answered(4, 12));
  EXPECT_FALSE(answered(5, 12));
}

TEST(Plan, RemembersABoundedNumberOfCalls) {
  Director director = director_of({"drop-reply any"});
  Plan plan(director, 1);
  for (std::uint32_t xid = 0; xid < 100000; ++xid) plan.judge(Side::to_server, call_of(xid, 9));
  EXPECT_TRUE(plan.judge(Side::to_client, reply_of(7)).empty());
  EXPECT_FALSE(plan.judge(Side::to_client, reply_of(99999)).empty());
}

TEST(Plan, AnsweredCallsDoNotReplaceACallWithoutReply) {
  Director director = director_of({"drop-reply any 2", "drop-reply any 3"});
  Plan plan(director, 1);
  const auto answered = [&](std::uint32_t xid, std::uint32_t procedure) {
    plan.judge(Side::to_server, call_of(xid, procedure));
    return !plan.judge(Side::to_client, reply_of(xid)).empty();
  };
  EXPECT_FALSE(answered(2, 9));
  for (const std::uint32_t xid : {1u, 2u}) plan.judge(Side::to_server, call_of(xid, 9));
  for (std::uint32_t xid = 3; xid < 10000; ++xid) EXPECT_FALSE(answered(xid, 1));
  EXPECT_FALSE(plan.judge(Side::to_client, reply_of(1)).empty());
  EXPECT_FALSE(plan.judge(Side::to_client, reply_of(2)).empty()) << "a later call has the XID of an answered one";
}

std::string text_of(std::uint64_t seed, std::uint32_t connection) {
  std::string out;
  for (const Rule& rule : random_rules({}, seed, connection)) out += to_text(rule) + "\n";
  return out;
}

TEST(Seed, DecidesTheRules) {
  std::set<std::string> different;
  for (std::uint64_t seed = 0; seed < 300; ++seed)
    for (std::uint32_t connection = 1; connection <= 8; ++connection) {
      EXPECT_EQ(text_of(seed, connection), text_of(seed, connection));
      EXPECT_NE(text_of(seed, connection), "");
      different.insert(text_of(seed, connection));
    }
  EXPECT_GT(different.size(), 2000u);
  EXPECT_EQ(text_of(1, 9), "") << "no rule for later connections, so that a run ends";
}

TEST(Seed, ChoosesEachAction) {
  std::set<Action> seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed)
    for (const Rule& rule : random_rules({}, seed, 2)) {
      seen.insert(rule.action);
      Script script;
      EXPECT_EQ(add_rule(to_text(rule), script), std::nullopt) << to_text(rule);
      EXPECT_EQ(rule.connection, 2u);
    }
  EXPECT_EQ(seen.size(), kActionNames.size());
}

TEST(Seed, SparesTheStartUpOfTheFirstConnection) {
  bool later = false;
  RandomRule spared;
  spared.start_up = false;
  const auto in_start_up = [](const Rule& rule) {
    return rule.kind == Kind::mpa_request || rule.kind == Kind::mpa_reply;
  };
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    for (const Rule& rule : random_rules({}, seed, 1)) EXPECT_FALSE(in_start_up(rule)) << to_text(rule);
    for (const Rule& rule : random_rules({}, seed, 2)) later = later || in_start_up(rule);
    for (const Rule& rule : random_rules(spared, seed, 2)) EXPECT_FALSE(in_start_up(rule)) << to_text(rule);
  }
  EXPECT_TRUE(later);
}

TEST(Seed, LeavesOutAKind) {
  bool with = false;
  RandomRule random;
  random.without = Kind::read_response;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    for (const Rule& rule : random_rules({}, seed, 2)) with = with || rule.kind == Kind::read_response;
    for (const Rule& rule : random_rules(random, seed, 2)) EXPECT_NE(rule.kind, Kind::read_response) << to_text(rule);
  }
  EXPECT_TRUE(with);
}

TEST(Seed, NeverChangesDataUnnoticed) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed)
    for (const Rule& rule : random_rules({}, seed, 1)) {
      if (rule.action != Action::flip) continue;
      EXPECT_TRUE(rule.fix_crc ? rule.field != Field::any : rule.only_with_crc) << to_text(rule);
    }
}

TEST(Seed, SameDiceForSamePurpose) {
  EXPECT_EQ(Dice(1, {2, 3}).next(), Dice(1, {2, 3}).next());
  EXPECT_NE(Dice(1, {2, 3}).next(), Dice(1, {3, 2}).next());
  EXPECT_NE(Dice(1, {2, 3}).next(), Dice(2, {2, 3}).next());
  Dice dice(5, {});
  for (int i = 0; i < 1000; ++i) {
    const auto value = dice.between(3, 9);
    EXPECT_GE(value, 3u);
    EXPECT_LE(value, 9u);
  }
}

}  // namespace
}  // namespace rpcrdma::proxy
