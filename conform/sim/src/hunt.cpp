// SPDX-License-Identifier: BSD-3-Clause
// Operation: a child plays seeds until one fails, and leaves the outcome in shared memory; another child plays the
// following seeds. Each attempt to shorten a script has a child of its own.
// Error handling: a child that is ended by a signal or by a sanitizer counts as a violation of the seed that it plays.
#include "hunt.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>

namespace rpcrdma::sim {
namespace {

constexpr unsigned kMostSeconds = 600;  // limit of real time for one seed, in case a handler never returns
constexpr int kFailed = 3;

/// The results of the seeds that have been played, in memory that this process shares with its children. A child adds
/// the results of its seeds. If the child dies, this process can still read them.
struct Report {
  std::uint64_t seed = 0;  // the seed being played
  std::uint64_t played = 0;
  std::uint64_t steps = 0;
  std::uint64_t frames = 0;
  std::uint64_t calls = 0;
  std::uint64_t hash = 0;
  std::uint64_t step = 0;
  std::array<char, 100> invariant{};
  std::array<char, 400> what{};
};

template <std::size_t N>
void copy(const std::string& from, std::array<char, N>& to) {
  const std::size_t size = std::min(from.size(), N - 1);
  std::memcpy(to.data(), from.data(), size);
  to[size] = '\0';
}

struct Unmap {
  void operator()(Report* report) const noexcept { ::munmap(report, sizeof(Report)); }
};
using SharedReport = std::unique_ptr<Report, Unmap>;

SharedReport make_report() {
  void* memory = ::mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  return SharedReport(new (memory) Report());
}

void add(const Outcome& outcome, Report& report) {
  report.steps += outcome.steps;
  report.frames += outcome.frames;
  report.calls += outcome.calls;
  report.hash = hash_of({reinterpret_cast<const char*>(&outcome.hash), sizeof outcome.hash}, report.hash);
  if (!outcome.violation) return;
  copy(outcome.violation->invariant, report.invariant);
  copy(outcome.violation->what, report.what);
  report.step = outcome.violation->step;
}

/// Runs `work` in a child process. Returns false if `work` returned false, or if a signal or a sanitizer ended the
/// child.
template <class Work>
bool in_child(Report& report, bool silent, Work work) {
  report.invariant[0] = report.what[0] = '\0';
  report.step = 0;
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    if (silent) {
      const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      ::dup2(nothing, STDOUT_FILENO);
      ::dup2(nothing, STDERR_FILENO);
    }
    if (work()) std::exit(EXIT_SUCCESS);  // exit() runs the leak check of a sanitizer
    std::fflush(stdout);
    ::_exit(kFailed);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) return true;
  if (report.invariant[0] == '\0') {
    copy("the program does not crash", report.invariant);
    copy(WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                             : fmt::format("exit status {}", WEXITSTATUS(status)),
         report.what);
  }
  return false;
}

Plan plan_of(const HuntOptions& options, std::uint64_t seed) {
  Plan plan = make_plan(seed, options.liveness);
  if (options.operations) plan.setup.operations = *options.operations;
  if (options.faults)
    std::erase_if(plan.faults, [&](const Fault& fault) {
      return std::ranges::find(*options.faults, fault.number) == options.faults->end();
    });
  return plan;
}

bool play_all(const HuntOptions& options, std::uint64_t first, Report& report) {
  for (std::uint64_t seed = first; seed != options.seed + options.seeds; ++seed) {
    report.seed = seed;
    ++report.played;
    ::alarm(kMostSeconds);
    const Outcome outcome = play(plan_of(options, seed), options.run);
    add(outcome, report);
    if (outcome.violation) return false;
  }
  ::alarm(0);
  return true;
}

bool fails(const Plan& plan, Report& report, const std::string& invariant) {
  const bool passed = in_child(report, true, [&] {
    ::alarm(kMostSeconds);
    const Outcome outcome = play(plan, {});
    add(outcome, report);
    return !outcome.violation;
  });
  return !passed && invariant == report.invariant.data();
}

/// Returns a plan that still breaks `invariant`, and is smaller if possible. First removes, one by one, the faults
/// without which the plan still breaks it. Then looks for the smallest number of operations that still breaks it.
Plan shrink(Plan plan, Report& report, const std::string& invariant) {
  const auto accept = [&](Plan candidate) {
    if (!fails(candidate, report, invariant)) return false;
    plan = std::move(candidate);
    return true;
  };
  for (std::size_t at = plan.faults.size(); at-- > 0;) {
    Plan shorter = plan;
    shorter.faults.erase(shorter.faults.begin() + static_cast<std::ptrdiff_t>(at));
    accept(std::move(shorter));
  }
  for (std::uint32_t operations = 1; operations < plan.setup.operations; ++operations) {
    Plan shorter = plan;
    shorter.setup.operations = operations;
    if (accept(std::move(shorter))) break;
  }
  return plan;
}

void print_script(const Plan& plan) {
  std::string numbers;
  for (const Fault& fault : plan.faults) {
    fmt::print("  {}\n", fault.text());
    numbers += fmt::format("{}{}", numbers.empty() ? "" : ",", fault.number);
  }
  if (plan.faults.empty()) fmt::print("  no faults\n");
  fmt::print("  replay: rpcrdma-sim --seed {}{} --faults {} --operations {} --trace\n", plan.seed,
             plan.liveness ? " --liveness" : "", numbers.empty() ? "none" : numbers, plan.setup.operations);
}

void report_failure(const HuntOptions& options, const Report& report) {
  const std::string invariant = report.invariant.data();
  // A child that has crashed has not told the step.
  fmt::print("seed {}: broken{}: {}: {}\n", report.seed,
             report.step != 0 ? fmt::format(" at step {}", report.step) : std::string(), invariant, report.what.data());
  if (!options.shrink) return;
  const SharedReport attempt = make_report();
  print_script(shrink(plan_of(options, report.seed), *attempt, invariant));
}

}  // namespace

std::uint64_t hunt(const HuntOptions& options) {
  // A child that crashes does not flush its buffer, which would hold the last events of the trace.
  if (options.run.trace) std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  const SharedReport report = make_report();
  std::uint64_t failures = 0;
  for (std::uint64_t first = options.seed; first != options.seed + options.seeds; first = report->seed + 1) {
    if (in_child(*report, false, [&] { return play_all(options, first, *report); })) break;
    report_failure(options, *report);
    if (++failures == options.failures) break;
  }
  fmt::print("{} seeds from {}: {} failed; {} steps, {} frames, {} calls; trace {:016x}\n", report->played,
             options.seed, failures, report->steps, report->frames, report->calls, report->hash);
  return failures;
}

}  // namespace rpcrdma::sim
