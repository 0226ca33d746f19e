// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "suite.hpp"

namespace rpcrdma::conform {
namespace {

using testing::ElementsAre;

std::vector<std::string> lines_of(const RunOptions& options, const HealthCheck& health = healthy) {
  std::vector<std::string> lines;
  std::vector<std::unique_ptr<Reporter>> reporters;
  reporters.push_back(std::make_unique<NotingReporter>(lines));
  run(sample_suite(), options, health, reporters);
  return lines;
}

TEST(Runner, RunsAllCasesInOrder) {
  EXPECT_THAT(lines_of({}), ElementsAre("begin 6", "one/passes pass", "one/must-fails fail", "one/should-fails fail",
                                        "two/robust-fails fail", "two/skips skip", "two/throws fail", "end 1"));
}

TEST(Runner, OnlyMustFailuresCountForTheExitStatus) {
  RunOptions options;
  ASSERT_FALSE(options.only.add("one/passes"));
  ASSERT_FALSE(options.only.add("*/should-*"));
  ASSERT_FALSE(options.only.add("robust-fails$"));
  EXPECT_THAT(lines_of(options),
              ElementsAre("begin 3", "one/passes pass", "one/should-fails fail", "two/robust-fails fail", "end 0"));
}

TEST(Runner, KnownFailuresDoNotCount) {
  RunOptions options;
  ASSERT_FALSE(options.known.parse("one/must-fails  the peer's bug 17\n# comment\n\ntwo/th*\tlikewise\n"));
  EXPECT_THAT(lines_of(options),
              ElementsAre("begin 6", "one/passes pass", "one/must-fails known", "one/should-fails fail",
                          "two/robust-fails fail", "two/skips skip", "two/throws known", "end 0"));
}

TEST(Runner, AKnownFailureThatPassesIsStale) {
  RunOptions options;
  ASSERT_FALSE(options.known.parse("one/passes reason\n"));
  const Suite suite = sample_suite();
  const Summary summary = run(suite, options, healthy, {});
  EXPECT_TRUE(summary.results.front().stale);
  EXPECT_EQ(summary.results.front().verdict, Verdict::pass);
}

TEST(Runner, EndsWhenThePeerIsNoLongerHealthy) {
  int calls = 0;
  const auto health = [&]() -> std::string { return ++calls == 3 ? "no answer to NULL" : ""; };
  EXPECT_THAT(lines_of({}, health),
              ElementsAre("begin 6", "one/passes pass", "one/must-fails fail", "one/should-fails fail", "end 3"));
}

TEST(Runner, AKnownFailureThatHarmsThePeerStillFails) {
  RunOptions options;
  ASSERT_FALSE(options.known.parse("one/* known\n"));
  EXPECT_THAT(lines_of(options, [] { return std::string("gone"); }),
              ElementsAre("begin 6", "one/passes fail", "end 3"));
}

TEST(Suite, RefusesBadCases) {
  const auto nothing = [](Record&) {};
  Suite suite;
  suite.add({{"a/b", Level::must, "rule-a", "", ""}, nothing});
  for (const char* id : {"a/b", "a", "/b", "a/", "a/b/c", "A/b", "a/b c"})
    EXPECT_THROW(suite.add({{id, Level::must, "rule-a", "", ""}, nothing}), std::invalid_argument) << id;
  EXPECT_THROW(suite.add({{"a/c", Level::should, "", "", ""}, nothing}), std::invalid_argument);
  EXPECT_NO_THROW(suite.add({{"a/d", Level::robustness, "", "", ""}, nothing}));
}

TEST(Family, MakesATargetForEachCase) {
  Suite suite;
  int made = 0;
  Family<int> family(suite, "numbers", [&](Record&, const Family<int>::Body& body) { body(++made); });
  family.must("first", "rule-a", "", "", [](int& target) { EXPECT_EQ(target, 1); });
  family.robust("second", "", "", "", [](int& target) { EXPECT_EQ(target, 2); });
  EXPECT_EQ(run(suite, {}, healthy, {}).count(Verdict::pass), 2u);
  EXPECT_EQ(suite.cases()[1].info.id, "numbers/second");
}

TEST(Selection, GlobsMatchWholeIds) {
  EXPECT_TRUE(glob_matches("header/*", "header/version-0"));
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("a*b?d", "aXXbbcd"));
  EXPECT_FALSE(glob_matches("header/*", "long-header/version-0"));
  EXPECT_FALSE(glob_matches("a?", "a"));
  EXPECT_FALSE(glob_matches("", "a"));
}

TEST(Selection, RefusesWhatIsNoExpression) {
  Selection selection;
  EXPECT_TRUE(selection.add("(header"));
  EXPECT_TRUE(selection.add(""));
}

TEST(Known, NamesTheLineThatIsWrong) {
  Known known;
  EXPECT_EQ(known.parse("# good\na/b reason\n\na/c\n"), "line 4: no reason after the id");
}

TEST(Known, AReasonMayNameAnEarlierLine) {
  Known known;
  EXPECT_FALSE(known.parse("a/* it is old\nb/one  as a/*\nb/two as before\n"));
  EXPECT_EQ(known.find("b/one")->reason, "it is old");
  EXPECT_EQ(known.find("b/two")->reason, "as before");
}

}  // namespace
}  // namespace rpcrdma::conform
