// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Each subcommand of rpcrdma-conform is a tester.
#include <functional>
#include <string>
#include <vector>

#include "rpcrdma/conform/framework/runner.hpp"

namespace CLI {
class App;
}

namespace rpcrdma::conform {

constexpr const char* kProgram = "rpcrdma-conform";
constexpr int kUsageError = 2;
constexpr int kUnreachable = 3;

/// A wrong command line; what() gives the reason.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;  ///< returns the exit status
};

/// The options that all testers share: the cases to list or run, known divergences, and the files for the reports.
struct RunWords {
  bool list = false;
  std::vector<std::string> only;
  std::string known, tap, junit, html;
};

void add_run_options(CLI::App& command, RunWords& words);

/// Lists or runs the selected cases of `suite`, and returns the exit status of the program. Calls `reach` before the
/// first case and `healthy` after each case. Each of the two functions returns an error message, which ends the run, or
/// an empty string. Throws UsageError.
int run_suite(const Suite& suite, Subject subject, const RunWords& words, const HealthCheck& reach,
              const HealthCheck& healthy);

/// The testers.
Command add_server_command(CLI::App& app);
Command add_client_command(CLI::App& app);
Command add_iwarp_command(CLI::App& app);

}  // namespace rpcrdma::conform
