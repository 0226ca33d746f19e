// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <iterator>

#include "escape.hpp"
#include "rpcrdma/conform/framework/reports.hpp"

namespace rpcrdma::conform {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --back: #fff; --text: #1b1f24; --dim: #57606a; --line: #d0d7de; --box: #f6f8fa;
  --pass: #1a7f37; --fail: #cf222e; --warn: #9a6700; --known: #0969da; }
@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --text: #e6edf3; --dim: #9198a1; --line: #30363d;
  --box: #161b22; --pass: #3fb950; --fail: #ff7b72; --warn: #d29922; --known: #58a6ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 70rem; background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: .5rem 0; } h2 { font-size: 1.15rem; margin: 1.6rem 0 .4rem; }
p.about { color: var(--dim); margin: .2rem 0; }
table { border-collapse: collapse; margin: 1rem 0; width: 100%; max-width: 34rem; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .5rem; text-align: right; }
th:first-child, td:first-child { text-align: left; }
.verdict { font-size: 1.1rem; font-weight: 600; }
details { border-bottom: 1px solid var(--line); }
summary { display: flex; gap: .2rem .8rem; padding: .35rem .2rem; flex-wrap: wrap; align-items: baseline; }
summary { cursor: pointer; } summary::marker { content: ""; }
.mark { width: 3.4rem; font-weight: 600; } .id { flex: 1 1 14rem; font-family: ui-monospace, monospace; }
.level, .rules { color: var(--dim); font-size: .85rem; } .rules { flex: 0 1 auto; }
.pass { color: var(--pass); } .fail { color: var(--fail); } .warn { color: var(--warn); }
.known { color: var(--known); } .skip { color: var(--dim); }
dl { margin: .2rem 0 .8rem; padding: .6rem .8rem; background: var(--box); border-radius: .4rem; }
dt { font-weight: 600; font-size: .85rem; color: var(--dim); } dd { margin: 0 0 .4rem; }
ul { padding-left: 1.2rem; } a { color: inherit; font-family: ui-monospace, monospace; }
:target { outline: 2px solid var(--known); }
@media (max-width: 34rem) { body { padding: .6rem; } .id { flex-basis: calc(100% - 4.6rem); }
  table { font-size: .8rem; overflow-wrap: normal; } th, td { padding: .3rem .2rem; }
  summary .level { margin-left: 4.2rem; } }
@media print { details > * { display: block; } }
)";

std::string_view style_of(const CaseResult& result) noexcept {
  if (result.verdict == Verdict::fail && result.info->level != Level::must) return "warn";
  return name_of(result.verdict);
}

void term(std::string& out, std::string_view name, const std::string& first, const std::vector<std::string>& more) {
  fmt::format_to(std::back_inserter(out), "<dt>{}</dt>", name);
  if (!first.empty()) out += "<dd>" + escape_xml(first) + "</dd>";
  for (const std::string& each : more) out += "<dd>" + escape_xml(each) + "</dd>";
}

void write_case(std::string& out, const CaseResult& result) {
  const CaseInfo& info = *result.info;
  const bool open = result.verdict == Verdict::fail;
  fmt::format_to(std::back_inserter(out),
                 "<details id=\"{0}\"{1}><summary><span class=\"mark {2}\">{3}</span><span class=\"id\">{0}</span>"
                 "<span class=\"level\">{4}</span><span class=\"rules\">{5}</span></summary><dl>",
                 escape_xml(info.id), open ? " open" : "", style_of(result), name_of(result.verdict),
                 name_of(info.level), escape_xml(info.rules));
  term(out, "Sent", info.sends, result.sent);
  term(out, "Required", info.required, {});
  if (!result.received.empty()) term(out, "Received", "", result.received);
  if (!result.reason.empty())
    term(out, result.verdict == Verdict::skip ? "Skipped" : "Known divergence", result.reason, {});
  if (result.stale) term(out, "Known divergence", "listed, but the case passes", {});
  out += "</dl></details>\n";
}

void write_totals(std::string& out, const Summary& summary) {
  out += "<table><tr><th>Level</th><th>passed</th><th>failed</th><th>skipped</th><th>known</th></tr>\n";
  for (const Level level : {Level::must, Level::should, Level::robustness}) {
    const std::size_t failed = summary.count(level, Verdict::fail);
    fmt::format_to(std::back_inserter(out),
                   "<tr><td>{}</td><td>{}</td><td class=\"{}\">{}</td><td>{}</td><td>{}</td></tr>\n", name_of(level),
                   summary.count(level, Verdict::pass), failed == 0 ? "" : (level == Level::must ? "fail" : "warn"),
                   failed, summary.count(level, Verdict::skip), summary.count(level, Verdict::known));
  }
  out += "</table>\n";
}

std::string conclusion(const Summary& summary) {
  if (!summary.lost.empty())
    return fmt::format("<p class=\"verdict fail\">The run ended early, after {} of {} cases: {}</p>\n",
                       summary.results.size(), summary.selected, escape_xml(summary.lost));
  const std::size_t failed = summary.count(Level::must, Verdict::fail);
  if (failed == 0) return "<p class=\"verdict pass\">No MUST failed.</p>\n";
  return fmt::format("<p class=\"verdict fail\">{} MUST failed.</p>\n", failed);
}

/// Lists the failed cases, with links to their details.
void write_failures(std::string& out, const Summary& summary) {
  if (summary.count(Verdict::fail) == 0) return;
  out += "<h2>Failed</h2>\n<ul>\n";
  for (const CaseResult& each : summary.results) {
    if (each.verdict != Verdict::fail) continue;
    const std::string id = escape_xml(each.info->id);
    fmt::format_to(std::back_inserter(out), "<li><a href=\"#{0}\">{0}</a> <span class=\"level\">{1}</span>: {2}</li>\n",
                   id, name_of(each.info->level), each.received.empty() ? "" : escape_xml(each.received.back()));
  }
  out += "</ul>\n";
}

class HtmlReport final : public Reporter {
 public:
  explicit HtmlReport(std::FILE* out) : out_(out) {}
  void end(const Summary& summary) override {
    fmt::print(out_, "{}", html_page(summary));
    std::fflush(out_);
  }

 private:
  std::FILE* const out_;
};

}  // namespace

std::string html_page(const Summary& summary) {
  const Subject& subject = summary.subject;
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<title>{0} against {1}</title><style>{2}</style></head>\n<body><h1>{0} against {1}</h1>\n"
      "<p class=\"about\">Version {3} · {4} · {5} cases in {6:.1f} s</p>\n",
      escape_xml(subject.tester), escape_xml(subject.peer), kStyle, escape_xml(subject.version),
      escape_xml(subject.date), summary.results.size(), static_cast<double>(summary.took.count()) / 1000.0);
  out += conclusion(summary);
  write_totals(out, summary);
  write_failures(out, summary);
  std::string_view family;
  for (const CaseResult& each : summary.results) {
    if (each.info->family() != family) {
      family = each.info->family();
      out += "<h2>" + escape_xml(family) + "</h2>\n";
    }
    write_case(out, each);
  }
  return out + "</body></html>\n";
}

std::unique_ptr<Reporter> make_html_report(std::FILE* out) { return std::make_unique<HtmlReport>(out); }

}  // namespace rpcrdma::conform
