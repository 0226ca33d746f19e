// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/program/options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>
#include <thread>

#include "rpcrdma/nfsd/exports/state_dir.hpp"
#include "rpcrdma/nfsd/program/limits.hpp"

#ifndef RPCRDMA_VERSION
#error "the build names the version"
#endif

namespace rpcrdma::nfsd {
namespace {

constexpr const char* kDefaultListen = "127.0.0.1:20049";
constexpr const char* kAbout =
    "NFS version 3 over RPC-over-RDMA version 1, from userspace: on RDMA hardware, on a soft device, or with\n"
    "neither, over the built-in iWARP stack on TCP.";
constexpr const char* kFooter =
    "Exports:\n"
    "  DIR[:/name][,OPTION]...             a directory; the default name is '/' and its last component\n"
    "  memory:/name[,OPTION]...            a file system in memory, gone when the server ends\n"
    "  A backslash takes the special meaning from ',' and ':' in DIR. Options:\n"
    "    ro, rw                            without or with changes [rw]\n"
    "    allow=CIDR                        only for these addresses; repeat for more [everybody]\n"
    "    root_squash                       uid 0 and gid 0 become the anonymous ones [this]\n"
    "    all_squash                        every uid and gid becomes the anonymous one\n"
    "    no_root_squash                    no uid or gid changes: root of a client is root here\n"
    "    anonuid=N, anongid=N              the anonymous uid and gid [65534]\n"
    "    secure, insecure                  over TCP, only from ports below 1024, or from all [insecure]\n"
    "    devices, nodevices                device files may be made, or not [nodevices]\n"
    "    sync, async                       answer when the data is on the disk, or before [sync]\n"
    "    size=N[K|M|G|T]                   of an export in memory [half of the machine's, for all]\n\n"
    "When it serves, one line appears on standard output:\n"
    "  ready rdma=ADDR:PORT fabric=NAME tcp=ADDR:PORT|off\n\n"
    "Signals: TERM or INT ends the server after the calls in progress (10 s at most; a second one ends it\n"
    "at once); HUP reads the exports of --config again; USR1 prints counters to standard error.\n\n"
    "Example:\n"
    "  rpcrdma-nfsd --export /srv/data --export memory:/scratch --listen 0.0.0.0:20049";

/// What the command line says, before it is understood.
struct Raw {
  std::vector<std::string> exports;
  std::vector<std::string> listens;
  std::vector<std::string> tcp_listens;
  std::string fabric = "auto";
  std::string crc;
  std::string log_level = "info";
  std::string state_dir;
  std::string config;
  bool rpcbind = false;
};

constexpr const char* kThreads = "--threads";
constexpr const char* kCredits = "--credits";
constexpr const char* kInlineThreshold = "--inline-threshold";
constexpr const char* kMaxConnections = "--max-connections";
constexpr const char* kKeepalive = "--keepalive";

void declare_network(CLI::App& app, Raw& raw) {
  app.add_option("--listen", raw.listens, "Where to listen; port 0 takes a free one; repeat for more [127.0.0.1:20049]")
      ->type_name("[FABRIC@]ADDR:PORT")
      ->allow_extra_args(false);
  app.add_option("--fabric", raw.fabric, "Fabric of the listeners that name none [auto]")
      ->type_name("auto|verbs|iwarp");
  app.add_option("--tcp-listen", raw.tcp_listens, "Serve plain TCP here too; repeat for more [off]")
      ->type_name("ADDR:PORT")
      ->allow_extra_args(false);
  app.add_option("--crc", raw.crc, "iWARP checksums [off if both ends are loopback addresses, else on]")
      ->type_name("on|off");
  app.add_flag("--rpcbind", raw.rpcbind, "Tell this machine's rpcbind the ports, and take that back at the end");
}

CLI::Option* number(CLI::App& app, const char* name, std::uint32_t& out, const NumberRange& range, const char* what) {
  return app.add_option(name, out, what)->type_name("N")->check(CLI::Range(range.least, range.most));
}

void declare(CLI::App& app, Raw& raw, Options& options) {
  app.set_version_flag("--version", "rpcrdma-nfsd " RPCRDMA_VERSION);
  app.footer(kFooter);
  app.add_option("--export", raw.exports, "What to serve (see below); repeat for more")
      ->type_name("SPEC")
      ->allow_extra_args(false);
  app.add_option("--config", raw.config, "A file with more exports and options; options given here go first")
      ->type_name("FILE");
  declare_network(app, raw);
  app.add_option("--state-dir", raw.state_dir,
                 "Where the key of the file handles is kept [" + default_state_dir().string() + "]")
      ->type_name("DIR");
  number(app, kThreads, options.threads, kThreadsRange, "Event loops [half the processors]");
  number(app, kCredits, options.credits, kCreditsRange, "Calls that each connection may have in progress [32]");
  number(app, kInlineThreshold, options.inline_threshold, kInlineThresholdRange,
         "Largest message without a chunk [4096]")
      ->type_name("BYTES");
  number(app, kMaxConnections, options.max_connections, kMaxConnectionsRange, "More are refused [1024]");
  number(app, kKeepalive, options.keepalive, kKeepaliveRange, "Seconds until a silent client is asked for [60]");
  app.add_option("--log-level", raw.log_level, "trace, debug, info, warn, error or off [info]")->type_name("L");
}

/// What the file says counts where the command line says nothing.
bool read_file(const CLI::App& app, Raw& raw, Options& options, std::string& why) {
  if (raw.config.empty()) return true;
  options.config = raw.config;
  ConfigFile file;
  if (!read_config(options.config, file, why)) return false;
  options.settings = file.settings;
  options.exports.insert(options.exports.end(), file.exports.begin(), file.exports.end());
  const Settings& s = options.settings;
  const auto fill = [&app](const char* name, auto& out, const auto& value) {
    if (value && app.count(name) == 0) out = *value;
  };
  fill("--fabric", raw.fabric, s.fabric);
  fill("--crc", raw.crc, s.crc);
  fill("--log-level", raw.log_level, s.log_level);
  fill("--state-dir", raw.state_dir, s.state_dir);
  fill("--rpcbind", raw.rpcbind, s.rpcbind);
  fill(kThreads, options.threads, s.threads);
  fill(kCredits, options.credits, s.credits);
  fill(kInlineThreshold, options.inline_threshold, s.inline_threshold);
  fill(kMaxConnections, options.max_connections, s.max_connections);
  fill(kKeepalive, options.keepalive, s.keepalive);
  if (raw.listens.empty()) raw.listens = s.listens;
  if (raw.tcp_listens.empty()) raw.tcp_listens = s.tcp_listens;
  return true;
}

bool understand_exports(const Raw& raw, Options& options, std::string& why) {
  for (const std::string& text : raw.exports)
    if (!parse_export(text, options.exports.emplace_back(), why)) {
      why.insert(0, "--export: ");
      return false;
    }
  options.command_line_exports = options.exports.size();
  return true;
}

bool understand_listens(const Raw& raw, Options& options, std::string& why) {
  fabric::Provider provider{};
  if (!fabric::parse_provider(raw.fabric, provider)) {
    why = "--fabric: not a fabric: '" + raw.fabric + "'";
    return false;
  }
  std::vector<std::string> texts = raw.listens;
  if (texts.empty()) texts.emplace_back(kDefaultListen);
  for (const std::string& text : texts) {
    ListenSpec listen;
    listen.provider = provider;
    if (!parse_listen(text, listen, why)) {
      why.insert(0, "--listen: ");
      return false;
    }
    options.listens.push_back(listen);
  }
  for (const std::string& text : raw.tcp_listens) {
    const auto endpoint = parse_endpoint(text);
    if (!endpoint) {
      why = "--tcp-listen: not ADDR:PORT: '" + text + "'";
      return false;
    }
    options.tcp_listens.push_back(*endpoint);
  }
  return true;
}

bool understand(const Raw& raw, Options& options, std::string& why) {
  if (!understand_listens(raw, options, why)) return false;
  if (!raw.crc.empty() && raw.crc != "on" && raw.crc != "off") {
    why = "--crc: on or off, not '" + raw.crc + "'";
    return false;
  }
  if (!raw.crc.empty()) options.crc = raw.crc == "on" ? fabric::CrcPolicy::on : fabric::CrcPolicy::off;
  if (!parse_log_level(raw.log_level, options.log_level)) {
    why = "--log-level: not a level: '" + raw.log_level + "'";
    return false;
  }
  if (options.inline_threshold % kInlineThresholdRange.unit != 0) {
    why = "--inline-threshold: not a multiple of 1024";
    return false;
  }
  if (options.exports.empty()) {
    why = raw.config.empty() ? "nothing to serve: --export or --config is wanted"
                             : raw.config + ": nothing to serve: neither [[export]] there nor --export here";
    return false;
  }
  options.rpcbind = raw.rpcbind;
  options.state_dir = raw.state_dir.empty() ? default_state_dir() : std::filesystem::path(raw.state_dir);
  return true;
}

}  // namespace

bool parse_listen(std::string_view text, ListenSpec& out, std::string& why) {
  std::string_view rest = text;
  if (const std::size_t at = rest.find('@'); at != rest.npos) {
    if (!fabric::parse_provider(rest.substr(0, at), out.provider)) {
      why = "not a fabric: '" + std::string(rest.substr(0, at)) + "'";
      return false;
    }
    rest.remove_prefix(at + 1);
  }
  const auto endpoint = parse_endpoint(rest);
  if (endpoint)
    out.endpoint = *endpoint;
  else
    why = "not ADDR:PORT: '" + std::string(text) + "'";
  return endpoint.has_value();
}

std::optional<boost::asio::ip::tcp::endpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && host.find(':') != host.npos) return std::nullopt;
  boost::system::error_code bad;
  const auto address = boost::asio::ip::make_address(std::string(host), bad);
  std::uint16_t port = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (bad || failed != std::errc() || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  return boost::asio::ip::tcp::endpoint(address, port);
}

std::string text_of(const boost::asio::ip::tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" + std::to_string(endpoint.port());
}

std::optional<Options> parse_options(int argc, const char* const* argv, int& exit_code) {
  constexpr int kUsage = 2;
  CLI::App app{kAbout, "rpcrdma-nfsd"};
  Raw raw;
  Options options;
  options.threads = std::max(1u, std::thread::hardware_concurrency() / 2);
  declare(app, raw, options);
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
  std::string why;
  if (!understand_exports(raw, options, why) || !read_file(app, raw, options, why) || !understand(raw, options, why)) {
    std::cerr << "rpcrdma-nfsd: " << why << " (try --help)\n";
    exit_code = kUsage;
    return std::nullopt;
  }
  return options;
}

}  // namespace rpcrdma::nfsd
