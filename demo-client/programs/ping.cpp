// SPDX-License-Identifier: BSD-3-Clause
// rpcrdma-ping: round-trip times of NULL calls to an NFS server.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <ctime>
#include <sstream>

#include "rpcrdma/base/print_error.hpp"
#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/capture_option/capture_option.hpp"
#include "rpcrdma/cli/help.hpp"
#include "rpcrdma/cli/poll.hpp"
#include "rpcrdma/fabric/open/open.hpp"
#include "rpcrdma/nfs/client.hpp"
#include "rpcrdma/nfs/url.hpp"

namespace {

namespace asio = boost::asio;
using namespace rpcrdma;
using Clock = std::chrono::steady_clock;

struct Options {
  nfs::Url server;
  nfs::ClientOptions client;
  std::uint32_t count = 1000;
  double rate = 0;  ///< calls a second; 0: each call follows the previous reply
  Polling poll;
  std::optional<capture::CaptureOptions> capture;
  bool characteristics = false;
};

void end_by_signal(int number) { _exit(128 + number); }

int usage_error(const std::string& what) {
  print_error("rpcrdma-ping: {} (see rpcrdma-ping --help)\n", what);
  return 2;
}

std::vector<cli::Section> help_sections() {
  return {{"Output",
           {{"min=X median=Y p99=Z us", "the last line: microseconds"},
            {"rate=R processor=X% ...",
             "with --rate: calls a second, processor time of this program, its polls for work and its sleeps"},
            {"version N, ...", "with --characteristics: the version of RPC-over-RDMA, and the state of the exchange"}}},
          capture::help_section_of_capture(),
          {"Examples",
           {{"rpcrdma-ping --count 10000 server.example:20049", "10,000 calls, one after the other"},
            {"rpcrdma-ping --rate 1000 server.example", "one call each millisecond"},
            {"rpcrdma-ping --fabric iwarp localhost", "over TCP, even if an RDMA device has that address"},
            {"rpcrdma-ping --rdma-version auto --characteristics localhost",
             "also prints the characteristics of both sides"}}}};
}

/// Returns the exit status if the program must exit now, else -1.
int parse(int argc, char** argv, Options& options) {
  std::string host, fabric = "auto", version = "1", crc;
  double timeout = 10;
  CLI::App app{"Measures the round-trip time of NULL calls to an NFS server over RPC-over-RDMA.", "rpcrdma-ping"};
  app.add_option("--fabric", fabric, "verbs is an RDMA device, iwarp the userspace stack on TCP")
      ->type_name("NAME")
      ->capture_default_str()
      ->check(CLI::IsMember(fabric::provider_names()));
  app.add_option("--crc", crc, "iWARP CRCs")
      ->type_name("on|off")
      ->default_str("off between loopback addresses, else on")
      ->check(CLI::IsMember({"on", "off"}));
  app.add_option("--rdma-version", version, "Version of RPC-over-RDMA; auto offers 2, and uses 1 if the server lacks 2")
      ->type_name("NAME")
      ->capture_default_str()
      ->check(CLI::IsMember(transport::version_names()));
  app.add_option("--count", options.count, "Number of calls")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(1u, 100'000'000u));
  app.add_option("--rate", options.rate, "Calls a second")
      ->type_name("N")
      ->default_str("one after the other")
      ->check(CLI::Range(0.001, 1e6));
  cli::add_poll_option(app, options.poll);
  capture::add_capture_option(app, options.capture);
  app.add_option("--timeout", timeout, "Time limit of a call")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 1e6));
  app.add_flag("--characteristics", options.characteristics, "Print the transport characteristics of both sides too");
  app.set_version_flag("--version", "rpcrdma-ping " RPCRDMA_VERSION, "Print the version and exit");
  app.add_option("HOST", host, "HOST[:PORT]; default port: 20049")->required()->type_name("");
  cli::finish(app, help_sections());
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what());
  }
  auto server = nfs::parse_host(host);
  if (!server) return usage_error(fmt::format("{}: {}", host, server.error().why));
  options.server = *server;
  fabric::parse_provider(fabric, options.client.fabric.provider);
  options.client.version = transport::parse_version(version).value_or(options.client.version);
  if (!crc.empty()) options.client.fabric.crc = crc == "on" ? fabric::CrcPolicy::on : fabric::CrcPolicy::off;
  options.client.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout * 1000));
  return -1;
}

/// The quantile `part` (0 to 1) of the sorted values.
double quantile(const std::vector<double>& sorted, double part) {
  const auto index = static_cast<std::size_t>(std::lround(part * static_cast<double>(sorted.size() - 1)));
  return sorted[index];
}

nfs::Task<std::vector<double>> measure(nfs::Client& client, const Options& options) {
  std::vector<double> times;
  times.reserve(options.count);
  asio::steady_timer next(co_await asio::this_coro::executor, Clock::now());
  for (std::uint32_t i = 0; i < options.count; ++i) {
    if (options.rate > 0) {
      next.expires_at(next.expiry() + std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 / options.rate)));
      co_await next.async_wait(asio::use_awaitable);
    }
    const Clock::time_point start = Clock::now();
    const Result<void> answered = co_await client.null();
    if (!answered) co_return answered.error();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  co_return times;
}

