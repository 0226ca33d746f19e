// SPDX-License-Identifier: BSD-3-Clause
// Rules as text: which lines are accepted, and the message for each mistake.
#include <gmock/gmock.h>

#include "script.hpp"

namespace rpcrdma::proxy {
namespace {

using testing::HasSubstr;

Rule rule_of(std::string_view line) {
  Script script;
  EXPECT_EQ(add_rule(line, script), std::nullopt) << line;
  return script.rules.empty() ? Rule{} : script.rules.front();
}

TEST(Script, ReadsEachSetting) {
  const Rule cut = rule_of("  cut\treply 3 after=20 how=reset dir=to-client connection=2 times=4 ");
  EXPECT_EQ(cut.action, Action::cut);
  EXPECT_EQ(cut.kind, Kind::reply);
  EXPECT_EQ(cut.side, Side::to_client);
  EXPECT_TRUE(cut.reset);
  EXPECT_EQ(std::tie(cut.nth, cut.after, cut.connection, cut.times), std::make_tuple(3u, 20u, 2u, 4u));
  const Rule hold = rule_of("hold any ms=50 bytes=12345678901");
  EXPECT_FALSE(hold.kind || hold.side);
  EXPECT_EQ(hold.time.count(), 50);
  EXPECT_EQ(hold.bytes, 12345678901u);
  EXPECT_EQ(rule_of("split write size=random").size, 0u);
  EXPECT_EQ(rule_of("split write size=7 count=9").count, 9u);
  EXPECT_EQ(rule_of("flip call field=msn crc=fix").field, Field::msn);
  EXPECT_EQ(rule_of("flip call bit=17").bit, 17u);
  EXPECT_EQ(rule_of("credits reply grant=0").grant, 0u);
  EXPECT_EQ(rule_of("drop-reply rename 2").procedure, 14u);
  EXPECT_EQ(rule_of("drop-reply any").procedure, std::nullopt);
}

TEST(Script, TextOfARuleIsTheRule) {
  for (const char* line :
       {"cut reply 3 dir=to-client after=20 how=reset connection=2 times=4", "delay any 2 count=5 ms=30",
        "hold call 1 dir=to-server ms=50 bytes=1000", "split write 1 count=7 size=random", "split call 4 size=1",
        "join any 1 ms=20", "flip write 2 field=stag crc=fix", "flip mpa-request 1 bit=8 crc=keep",
        "credits reply 1 count=10 grant=2", "drop-reply mkdir 1", "drop-reply any 3 connection=1"})
    EXPECT_EQ(to_text(rule_of(line)), line);
}

TEST(Script, Random) {
  Script script;
  EXPECT_EQ(add_rule("random connections=3 each=2", script), std::nullopt);
  ASSERT_TRUE(script.random);
  EXPECT_EQ(script.random->connections, 3u);
  EXPECT_EQ(script.random->each, 2u);
  EXPECT_TRUE(script.random->start_up);
  EXPECT_EQ(add_rule("random start-up=no", script), std::nullopt);
  EXPECT_FALSE(script.random->start_up);
  EXPECT_EQ(add_rule("random without=read-response", script), std::nullopt);
  EXPECT_EQ(script.random->without, Kind::read_response);
  EXPECT_EQ(add_rule("random", script), std::nullopt);
}

TEST(Script, NamesEachMistake) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"", "empty"},
      {"burn reply", "not an action: 'burn'"},
      {"cut", "cut: '' is neither a kind of message nor any"},
      {"cut replies", "'replies' is neither a kind"},
      {"drop-reply read", "'read' is neither a non-idempotent procedure"},
      {"cut reply 0", "not the number of a message: '0'"},
      {"cut reply -1", "not the number of a message"},
      {"cut reply 4294967296", "not the number of a message"},
      {"cut reply 1 2", "no setting '2'"},
      {"cut reply 1 ms=5", "cut has no setting 'ms=5'"},
      {"cut reply 1 after", "no setting 'after'"},
      {"cut reply after=", "not a value of after: ''"},
      {"cut reply after=x", "not a value of after: 'x'"},
      {"cut reply after=1x", "not a value of after: '1x'"},
      {"cut reply how=softly", "not a value of how"},
      {"cut reply dir=up", "not a value of dir"},
      {"cut reply connection=0", "not a value of connection"},
      {"cut reply times=0", "not a value of times"},
      {"cut reply count=2", "no setting 'count=2'"},
      {"delay reply", "delay needs ms="},
      {"delay reply ms=0", "not a value of ms"},
      {"delay reply ms=60001", "not a value of ms"},
      {"hold reply bytes=4", "hold needs ms="},
      {"hold reply ms=4 bytes=18446744073709551616", "not a value of bytes"},
      {"split reply size=0", "not a value of size"},
      {"flip reply field=xid", "not a value of field"},
      {"flip reply field=msn bit=3", "not both"},
      {"flip reply crc=off", "not a value of crc"},
      {"credits write grant=1", "credits takes only the kinds call and reply"},
      {"credits any grant=1", "credits takes only the kinds call and reply"},
      {"drop-reply any dir=to-client", "no setting"},
      {"random each=0", "not a value of each"},
      {"random without=data", "not a value of without"},
      {"random start-up=maybe", "not a value of start-up"},
      {"random count=1", "random has no setting"},
      {"random 3", "random has no setting"},
  };
  for (const auto& [line, message] : mistakes) {
    Script script;
    const auto wrong = add_rule(line, script);
    ASSERT_TRUE(wrong) << line;
    EXPECT_THAT(*wrong, HasSubstr(message)) << line;
    EXPECT_TRUE(script.rules.empty() && !script.random) << line;
  }
}

TEST(Script, EachPrefixOfARuleIsReadOrRefused) {
  const std::string_view line = "flip read-response 12 dir=to-server connection=2 times=3 field=rdmap-version crc=fix";
  for (std::size_t size = 0; size < line.size(); ++size) {
    Script script;
    const std::string prefix(line.substr(0, size));
    const bool refused = add_rule(prefix, script).has_value();
    EXPECT_EQ(refused, script.rules.empty()) << prefix;
  }
}

TEST(Script, Lines) {
  Script script;
  EXPECT_EQ(add_rules("# a script\n\ncut reply 3 # the third\r\n  delay any ms=5", script), std::nullopt);
  EXPECT_EQ(script.rules.size(), 2u);
  const auto wrong = add_rules("cut call\n\nburn call\n", script);
  ASSERT_TRUE(wrong);
  EXPECT_THAT(*wrong, HasSubstr("line 3: not an action"));
}

}  // namespace
}  // namespace rpcrdma::proxy
