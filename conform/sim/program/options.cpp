// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>

#include "rpcrdma/base/print_error.hpp"
#include "rpcrdma/cli/help.hpp"

namespace rpcrdma::sim {
namespace {

constexpr const char* kAbout =
    "Plays clients and a server in one thread, on simulated time and an RDMA fabric in\n"
    "memory, and causes faults. A seed determines all that happens. Checks that calls\n"
    "complete once, that memory is not exposed too long, and that nothing is lost.";

/// The words of the command line, not yet interpreted.
struct Words {
  std::string faults, log_level = "off";
  std::uint32_t operations = 0;
};

std::vector<cli::Section> help_sections() {
  return {{"Examples",
           {{"rpcrdma-sim --seeds 20000", "the first 20,000 seeds"},
            {"rpcrdma-sim --liveness --seeds 1000", "every operation must succeed once the faults have ended"},
            {"rpcrdma-sim --seed 7 --trace", "print the events of seed 7"},
            {"rpcrdma-sim --seed 7 --faults 2,3 --operations 4",
             "replay a part of seed 7, as the report of a failure suggests"}}}};
}

std::optional<std::vector<std::uint32_t>> parse_numbers(std::string_view text) {
  std::vector<std::uint32_t> out;
  if (text == "none") return out;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;; ++at) {
    const auto [next, failed] = std::from_chars(at, end, out.emplace_back());
    if (failed != std::errc() || (next != end && *next != ',')) return std::nullopt;
    if (next == end) return out;
    at = next;
  }
}

}  // namespace

std::optional<HuntOptions> parse_options(int argc, const char* const* argv, int& status) {
  CLI::App app{kAbout, "rpcrdma-sim"};
  Words words;
  HuntOptions options;
  app.set_version_flag("--version", "rpcrdma-sim " RPCRDMA_VERSION, "Print the version and exit");
  app.add_option("--seed", options.seed, "The first seed")->type_name("N")->capture_default_str();
  app.add_option("--seeds", options.seeds, "How many seeds, one after the other")
      ->type_name("COUNT")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--liveness", options.liveness,
               "Only faults of the network, of processes and of devices, which end; every operation must then succeed");
  app.add_option("--failures", options.failures, "Stop after this many seeds have failed")
      ->type_name("COUNT")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--trace", options.run.trace, "Print the events, one in each line");
  app.add_option("--faults", words.faults, "Keep only these faults of the script, such as 2,5; or none")
      ->type_name("LIST");
  CLI::Option* const operations =
      app.add_option("--operations", words.operations, "Operations of each client, instead of the seed's number")
          ->type_name("COUNT");
  bool keep = false;
  app.add_flag("--no-shrink", keep, "Do not look for a shorter script of a seed that fails");
  app.add_option("--log-level", words.log_level, "What the library logs to standard error")
      ->type_name("trace|debug|info|warn|error|off")
      ->capture_default_str();
  cli::finish(app, help_sections());
  try {
    app.parse(argc, argv);
    if (!words.faults.empty() && !(options.faults = parse_numbers(words.faults)))
      throw CLI::ValidationError("--faults", "not a list of numbers: " + words.faults);
    if (!parse_log_level(words.log_level, options.run.log))
      throw CLI::ValidationError("--log-level", "not a level: " + words.log_level);
  } catch (const CLI::Success& help) {
    status = app.exit(help);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    print_error("rpcrdma-sim: {} (see rpcrdma-sim --help)\n", error.what());
    status = 2;
    return std::nullopt;
  }
  options.shrink = !keep;
  if (operations->count() != 0) options.operations = words.operations;
  return options;
}

}  // namespace rpcrdma::sim
