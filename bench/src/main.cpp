// SPDX-License-Identifier: BSD-3-Clause
// rpcrdma-bench: measures this library and its peers in turn (A B A B ...) and prints medians as a table or as JSON.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <set>

#include "captured_subject.hpp"
#include "counters.hpp"
#include "embed_subject.hpp"
#include "libnfs_subject.hpp"
#include "local_subject.hpp"
#include "nfs_subject.hpp"
#include "placement.hpp"
#include "plan.hpp"
#include "raw_asio.hpp"
#include "raw_tcp.hpp"
#include "receive_memory.hpp"
#include "repeat.hpp"
#include "report.hpp"
#include "rpcrdma/cli/help.hpp"
#include "rpcrdma/cli/limits.hpp"
#include "rpcrdma/cli/poll.hpp"
#include "rpcrdma/fabric/open/open.hpp"
#include "rpcrdma_subject.hpp"
#include "tirpc_tcp.hpp"
#include "wakeup.hpp"

namespace {

using namespace rpcrdma::bench;
namespace fabric = rpcrdma::fabric;
namespace transport = rpcrdma::transport;

constexpr std::uint32_t kIdleConnections = 1000;
constexpr std::uint32_t kManyConnections = 10'000;
// An inline threshold, in bytes, that has room for the reply to a READ of 64 KiB.
constexpr std::uint32_t kLargeThreshold = 68 << 10;

struct Options {
  bool json = false;
  bool quick = false;
  bool sweep = false;
  bool counters = false;
  int repeat = 1;
  std::uint32_t receive_memory = 0;
  double alone = 0;
  std::string fabric = "auto";
  std::string version = "1";
  std::string placement = "apart";
  rpcrdma::Polling poll;
  std::vector<std::string> cases;
};

std::vector<std::string> names_of(const std::vector<Comparison>& plan) {
  std::vector<std::string> names;
  names.reserve(plan.size());
  for (const Comparison& one : plan) names.push_back(one.which.name);
  return names;
}

/// Parses the command line. Returns the exit status, or -1 to continue.
int parse(int argc, char** argv, Options& options) {
  CLI::App app{
      "Measures this library and its peers in turn, in one run, and prints the medians.\n"
      "A ratio is ours / peer, in the unit of the row.",
      "rpcrdma-bench"};
  app.set_version_flag("--version", "rpcrdma-bench " RPCRDMA_VERSION, "Print the version and exit");
  app.add_flag("--json", options.json, "One JSON object per line instead of a table");
  app.add_flag("--quick", options.quick, "Shorter measurements: some three minutes in all");
  app.add_flag("--sweep", options.sweep, "Measure series of depths, sizes and numbers of connections, not the cases");
  CLI::Option* counters =
      app.add_flag("--counters", options.counters,
                   "Also print the cost of an operation: processor time, system calls, allocations and more");
  CLI::Option* repeat = app.add_option("--repeat", options.repeat,
                                       "Measure N times, with new servers and clients each time; print the spread")
                            ->type_name("N")
                            ->capture_default_str()
                            ->check(CLI::Range(1, 1000))
                            ->excludes(counters);
  app.add_option("--receive-memory", options.receive_memory,
                 "Print only the memory that a server registers for the Receives of N connections")
      ->type_name("N")
      ->check(CLI::Range(1, 4000))
      ->excludes(repeat);
  app.add_option("--alone", options.alone,
                 "Run only our side of each case for this time, without results: for profilers")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 1e6))
      ->excludes(repeat);
  app.add_option("--fabric", options.fabric, "verbs is an RDMA device, iwarp the userspace stack on TCP")
      ->type_name("NAME")
      ->capture_default_str()
      ->check(CLI::IsMember(fabric::provider_names()));
  app.add_option("--rdma-version", options.version, "Version of RPC-over-RDMA in cases that name none")
      ->type_name("NAME")
      ->capture_default_str()
      ->check(CLI::IsMember(transport::version_names()));
  app.add_option("--placement", options.placement,
                 "Processors of clients and servers: one each, as on two hosts; one for both; or any")
      ->type_name("NAME")
      ->capture_default_str()
      ->check(CLI::IsMember({"apart", "together", "free"}));
  rpcrdma::cli::add_poll_option(app, options.poll);
  app.add_option("CASE", options.cases, "Case to measure")
      ->default_str("all cases")
      ->check(CLI::IsMember(names_of(standard_plan())));
  rpcrdma::cli::finish(app, {{"Examples",
                              {{"rpcrdma-bench --quick null_rtt read_1m_qd8", "two cases, in a few seconds"},
                               {"rpcrdma-bench --json > figures.json", "all cases, for a program to read"}}}});
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

