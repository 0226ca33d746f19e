// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/program/options.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <thread>

#include "rpcrdma/capture_option/capture_option.hpp"
#include "rpcrdma/cli/help.hpp"
#include "rpcrdma/cli/poll.hpp"
#include "rpcrdma/nfsd/exports/state_dir.hpp"
#include "rpcrdma/nfsd/program/limits.hpp"

#ifndef RPCRDMA_VERSION
#error "RPCRDMA_VERSION is not defined: CMakeLists.txt sets it"
#endif

namespace rpcrdma::nfsd {
namespace {

constexpr const char* kDefaultListen = "127.0.0.1:20049";
constexpr const char* kAbout =
    "Serves NFS version 3 over RPC-over-RDMA from userspace: on RDMA\n"
    "hardware, on a soft device, or without any device on the built-in iWARP stack\n"
    "over TCP.";

std::vector<cli::Section> help_sections() {
  return {{"Exports",
           {{"DIR[:/name][,OPTION]...",
             "a directory; the default name is / and its last component; in DIR a backslash escapes , and :"},
            {"memory:/name[,OPTION]...", "a file system in memory, lost when the server exits"}}},
          {"Options of an export",
           {{"ro, rw", "read-only, or read and write [rw]"},
            {"allow=CIDR", "clients with these addresses only; repeatable [all]"},
            {"root_squash", "uid 0 and gid 0 become the anonymous ones [default]"},
            {"all_squash", "every uid and gid becomes the anonymous one"},
            {"no_root_squash", "no uid or gid changes: root of a client is root here"},
            {"anonuid=N, anongid=N", "the anonymous uid and gid [65534]"},
            {"secure, insecure", "over TCP, only from ports below 1024, or from all [insecure]"},
            {"devices, nodevices", "clients may make device files, or not [nodevices]"},
            {"sync, async", "reply when the data is on the disk, or before [sync]"},
            {"size=N[K|M|G|T]", "largest size of an export in memory [half of the machine's memory, for all]"}}},
          {"Ready line on standard output",
           {{"ready rdma=ADDR:PORT fabric=NAME tcp=ADDR:PORT|off [metrics=ADDR:PORT]", ""}}},
          {"Signals",
           {{"TERM, INT", "drain the calls in progress, for 10 s at most, and exit; a second one exits at once"},
            {"HUP", "read the exports of --config again"},
            {"USR1", "print counters to standard error"},
            {"USR2", "stop the capture of --capture, or start it again"}}},
          capture::help_section_of_capture(),
          {"Examples",
           {{"rpcrdma-nfsd --export /srv/data --listen 192.0.2.7:20049",
             "serves a directory as nfs://192.0.2.7/data, on an RDMA device if one has that address"},
            {"rpcrdma-nfsd --export memory:/scratch --export /srv/pub,ro,allow=192.0.2.0/24",
             "serves a file system in memory, and a directory to one network, read-only"},
            {"rpcrdma-nfsd --config /etc/rpcrdma-nfsd.toml", "serves the exports of a configuration file"}}}};
}

/// Options as they are written, before they are interpreted. The configuration file supplies the options that the
/// command line does not set. `exports` and `config` come from the command line only.
struct Words {
  std::vector<std::string> exports;
  std::vector<std::string> listens;
  std::vector<std::string> tcp_listens;
  std::string fabric = "auto";
  std::string crc;
  std::string rdma_version = "1";
  std::string log_level = "info";
  std::string metrics;
  std::string log_format = "text";
  std::string state_dir;
  std::string sandbox = "on";
  std::string config;
  bool rpcbind = false;
};

constexpr const char* kThreads = "--threads";
constexpr const char* kCredits = "--credits";
constexpr const char* kInlineThreshold = "--inline-threshold";
constexpr const char* kMaxConnections = "--max-connections";
constexpr const char* kKeepalive = "--keepalive";

constexpr const char* kNetwork = "Network";
constexpr const char* kLimits = "Limits";

void add_network_options(CLI::App& app, Words& words) {
  app.add_option("--listen", words.listens, "Where to listen; port 0 picks a free one")
      ->type_name("[FABRIC@]ADDR:PORT")
      ->default_str(kDefaultListen)
      ->group(kNetwork)
      ->allow_extra_args(false);
  app.add_option("--fabric", words.fabric, "Fabric of the listeners that name none: verbs is an RDMA device, iwarp TCP")
      ->type_name("auto|verbs|iwarp")
      ->capture_default_str()
      ->group(kNetwork);
  app.add_option("--tcp-listen", words.tcp_listens, "Also serve plain TCP at this address")
      ->type_name("ADDR:PORT")
      ->default_str("off")
      ->group(kNetwork)
      ->allow_extra_args(false);
  app.add_option("--crc", words.crc, "iWARP CRCs")
      ->type_name("on|off")
      ->default_str("off between loopback addresses, else on")
      ->group(kNetwork);
  app.add_option("--rdma-version", words.rdma_version,
                 "Version of RPC-over-RDMA to serve; auto answers each call in its version")
      ->type_name("1|2|auto")
      ->capture_default_str()
      ->group(kNetwork);
  app.add_option("--metrics", words.metrics,
                 "Serve statistics by HTTP: a live page at /, /metrics for Prometheus, /stats.json, /healthz; without "
                 "ADDR on 127.0.0.1")
      ->type_name("[ADDR:]PORT")
      ->default_str("off")
      ->group(kNetwork);
  app.add_flag("--rpcbind", words.rpcbind, "Register the ports with this machine's rpcbind while the server runs")
      ->group(kNetwork);
}

CLI::Option* number(CLI::App& app, const char* name, std::uint32_t& out, const NumberRange& range, const char* what) {
  return app.add_option(name, out, what)
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(range.least, range.most))
      ->group(kLimits);
}

void add_options(CLI::App& app, Words& words, Options& options) {
  app.set_version_flag("--version", "rpcrdma-nfsd " RPCRDMA_VERSION, "Print the version and exit");
  app.add_option("--export", words.exports, "What to serve: see Exports")
      ->type_name("SPEC")
      ->group("Service")
      ->allow_extra_args(false);
  app.add_option("--config", words.config,
                 "A file with more exports and options; options on the command line override it")
      ->type_name("FILE")
      ->group("Service");
  app.add_option("--state-dir", words.state_dir,
                 "Directory for the key of the file handles and for remembered places of files")
      ->type_name("DIR")
      ->default_str("/var/lib/rpcrdma-nfsd for root, else ~/.local/state/rpcrdma-nfsd")
      ->group("Service");
  app.add_option("--sandbox", words.sandbox,
                 "Rights that the process gives up at its start; strict also confines it to the directories of its "
                 "exports; log refuses no system call, but makes the kernel log those that mode on would refuse")
      ->type_name("on|off|strict|log")
      ->capture_default_str()
      ->group("Service");
  app.add_option("--log-level", words.log_level, "What to log to standard error")
      ->type_name("trace|debug|info|warn|error|off")
      ->capture_default_str()
      ->group("Service");
  app.add_option("--log-format", words.log_format, "Form of the log; json is one object a line")
      ->type_name("text|json")
      ->capture_default_str()
      ->group("Service");
  capture::add_capture_option(app, options.capture)->group("Service");
  add_network_options(app, words);
  number(app, kThreads, options.threads, kThreadsRange, "Event loops")->default_str("half the processors");
  number(app, kCredits, options.credits, kCreditsRange, "Calls that each connection may have in progress");
  number(app, kInlineThreshold, options.inline_threshold, kInlineThresholdRange,
         "Largest message without a chunk; a multiple of 1024")
      ->type_name("BYTES");
  number(app, kMaxConnections, options.max_connections, kMaxConnectionsRange,
         "A new connection beyond this number, or beyond 256 of one address, replaces an idle one or is refused");
  number(app, kKeepalive, options.keepalive, kKeepaliveRange, "Idle time before a silent client is probed")
      ->type_name("SECONDS");
  cli::add_poll_option(app, options.poll)->group(kLimits);
  cli::finish(app, help_sections());
}

/// Adds the exports of the configuration file, and its settings except those that the command line sets.
Checked<void> read_file(const CLI::App& app, Words& words, Options& options) {
  if (words.config.empty()) return {};
  options.config = words.config;
  auto file = read_config(options.config);
  if (!file) return file.error();
  options.settings = file->settings;
  options.exports.insert(options.exports.end(), file->exports.begin(), file->exports.end());
  const Settings& s = options.settings;
  const auto fill = [&app](const char* name, auto& out, const auto& value) {
    if (value && app.count(name) == 0) out = *value;
  };
  fill("--fabric", words.fabric, s.fabric);
  fill("--crc", words.crc, s.crc);
  fill("--rdma-version", words.rdma_version, s.rdma_version);
  fill("--metrics", words.metrics, s.metrics);
  fill("--log-level", words.log_level, s.log_level);
  fill("--log-format", words.log_format, s.log_format);
  fill("--state-dir", words.state_dir, s.state_dir);
  fill("--sandbox", words.sandbox, s.sandbox);
  fill("--rpcbind", words.rpcbind, s.rpcbind);
  fill(kThreads, options.threads, s.threads);
  fill(kCredits, options.credits, s.credits);
  fill(kInlineThreshold, options.inline_threshold, s.inline_threshold);
  fill(kMaxConnections, options.max_connections, s.max_connections);
  fill(kKeepalive, options.keepalive, s.keepalive);
  fill("--poll", options.poll, s.poll ? parse_polling(*s.poll) : std::nullopt);
  if (words.listens.empty()) words.listens = s.listens;
  if (words.tcp_listens.empty()) words.tcp_listens = s.tcp_listens;
  return {};
}

Checked<void> interpret_exports(const Words& words, Options& options) {
  for (const std::string& text : words.exports) {
    auto spec = prefixed(parse_export(text), "--export: ");
    if (!spec) return spec.error();
    options.exports.push_back(std::move(*spec));
  }
  options.command_line_exports = options.exports.size();
  return {};
}

Checked<void> interpret_listens(const Words& words, Options& options) {
  fabric::Provider provider{};
  if (!fabric::parse_provider(words.fabric, provider))
    return Refusal{"--fabric: unknown fabric: '" + words.fabric + "'"};
  std::vector<std::string> texts = words.listens;
  if (texts.empty()) texts.emplace_back(kDefaultListen);
  for (const std::string& text : texts) {
    const auto listen = prefixed(parse_listen(text, provider), "--listen: ");
    if (!listen) return listen.error();
    options.listens.push_back(*listen);
  }
  for (const std::string& text : words.tcp_listens) {
    const auto endpoint = parse_endpoint(text);
    if (!endpoint) return Refusal{"--tcp-listen: not ADDR:PORT: '" + text + "'"};
    options.tcp_listens.push_back(*endpoint);
  }
  return {};
}

Checked<void> interpret(const CLI::App& app, Words& words, Options& options) {
  if (auto exports = interpret_exports(words, options); !exports) return exports;
  if (auto file = read_file(app, words, options); !file) return file;
  if (auto listens = interpret_listens(words, options); !listens) return listens;
  if (!words.crc.empty() && words.crc != "on" && words.crc != "off")
    return Refusal{"--crc: not on or off: '" + words.crc + "'"};
  if (!words.crc.empty()) options.crc = words.crc == "on" ? fabric::CrcPolicy::on : fabric::CrcPolicy::off;
  const auto version = transport::parse_version(words.rdma_version);
  if (!version) return Refusal{"--rdma-version: not 1, 2 or auto: '" + words.rdma_version + "'"};
  options.version = *version;
  if (!words.metrics.empty()) {
    options.metrics = parse_metrics(words.metrics);
    if (!options.metrics) return Refusal{"--metrics: not [ADDR:]PORT: '" + words.metrics + "'"};
  }
  if (!parse_log_level(words.log_level, options.log_level))
    return Refusal{"--log-level: not a level: '" + words.log_level + "'"};
  const auto sandbox = parse_sandbox_mode(words.sandbox);
  if (!sandbox) return Refusal{"--sandbox: not on, off, strict or log: '" + words.sandbox + "'"};
  options.sandbox = *sandbox;
  if (!parse_log_format(words.log_format, options.log_format))
    return Refusal{"--log-format: not text or json: '" + words.log_format + "'"};
  if (options.inline_threshold % kInlineThresholdRange.unit != 0)
    return Refusal{"--inline-threshold: not a multiple of 1024"};
  if (options.exports.empty())
    return Refusal{words.config.empty() ? "nothing to serve: give --export or --config"
                                        : words.config + ": nothing to serve: give an [[export]] there or --export"};
  options.rpcbind = words.rpcbind;
  options.state_dir = words.state_dir.empty() ? default_state_dir() : std::filesystem::path(words.state_dir);
  return {};
}

}  // namespace

