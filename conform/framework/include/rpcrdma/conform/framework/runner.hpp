// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Runs the cases of a suite one after the other, and the health check of the peer after each one.
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rpcrdma/conform/framework/case.hpp"
#include "rpcrdma/conform/framework/selection.hpp"

namespace rpcrdma::conform {

/// The outcome of a case.
enum class Verdict {
  pass,
  fail,
  skip,   ///< the case does not apply to this peer
  known,  ///< the case failed, and is listed as a known divergence
};

/// "pass", "fail", "skip", "known".
std::string_view name_of(Verdict verdict) noexcept;

/// A case that has run. `info` belongs to the suite.
struct CaseResult {
  const CaseInfo* info = nullptr;
  Verdict verdict = Verdict::pass;
  std::vector<std::string> sent;      ///< lines beyond CaseInfo::sends
  std::vector<std::string> received;  ///< lines; if the case failed, the last line tells why
  std::string reason;                 ///< why it was skipped, or why the failure is accepted
  bool stale = false;                 ///< the case passed, although it is listed as a known divergence
  std::chrono::milliseconds took{0};
};

/// The tester and its peer, for the reports.
struct Subject {
  std::string tester;   ///< "rpcrdma-conform server"
  std::string version;  ///< version of the tester
  std::string peer;     ///< "iwarp@192.0.2.1:20049"
  std::string date;     ///< ISO 8601
};

/// All that a run found.
struct Summary {
  Subject subject;
  std::vector<CaseResult> results;
  std::size_t selected = 0;  ///< cases that were to run
  std::string lost;          ///< if the last HealthCheck failed and ended the run: its error message; else empty
  std::chrono::milliseconds took{0};

  std::size_t count(Level level, Verdict verdict) const noexcept;
  std::size_t count(Verdict verdict) const noexcept;
  /// 0: no MUST failed; 1: at least one MUST failed; 3: the peer stopped serving.
  int exit_status() const noexcept;
};

/// Follows a run. The default functions do nothing.
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void begin(const Subject&, std::size_t /*selected*/) {}
  virtual void done(const CaseResult&) {}
  virtual void end(const Summary&) {}
};

/// Makes an ordinary call. Returns an error message; an empty string means that the peer is healthy.
using HealthCheck = std::function<std::string()>;

/// The cases to run, and the data for the reports.
struct RunOptions {
  Selection only;
  Known known;
  Subject subject;
};

/// Runs the selected cases in order, and calls `healthy` after each case. If `healthy` returns an error message, the
/// case fails and the run ends, because further cases would only report the same fault.
Summary run(const Suite& suite, const RunOptions& options, const HealthCheck& healthy,
            const std::vector<std::unique_ptr<Reporter>>& reporters);

}  // namespace rpcrdma::conform
