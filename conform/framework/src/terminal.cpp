// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "escape.hpp"
#include "rpcrdma/conform/framework/reports.hpp"

namespace rpcrdma::conform {
namespace {

constexpr const char* kReset = "\x1b[0m";

const char* colour_of(const CaseResult& result) noexcept {
  switch (result.verdict) {
    case Verdict::pass: return "\x1b[32m";
    case Verdict::fail: return result.info->level == Level::must ? "\x1b[1;31m" : "\x1b[33m";
    case Verdict::skip: return "\x1b[2m";
    case Verdict::known: return "\x1b[36m";
  }
  return "";
}

class TerminalReport final : public Reporter {
 public:
  TerminalReport(std::FILE* out, bool colours) : out_(out), colours_(colours) {}

  void begin(const Subject& subject, std::size_t selected) override {
    fmt::print(out_, "{} {} against {}: {} cases\n", subject.tester, subject.version, subject.peer, selected);
    std::fflush(out_);
  }

  void done(const CaseResult& result) override {
    const CaseInfo& info = *result.info;
    fmt::print(out_, "{}{:<5}{} {:<10} {:<46} {}", colours_ ? colour_of(result) : "", name_of(result.verdict),
               colours_ ? kReset : "", name_of(info.level), info.id, info.rules);
    if (!result.reason.empty()) fmt::print(out_, "  ({})", printable(result.reason));
    if (result.stale) fmt::print(out_, "  (listed as known, but passes)");
    fmt::print(out_, "\n");
    if (result.verdict == Verdict::fail || result.verdict == Verdict::known) details(result);
    std::fflush(out_);
  }

  void end(const Summary& summary) override {
    fmt::print(out_, "\n");
    for (const Level level : {Level::must, Level::should, Level::robustness}) {
      fmt::print(out_, "{:<10} {:>4} passed {:>4} failed {:>4} skipped {:>4} known\n", name_of(level),
                 summary.count(level, Verdict::pass), summary.count(level, Verdict::fail),
                 summary.count(level, Verdict::skip), summary.count(level, Verdict::known));
    }
    if (!summary.lost.empty())
      fmt::print(out_, "The run ended early, after {} of {} cases: {}\n", summary.results.size(), summary.selected,
                 printable(summary.lost));
    fmt::print(out_, "{} cases in {:.1f} s\n", summary.results.size(),
               static_cast<double>(summary.took.count()) / 1000.0);
    std::fflush(out_);
  }

 private:
  void details(const CaseResult& result) {
    line("sent", result.info->sends);
    for (const std::string& each : result.sent) line("", each);
    line("required", result.info->required);
    for (std::size_t i = 0; i < result.received.size(); ++i) line(i == 0 ? "received" : "", result.received[i]);
  }
  void line(std::string_view label, std::string_view text) {
    fmt::print(out_, "        {:<9} {}\n", label, printable(text));
  }

  std::FILE* const out_;
  const bool colours_;
};

}  // namespace

std::unique_ptr<Reporter> make_terminal_report(std::FILE* out, bool colours) {
  return std::make_unique<TerminalReport>(out, colours);
}

std::string list_of_cases(const Suite& suite, const Selection& only) {
  std::string out;
  for (const Case& each : suite.cases())
    if (only.matches(each.info.id))
      out += fmt::format("{:<46} {:<10} {}\n", each.info.id, name_of(each.info.level),
                         each.info.rules.empty() ? "-" : each.info.rules);
  return out;
}

}  // namespace rpcrdma::conform