std::vector<Comparison> plan_for(const Options& options) {
  std::vector<Comparison> plan = options.sweep ? sweep_plan() : standard_plan();
  if (options.quick) {
    for (Comparison& one : plan) {
      one.which.files /= 10;
      for (Peer& peer : one.peers) peer.which.files /= 10;
    }
  }
  std::erase_if(plan, [&](const Comparison& one) {
    return !options.cases.empty() && std::ranges::find(options.cases, one.which.name) == options.cases.end();
  });
  return plan;
}

using Subjects = std::array<std::unique_ptr<Subject>, kSubjects>;

std::unique_ptr<Subject> make_spinning(Placement placement) {
  if (!are_apart(placement)) throw Unavailable("it needs a processor for each side (--placement apart)");
  return make_raw_tcp_spin();
}

std::unique_ptr<Subject> make(Who who, const Setting& setting, Placement placement) {
  using enum transport::VersionChoice;
  Setting checked = setting;
  checked.open.crc = fabric::CrcPolicy::on;
  Setting large = setting.with(two, two);
  large.threshold = kLargeThreshold;
  Setting scraped = setting;
  scraped.statistics = true;
  switch (who) {
    case Who::raw_tcp: return make_raw_tcp();
    case Who::raw_tcp_spin: return make_spinning(placement);
    case Who::raw_asio: return make_raw_asio();
    case Who::tirpc_tcp: return make_tirpc_tcp();
    case Who::tirpc_door: return make_tirpc_door(setting, false);
    case Who::tirpc_door_stable: return make_tirpc_door(setting, true);
    case Who::hello: return make_hello(setting);
    case Who::rpcrdma: return make_rpcrdma(setting);
    case Who::rpcrdma_crc: return make_rpcrdma(checked);
    case Who::rpcrdma_crowd: return make_rpcrdma(setting, kIdleConnections);
    case Who::rpcrdma_two: return make_rpcrdma(setting.with(two, two));
    case Who::rpcrdma_two_large: return make_rpcrdma(large);
    case Who::rpcrdma_fallback: return make_rpcrdma(setting.with(automatic, one));
    case Who::server_captured: return make_captured(setting, CapturedSide::server);
    case Who::client_captured: return make_captured(setting, CapturedSide::client);
    case Who::nfs_memory: return make_nfs(setting, ExportKind::memory);
    case Who::nfs_scraped: return make_nfs(scraped, ExportKind::memory);
    case Who::nfs_posix: return make_nfs(setting, ExportKind::directory);
    case Who::nfs_posix_async: return make_nfs(setting, ExportKind::directory_async);
    case Who::local: return make_local(false);
    case Who::local_durable: return make_local(true);
    case Who::rpcrdma_many: return make_rpcrdma(setting, kManyConnections);
    case Who::libnfs: return make_libnfs(setting, TcpServer::ours);
    case Who::ganesha: return make_libnfs(setting, TcpServer::ganesha);
  }
  return nullptr;
}