Checked<ListenSpec> parse_listen(std::string_view text, fabric::Provider provider) {
  std::string_view rest = text;
  if (const std::size_t at = rest.find('@'); at != rest.npos) {
    if (!fabric::parse_provider(rest.substr(0, at), provider))
      return Refusal{"unknown fabric: '" + std::string(rest.substr(0, at)) + "'"};
    rest.remove_prefix(at + 1);
  }
  const auto endpoint = parse_endpoint(rest);
  if (!endpoint) return Refusal{"not ADDR:PORT: '" + std::string(text) + "'"};
  return ListenSpec{*endpoint, provider};
}

std::optional<boost::asio::ip::tcp::endpoint> parse_metrics(std::string_view text) {
  if (text.find(':') != text.npos) return parse_endpoint(text);
  return parse_endpoint("127.0.0.1:" + std::string(text));
}

std::string text_of(const boost::asio::ip::tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" + std::to_string(endpoint.port());
}

std::optional<Options> parse_options(int argc, const char* const* argv, int& exit_code) {
  constexpr int kUsage = 2;
  CLI::App app{kAbout, "rpcrdma-nfsd"};
  Words words;
  Options options;
  options.threads = std::max(1u, std::thread::hardware_concurrency() / 2);
  add_options(app, words, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {
      exit_code = app.exit(e);
      return std::nullopt;
    }
    std::cerr << "rpcrdma-nfsd: " << e.what() << " (try --help)\n";
    exit_code = kUsage;
    return std::nullopt;
  }
  if (const auto interpreted = interpret(app, words, options); !interpreted) {
    std::cerr << "rpcrdma-nfsd: " << interpreted.error().text << " (try --help)\n";
    exit_code = kUsage;
    return std::nullopt;
  }
  return options;
}

}  // namespace rpcrdma::nfsd
