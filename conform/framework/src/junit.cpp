// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <iterator>

#include "escape.hpp"
#include "rpcrdma/conform/framework/reports.hpp"

namespace rpcrdma::conform {
namespace {

double seconds(std::chrono::milliseconds time) { return static_cast<double>(time.count()) / 1000.0; }

std::string details(const CaseResult& result) {
  std::string out = fmt::format("rules: {}\nsent: {}\n", result.info->rules, result.info->sends);
  for (const std::string& each : result.sent) out += "      " + each + "\n";
  out += "required: " + result.info->required + "\n";
  for (const std::string& each : result.received) out += "received: " + each + "\n";
  return escape_xml(out);
}

/// Whether JUnit reports the case as a failure. Only these failures make the exit status 1.
bool counts(const CaseResult& result) noexcept {
  return result.verdict == Verdict::fail && result.info->level == Level::must;
}

void append_case(std::string& out, const CaseResult& result) {
  const CaseInfo& info = *result.info;
  const std::string name = info.id.substr(info.family().size() + 1);
  fmt::format_to(std::back_inserter(out), "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">\n",
                 escape_xml(info.family()), escape_xml(name), seconds(result.took));
  const std::string cause = result.received.empty() ? "" : escape_xml(result.received.back());
  if (counts(result)) {
    out += fmt::format("      <failure type=\"MUST\" message=\"{}\">{}</failure>\n", cause, details(result));
  } else if (result.verdict == Verdict::skip) {
    out += fmt::format("      <skipped message=\"{}\"/>\n", escape_xml(result.reason));
  } else if (result.verdict != Verdict::pass) {
    const std::string why = result.verdict == Verdict::known ? "known: " + escape_xml(result.reason)
                                                             : fmt::format("{} failed: {}", name_of(info.level), cause);
    out += fmt::format("      <skipped message=\"{}\"/>\n      <system-out>{}</system-out>\n", why, details(result));
  }
  out += "    </testcase>\n";
}

class JunitReport final : public Reporter {
 public:
  explicit JunitReport(std::FILE* out) : out_(out) {}
  void end(const Summary& summary) override {
    fmt::print(out_, "{}", junit_document(summary));
    std::fflush(out_);
  }

 private:
  std::FILE* const out_;
};

}  // namespace

std::string junit_document(const Summary& summary) {
  std::size_t failures = 0, skipped = 0;
  for (const CaseResult& each : summary.results) {
    failures += counts(each);
    skipped += !counts(each) && each.verdict != Verdict::pass;
  }
  const std::size_t errors = summary.lost.empty() ? 0 : 1;
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  const std::string totals =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\"",
                  summary.results.size() + errors, failures, errors, skipped, seconds(summary.took));
  out += fmt::format("<testsuites name=\"{}\" {}>\n", escape_xml(summary.subject.tester), totals);
  out += fmt::format("  <testsuite name=\"{}\" timestamp=\"{}\" {}>\n", escape_xml(summary.subject.tester),
                     escape_xml(summary.subject.date), totals);
  out += fmt::format("    <properties><property name=\"peer\" value=\"{}\"/></properties>\n",
                     escape_xml(summary.subject.peer));
  for (const CaseResult& each : summary.results) append_case(out, each);
  if (errors != 0)
    out += fmt::format("    <testcase classname=\"run\" name=\"health\"><error message=\"{}\"/></testcase>\n",
                       escape_xml(summary.lost));
  return out + "  </testsuite>\n</testsuites>\n";
}

std::unique_ptr<Reporter> make_junit_report(std::FILE* out) { return std::make_unique<JunitReport>(out); }

}  // namespace rpcrdma::conform