/// Makes the subjects that the plan needs. Call it before the first measurement, because a server that is forked later
/// would inherit the connections of clients. Removes from the plan the comparisons and peers whose subjects cannot run
/// on this host or with these options. Prints these subjects unless `silent`.
Subjects subjects_for(std::vector<Comparison>& plan, const Setting& setting, const Options& options, bool silent) {
  const Placement placement = parse_placement(options.placement);
  std::set<Who> needed;
  for (const Comparison& one : plan) {
    needed.insert(one.ours);
    for (const Peer& peer : one.peers) needed.insert(peer.who);
  }
  Subjects subjects;
  std::set<Who> missing;
  for (const Who who : needed) {
    try {
      subjects[static_cast<std::size_t>(who)] = make(who, setting, placement);
    } catch (const Unavailable& why) {
      missing.insert(who);
      if (!silent) print_left_out(name_of(who), why.what(), options.json);
    }
  }
  for (Comparison& one : plan) std::erase_if(one.peers, [&](const Peer& peer) { return missing.contains(peer.who); });
  std::erase_if(plan, [&](const Comparison& one) { return one.peers.empty() || missing.contains(one.ours); });
  return subjects;
}

void add_costs(const Contender& ours, const std::vector<Contender>& peers, std::chrono::milliseconds budget, bool json,
               std::vector<Cost>& costs) {
  std::vector<Contender> all{ours};
  all.insert(all.end(), peers.begin(), peers.end());
  for (const Contender& one : all) {
    for (const Cost& cost : count(one, ours.which.name, budget)) {
      if (json) print_json(cost);
      costs.push_back(cost);
    }
  }
}

void run_alone(const Options& options, const Setting& setting) {
  const Placement placement = parse_placement(options.placement);
  for (const Comparison& one : plan_for(options)) {
    place_servers(placement);
    const std::unique_ptr<Subject> subject = make(one.ours, setting, placement);
    place_clients(placement);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.alone);
    while (std::chrono::steady_clock::now() < end) subject->run(one.which, std::chrono::milliseconds(500));
  }
}

/// Runs all comparisons of the plan once, and returns the rows. With --json, prints each row as soon as it has been
/// measured. Otherwise, if the program runs the plan only once, prints all rows as a table at the end. Costs are
/// printed in the same way.
std::vector<Row> run_plan(const Options& options, const Setting& setting, bool first) {
  const int rounds = options.quick ? 7 : 9;
  const std::chrono::milliseconds budget(options.quick ? 100 : 500);
  std::vector<Comparison> plan = plan_for(options);
  const Placement placement = parse_placement(options.placement);
  place_servers(placement);
  const Subjects subjects = subjects_for(plan, setting, options, !first);
  place_clients(placement);
  const auto subject = [&](Who who) { return subjects[static_cast<std::size_t>(who)].get(); };
  std::vector<Row> rows;
  std::vector<Cost> costs;
  for (const Comparison& one : plan) {
    const Contender ours{"ours", subject(one.ours), one.which};
    std::vector<Contender> peers;
    for (const Peer& peer : one.peers) peers.push_back({peer.name, subject(peer.who), peer.which});
    const int limit = one.which.rounds == 0 ? rounds : options.quick ? 1 : one.which.rounds;
    for (const Row& row : compare(ours, peers, limit, budget)) {
      if (options.json) print_json(row);
      rows.push_back(row);
    }
    if (options.counters) add_costs(ours, peers, budget, options.json, costs);
  }
  if (!options.json && options.repeat == 1) {
    print_table(rows);
    if (options.counters) print_table(costs);
  }
  return rows;
}

void measure(const Options& options) {
  Setting setting;
  setting.poll = options.poll;
  fabric::parse_provider(options.fabric, setting.open.provider);
  setting.client = setting.server = transport::parse_version(options.version).value_or(setting.client);
  if (options.receive_memory != 0) return print_receive_memory(setting, options.receive_memory);
  if (options.alone > 0) return run_alone(options, setting);
  const Placement placement = parse_placement(options.placement);
  print_machine(measure_wakeup(placement), placement, options.json);
  if (options.repeat == 1) {
    run_plan(options, setting, true);
    return;
  }
  std::vector<std::vector<Row>> runs;
  for (int i = 0; i < options.repeat; ++i)
    runs.push_back(run_apart([&] { return run_plan(options, setting, i == 0); }));
  print_summary(runs, options.json);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const int status = parse(argc, argv, options); status >= 0) return status;
  std::signal(SIGPIPE, SIG_IGN);
  rpcrdma::cli::raise_descriptor_limit();
  fabric::raise_locked_memory_limit();
  try {
    measure(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rpcrdma-bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
