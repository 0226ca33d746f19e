// SPDX-License-Identifier: BSD-3-Clause
#include <CLI/CLI.hpp>

#include "command.hpp"
#include "rpcrdma/cli/endpoint.hpp"
#include "rpcrdma/conform/iwarp/tester.hpp"

namespace rpcrdma::conform {
namespace {

struct IwarpWords {
  std::string peer;
  double pause = 0, patience = 10, stall = 60;
  RunWords run;
  IwarpOptions options;
};

int run_iwarp(IwarpWords& words) {
  const auto time = [](double seconds) { return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)); };
  const auto endpoint = cli::parse_endpoint(words.peer);
  if ((!endpoint || endpoint->port() == 0) && !words.run.list)
    throw UsageError(words.peer.empty() ? "RESPONDER is required" : "not ADDR:PORT: " + words.peer);
  if (endpoint) words.options.peer = *endpoint;
  words.options.pause = time(words.pause);
  words.options.patience = time(words.patience);
  words.options.stall = time(words.stall);
  IwarpTester tester(words.options);
  const Subject subject{"rpcrdma-conform iwarp", RPCRDMA_VERSION, words.peer, {}};
  const HealthCheck healthy = [&] { return tester.check_health(); };
  return run_suite(tester.suite(), subject, words.run, healthy, healthy);
}

}  // namespace

Command add_iwarp_command(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("iwarp", "Test an iWARP responder: MPA, DDP and RDMAP");
  const auto words = std::make_shared<IwarpWords>();
  command->footer("rpcrdma-conform iwarp --html report.html 192.0.2.1:20049");
  command->add_option("RESPONDER", words->peer, "ADDR:PORT, where an RPC program is served")->type_name("");
  command->add_option("--null-program", words->options.program, "Number of the program whose NULL is called")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--null-version", words->options.version, "Version of that program")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--enhanced", words->options.enhanced,
                    "Set connections up by enhanced Requests (RFC 6581), which Linux's server requires");
  command->add_option("--pause", words->pause, "How long to wait after a Reply; siw may not read what follows at once")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 60.0));
  command->add_option("--patience", words->patience, "How long to wait for an answer")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0));
  command
      ->add_option("--stall", words->stall, "How long the responder may keep a connection that is silent during set-up")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0));
  add_run_options(*command, words->run);
  return {command, [words] { return run_iwarp(*words); }};
}

}  // namespace rpcrdma::conform
