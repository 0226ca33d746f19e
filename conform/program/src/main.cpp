// SPDX-License-Identifier: BSD-3-Clause
// rpcrdma-conform: tests peers of any make against the rules of RPC-over-RDMA and iWARP.

#include <CLI/CLI.hpp>
#include <csignal>

#include "captured.hpp"
#include "command.hpp"
#include "rpcrdma/base/print_error.hpp"
#include "rpcrdma/cli/help.hpp"
#include "rpcrdma/cli/limits.hpp"
#include "rpcrdma/fabric/open/open.hpp"

namespace {

using namespace rpcrdma;
using namespace rpcrdma::conform;

constexpr const char* kAbout =
    "Tests a peer of any make against the rules of RPC-over-RDMA: sends messages that\n"
    "are right, unusual or wrong, and compares the peer's behaviour with the\n"
    "specifications.";

std::vector<cli::Section> help_sections() {
  return {{"Levels",
           {{"MUST", "the peer breaks a rule of a specification if it fails the case"},
            {"SHOULD", "the peer departs from a recommendation"},
            {"ROBUSTNESS", "no rule covers the situation; a good implementation copes with it"}}},
          {"Verdicts",
           {{"pass, fail", ""},
            {"skip", "the case does not apply to this peer"},
            {"known", "failed, but --known lists it"}}},
          capture::help_section_of_capture(),
          {"Examples",
           {{"rpcrdma-conform server --export /data iwarp@192.0.2.1:20049",
             "all cases, against the server's export /data, over the iWARP stack on TCP"},
            {"rpcrdma-conform server --program null --only 'header/*' 192.0.2.1:20049",
             "the cases of one family that need no file system"},
            {"rpcrdma-conform client --listen 127.0.0.1:0 -- rpcrdma-nfs get -r {url} {dir}",
             "a copy from a server that misbehaves, in another way each time"},
            {"rpcrdma-conform iwarp 192.0.2.1:20049", "the MPA, DDP and RDMAP below the server"}}}};
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{kAbout, kProgram};
  app.set_version_flag("--version", "rpcrdma-conform " RPCRDMA_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  const std::vector<Command> commands{add_server_command(app), add_client_command(app), add_iwarp_command(app)};
  cli::finish(app, help_sections());
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  for (const Command& command : commands)
    if (command.app->parsed()) return command.run();
  return kUsageError;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  // SIGUSR2 stops and starts the capture of --capture. Without --capture, SIGUSR2 must not end the process.
  std::signal(SIGUSR2, SIG_IGN);
  cli::raise_descriptor_limit();
  fabric::raise_locked_memory_limit();
  try {
    return parse_and_run(argc, argv);
  } catch (const UsageError& error) {
    print_error("rpcrdma-conform: {} (see rpcrdma-conform --help)\n", error.what());
    return kUsageError;
  } catch (const std::exception& error) {
    print_error("rpcrdma-conform: {}\n", error.what());
    return kUnreachable;
  }
}
