// SPDX-License-Identifier: BSD-3-Clause
// rpcrdma-bench: this library and its peers in turn (A B A B ...), medians, a table or JSON.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "raw_tcp.hpp"
#include "report.hpp"
#include "rpcrdma_subject.hpp"
#include "tirpc_tcp.hpp"

namespace {

using namespace rpcrdma::bench;
namespace fabric = rpcrdma::fabric;

struct Options {
  bool json = false;
  bool quick = false;
  std::string fabric = "auto";
  std::vector<std::string> cases;
};

/// The status to end with, or -1.
int parse(int argc, char** argv, Options& options) {
  std::vector<std::string> names;
  for (const CaseInfo& one : kCases) names.emplace_back(one.name);
  CLI::App app{
      "Measures this library beside its peers, interleaved in one run. A ratio is ours / peer, in the unit of the row.",
      "rpcrdma-bench"};
  app.add_flag("--json", options.json, "one JSON object a line instead of a table");
  app.add_flag("--quick", options.quick, "less time for each measurement; under a minute in all");
  app.add_option("--fabric", options.fabric, "auto, verbs or iwarp")
      ->type_name("NAME")
      ->check(CLI::IsMember({"auto", "verbs", "iwarp"}));
  app.add_option("CASE", options.cases, "what to measure; default: everything")->check(CLI::IsMember(names));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "rpcrdma-bench: {} (see rpcrdma-bench --help)\n", error.what());
    return 2;
  }
  return -1;
}

bool wanted(const Options& options, const CaseInfo& one) {
  return options.cases.empty() || std::ranges::find(options.cases, one.name) != options.cases.end();
}

void measure(const Options& options) {
  constexpr int kRounds = 9;
  const std::chrono::milliseconds budget(options.quick ? 150 : 700);
  fabric::OpenOptions open;
  fabric::parse_provider(options.fabric, open.provider);
  // Servers are forked off first: none of them sees a client's memory or threads.
  const auto raw = make_raw_tcp();
  const auto tirpc = make_tirpc_tcp();
  const auto ours = make_rpcrdma(open);
  std::vector<Row> rows;
  for (const CaseInfo& one : kCases) {
    if (!wanted(options, one)) continue;
    for (const Row& row : compare(one.which, *ours, {raw.get(), tirpc.get()}, kRounds, budget)) {
      if (options.json) print_json(row);
      rows.push_back(row);
    }
  }
  if (!options.json) print_table(rows);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const int status = parse(argc, argv, options); status >= 0) return status;
  try {
    measure(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rpcrdma-bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
