// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/sandbox/sandbox.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <cerrno>

#include "parts.hpp"

namespace rpcrdma::nfsd {
namespace {

/// Returns a refusal if `failed` is an error and the mode is `strict`. In other modes only logs the error.
Checked<void> judge(SandboxMode mode, const Log& log, std::string_view part, error_code failed) {
  if (!failed) return {};
  if (mode == SandboxMode::strict) return Refusal{fmt::format("--sandbox strict: {}: {}", part, failed.message())};
  log.warn("sandbox: {}: {}; serving without this part", part, failed.message());
  return {};
}

}  // namespace

std::optional<SandboxMode> parse_sandbox_mode(std::string_view word) noexcept {
  if (word == "off") return SandboxMode::off;
  if (word == "log") return SandboxMode::log;
  if (word == "on") return SandboxMode::on;
  if (word == "strict") return SandboxMode::strict;
  return std::nullopt;
}

Checked<void> enter_sandbox(SandboxMode mode, const SandboxNeeds& needs, const Log& log) {
  if (mode == SandboxMode::off) return {};
  const error_code kept = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? error_code() : error_of(errno);
  if (auto done = judge(mode, log, "no new privileges", kept); !done) return done;
  const error_code open = confine_to(needs, mode == SandboxMode::strict);
  // Many kernels have no Landlock, or a Landlock that cannot restrict TCP ports. Except in mode `strict`, a failure is
  // therefore logged at the level debug, not warn.
  if (open && mode != SandboxMode::strict)
    log.debug("sandbox: Landlock: {}; serving without this part", open.message());
  else if (auto done = judge(mode, log, "Landlock", open); !done)
    return done;
  if (auto done = judge(mode, log, "capabilities", reduce_capabilities(needs)); !done) return done;
  if (!filters_system_calls()) return {};
  return judge(mode, log, "filter of system calls", filter_system_calls(mode));
}

bool filters_system_calls() noexcept {
#ifdef RPCRDMA_SANITIZED
  return false;  // the run-time libraries of the sanitizers need system calls that the filter refuses, such as ptrace()
#else
  return true;
#endif
}

}  // namespace rpcrdma::nfsd
