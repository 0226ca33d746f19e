// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/conform/framework/runner.hpp"

#include <algorithm>
#include <exception>

namespace rpcrdma::conform {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
}

CaseResult run_case(const Case& each) {
  CaseResult out;
  out.info = &each.info;
  Record record;
  std::string cause;
  const Clock::time_point start = Clock::now();
  try {
    each.run(record);
  } catch (const CaseSkipped& skipped) {
    out.verdict = Verdict::skip;
    out.reason = skipped.what();
  } catch (const std::exception& failed) {
    out.verdict = Verdict::fail;
    cause = failed.what();
  }
  out.took = since(start);
  out.sent = record.sent();
  out.received = record.received();
  if (out.verdict == Verdict::fail) out.received.push_back(cause);
  return out;
}

void apply_known(const Known& known, CaseResult& result) {
  const Known::Entry* const entry = known.find(result.info->id);
  if (!entry) return;
  if (result.verdict == Verdict::fail) {
    result.verdict = Verdict::known;
    result.reason = entry->reason;
  } else if (result.verdict == Verdict::pass) {
    result.stale = true;
  }
}

}  // namespace

std::string_view name_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::pass: return "pass";
    case Verdict::fail: return "fail";
    case Verdict::skip: return "skip";
    case Verdict::known: return "known";
  }
  return "";
}

std::size_t Summary::count(Level level, Verdict verdict) const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(
      results, [&](const CaseResult& each) { return each.info->level == level && each.verdict == verdict; }));
}

std::size_t Summary::count(Verdict verdict) const noexcept {
  return static_cast<std::size_t>(std::ranges::count(results, verdict, &CaseResult::verdict));
}

int Summary::exit_status() const noexcept {
  if (!lost.empty()) return 3;
  return count(Level::must, Verdict::fail) == 0 ? 0 : 1;
}

Summary run(const Suite& suite, const RunOptions& options, const HealthCheck& healthy,
            const std::vector<std::unique_ptr<Reporter>>& reporters) {
  std::vector<const Case*> selected;
  for (const Case& each : suite.cases())
    if (options.only.matches(each.info.id)) selected.push_back(&each);

  Summary summary;
  summary.subject = options.subject;
  summary.selected = selected.size();
  for (const auto& reporter : reporters) reporter->begin(summary.subject, selected.size());
  const Clock::time_point start = Clock::now();
  for (const Case* each : selected) {
    CaseResult result = run_case(*each);
    summary.lost = healthy();
    apply_known(options.known, result);
    if (!summary.lost.empty()) {
      result.verdict = Verdict::fail;
      result.received.push_back("afterwards: " + summary.lost);
    }
    for (const auto& reporter : reporters) reporter->done(result);
    summary.results.push_back(std::move(result));
    if (!summary.lost.empty()) break;
  }
  summary.took = since(start);
  for (const auto& reporter : reporters) reporter->end(summary);
  return summary;
}

}  // namespace rpcrdma::conform
