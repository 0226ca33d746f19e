// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <cstdio>
#include <functional>
#include <memory>

#include "rpcrdma/conform/framework/reports.hpp"
#include "suite.hpp"

namespace rpcrdma::conform {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Runs the sample suite; returns what the reporter writes.
std::string written(const std::function<std::unique_ptr<Reporter>(std::FILE*)>& make, std::string_view known = {},
                    const HealthCheck& health = healthy) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  RunOptions options;
  options.subject = {"tester", "1", "peer <1>", "2024-05-01T00:00:00Z"};
  EXPECT_FALSE(options.known.parse(known));
  std::vector<std::unique_ptr<Reporter>> reporters;
  reporters.push_back(make(file.get()));
  run(sample_suite(), options, health, reporters);
  std::rewind(file.get());
  std::string out;
  for (int c = std::fgetc(file.get()); c != EOF; c = std::fgetc(file.get())) out += static_cast<char>(c);
  return out;
}

std::string gone() { return "gone"; }

TEST(Tap, OnlyMustFailuresFail) {
  const std::string tap = written(make_tap_report);
  EXPECT_THAT(tap, StartsWith("TAP version 14\n1..6\n"));
  EXPECT_THAT(tap, HasSubstr("\nok 1 - one/passes\n"));
  EXPECT_THAT(tap, HasSubstr("\nnot ok 2 - one/must-fails\n  ---\n"));
  EXPECT_THAT(tap, HasSubstr("\nnot ok 3 - one/should-fails # todo SHOULD only\n"));
  EXPECT_THAT(tap, HasSubstr("\nok 5 - two/skips # SKIP no \\# files\n"));
  EXPECT_THAT(tap, HasSubstr("    - \"second\\x0aanswer \\x1b[31m # \\\\ ]]>\"\n"));
  EXPECT_THAT(tap, HasSubstr("  required: \"an error\"\n"));
}

TEST(Tap, KnownFailuresAreToDo) {
  EXPECT_THAT(written(make_tap_report, "one/must-fails bug #7\n"), HasSubstr("one/must-fails # todo bug \\#7\n"));
}

TEST(Tap, BailsOutWhenThePeerIsGone) {
  EXPECT_THAT(written(make_tap_report, {}, gone), HasSubstr("\nBail out! gone\n"));
}

TEST(Junit, CountsAndEscapes) {
  const std::string xml = written(make_junit_report, "two/throws accepted\n");
  EXPECT_THAT(xml, HasSubstr("tests=\"6\" failures=\"1\" errors=\"0\" skipped=\"4\""));
  EXPECT_THAT(xml, HasSubstr("<property name=\"peer\" value=\"peer &lt;1&gt;\"/>"));
  EXPECT_THAT(xml, HasSubstr("<testcase classname=\"one\" name=\"must-fails\""));
  EXPECT_THAT(xml, HasSubstr("with &lt;odd&gt; &quot;words&quot; &amp; signs"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"known: accepted\"/>"));
  EXPECT_THAT(xml, Not(HasSubstr("\x1b")));
}

TEST(Junit, AnUnhealthyPeerIsAnError) { EXPECT_THAT(written(make_junit_report, {}, gone), HasSubstr("errors=\"1\"")); }

TEST(Html, IsSelfContainedAndEscaped) {
  const std::string page = written(make_html_report);
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("<p class=\"verdict fail\">2 MUST failed.</p>"));
  EXPECT_THAT(page, HasSubstr("with &lt;odd&gt;"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(page, HasSubstr("width=device-width"));
  EXPECT_THAT(page, HasSubstr("<details id=\"one/must-fails\" open>"));
  EXPECT_THAT(page, HasSubstr("<details id=\"one/passes\">"));
  EXPECT_THAT(page, HasSubstr("<a href=\"#one/must-fails\">one/must-fails</a>"));
  EXPECT_THAT(page, Not(HasSubstr("<a href=\"#one/passes\">")));
  for (const char* outside : {"http:", "https:", "src=", "href=\"h", "@import", "url(", "<script"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
}

TEST(Terminal, OneLineACaseAndDetailsOfFailures) {
  const std::string text = written([](std::FILE* out) { return make_terminal_report(out, false); });
  EXPECT_THAT(text, HasSubstr("\npass  MUST       one/passes "));
  EXPECT_THAT(text, HasSubstr("\nfail  MUST       one/must-fails "));
  EXPECT_THAT(text, HasSubstr("        required  an error\n"));
  EXPECT_THAT(text, HasSubstr("second?answer ?[31m"));
  EXPECT_THAT(text, HasSubstr("\nMUST          1 passed    2 failed    1 skipped    0 known\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(Terminal, Colours) {
  EXPECT_THAT(written([](std::FILE* out) { return make_terminal_report(out, true); }), HasSubstr("\x1b[1;31mfail"));
}

TEST(List, NamesLevelsAndRules) {
  Selection only;
  ASSERT_FALSE(only.add("*fails"));
  const std::string list = list_of_cases(sample_suite(), only);
  EXPECT_THAT(list, StartsWith("one/must-fails "));
  EXPECT_THAT(list, HasSubstr("MUST       rule-b rule-d\n"));
  EXPECT_THAT(list, HasSubstr("two/robust-fails                               ROBUSTNESS -\n"));
  EXPECT_THAT(list, Not(HasSubstr("one/passes")));
}

}  // namespace
}  // namespace rpcrdma::conform