std::string why(const error_code& failed) {
  return failed == BaseError::deadline_exceeded ? "Connection timed out" : failed.message();
}

const char* text_of(transport::ExchangeState state) {
  using enum transport::ExchangeState;
  switch (state) {
    case none: return "no characteristics are exchanged";
    case negotiating: return "no characteristics have been exchanged";
    case announced: return "the server has announced no characteristics";
    case active: return "both sides have announced their characteristics";
    case refused: return "the server does not support characteristics";
  }
  return "";
}

const char* text_of(transport::BackwardSupport support) {
  using enum transport::BackwardSupport;
  switch (support) {
    case unknown: return "unknown";
    case none: return "none";
    case size_limited: return "short messages";
    case general: return "with chunks";
  }
  return "";
}

/// Prints the values that this side has announced, and the values that apply to the server: announced, inferred or
/// default ones.
void print(const transport::Characteristics& all) {
  fmt::print("version {}, {}\n", all.version, text_of(all.state));
  if (all.state == transport::ExchangeState::none) return;
  const auto row = [](const char* name, const auto& own, const auto& peer) {
    fmt::print("{:<30} {:>14}  {:>14}\n", name, own, peer);
  };
  const auto word = [](bool value) { return value ? "yes" : "no"; };
  row("", "client", "server");
  row("receive buffer size", all.own.receive_buffer_size, all.peer.receive_buffer_size);
  row("requester remote invalidation", word(all.own.requester_remote_invalidation),
      word(all.peer.requester_remote_invalidation));
  row("backward request support", text_of(all.own.backward_request_support),
      text_of(all.peer.backward_request_support));
}

double processor_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

/// Prints the rate of `count` calls in `seconds`, the processor load in percent, and the numbers of polls and sleeps.
void print(const Runner::Counters& before, const Runner::Counters& after, double seconds, double processor,
           double count) {
  fmt::print("rate={:.1f} processor={:.2f}% polls={} polls_found={} blocks={}\n", count / seconds,
             100 * processor / seconds, after.polls - before.polls, after.found - before.found,
             after.blocks - before.blocks);
}

/// Measures and prints; returns the exit status.
asio::awaitable<int> ping(nfs::Client& client, const Options& options, const Runner& runner) {
  std::ostringstream server;
  server << client.server();
  fmt::print("{} over {}, {} NULL calls\n", server.str(), client.fabric_name(), options.count);
  const Runner::Counters waits = runner.counters();
  const double processor = processor_seconds();
  const Clock::time_point start = Clock::now();
  Result<std::vector<double>> times = co_await measure(client, options);
  if (!times) {
    print_error("rpcrdma-ping: {}: {}\n", server.str(), why(times.error()));
    co_return 1;
  }
  if (options.rate > 0)
    print(waits, runner.counters(), std::chrono::duration<double>(Clock::now() - start).count(),
          processor_seconds() - processor, options.count);
  if (options.characteristics) print(client.characteristics());
  std::ranges::sort(*times);
  fmt::print("min={:.1f} median={:.1f} p99={:.1f} us\n", times->front(), quantile(*times, 0.5), quantile(*times, 0.99));
  co_return 0;
}

asio::awaitable<void> run(asio::io_context& context, const Runner& runner, const Options& options, int& status) {
  const std::string& host = options.server.host;
  const auto client = co_await nfs::Client::connect(context, host, options.server.port, options.client);
  if (!client) {
    print_error("rpcrdma-ping: {}:{}: {}\n", host, options.server.port, why(client.error()));
    co_return;
  }
  status = co_await ping(**client, options, runner);
  co_await (*client)->close();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const int status = parse(argc, argv, options); status >= 0) return status;
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, end_by_signal);
  std::signal(SIGPIPE, SIG_IGN);  // siw raises SIGPIPE when a connection is lost
  // SIGUSR2 starts and stops a capture once ToggleBySignal handles it. Without a capture, it must not end the process.
  std::signal(SIGUSR2, SIG_IGN);
  fabric::raise_locked_memory_limit();
  const auto tap = capture::open_capture(options.capture, Log(make_stderr_sink(LogLevel::error, "rpcrdma-ping")));
  if (!tap) {
    print_error("rpcrdma-ping: {}\n", tap.error().why);
    return 1;
  }
  options.client.fabric.tap = *tap;
  const capture::ToggleBySignal toggled(*tap);
  int status = 1;
  try {
    asio::io_context context(1);
    Runner runner(context, options.poll);
    asio::co_spawn(context, run(context, runner, options, status), [](std::exception_ptr thrown) {
      if (thrown) std::rethrow_exception(thrown);
    });
    runner.run();
  } catch (const std::exception& error) {
    print_error("rpcrdma-ping: {}\n", error.what());
    return 1;
  }
  return status;
}
