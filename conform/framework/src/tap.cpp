// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "escape.hpp"
#include "rpcrdma/conform/framework/reports.hpp"

namespace rpcrdma::conform {
namespace {

/// Returns `text` for the end of a TAP line. An unescaped '#' would begin a directive, so '#' and '\' are preceded by
/// a backslash.
std::string directive_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '#' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

class TapReport final : public Reporter {
 public:
  explicit TapReport(std::FILE* out) : out_(out) {}

  void begin(const Subject& subject, std::size_t selected) override {
    fmt::print(out_, "TAP version 14\n1..{}\n# {} {} against {}\n", selected, subject.tester, subject.version,
               printable(subject.peer));
  }

  void done(const CaseResult& result) override {
    const bool good = result.verdict == Verdict::pass || result.verdict == Verdict::skip;
    fmt::print(out_, "{} {} - {}", good ? "ok" : "not ok", ++number_, result.info->id);
    if (result.verdict == Verdict::skip) fmt::print(out_, " # SKIP {}", directive_text(result.reason));
    if (result.verdict == Verdict::known) fmt::print(out_, " # todo {}", directive_text(result.reason));
    if (result.verdict == Verdict::fail && result.info->level != Level::must)
      fmt::print(out_, " # todo {} only", name_of(result.info->level));
    fmt::print(out_, "\n");
    if (!good) diagnosis(result);
    std::fflush(out_);
  }

  void end(const Summary& summary) override {
    if (!summary.lost.empty()) fmt::print(out_, "Bail out! {}\n", directive_text(summary.lost));
    std::fflush(out_);
  }

 private:
  void diagnosis(const CaseResult& result) {
    fmt::print(out_, "  ---\n  level: {}\n  rules: {}\n  sent:\n    - {}\n", name_of(result.info->level),
               quote_yaml(result.info->rules), quote_yaml(result.info->sends));
    for (const std::string& each : result.sent) fmt::print(out_, "    - {}\n", quote_yaml(each));
    fmt::print(out_, "  required: {}\n  received:\n", quote_yaml(result.info->required));
    for (const std::string& each : result.received) fmt::print(out_, "    - {}\n", quote_yaml(each));
    fmt::print(out_, "  ...\n");
  }

  std::FILE* const out_;
  std::size_t number_ = 0;
};

}  // namespace

std::unique_ptr<Reporter> make_tap_report(std::FILE* out) { return std::make_unique<TapReport>(out); }

}  // namespace rpcrdma::conform
