// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/program/options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>
#include <thread>

#include "rpcrdma/nfsd/exports/state_dir.hpp"

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
    "  DIR[:/name][,ro][,allow=CIDR]...    a directory; the default name is '/' and its last component\n"
    "  memory:/name[,ro][,allow=CIDR]...   a file system in memory, gone when the server ends\n"
    "  A backslash takes the special meaning from ',' and ':' in DIR.\n\n"
    "When it serves, one line appears on standard output:\n"
    "  ready rdma=ADDR:PORT fabric=NAME tcp=ADDR:PORT|off\n\n"
    "Signals: TERM or INT ends the server after the calls in progress (10 s at most; a second one ends it\n"
    "at once); USR1 prints counters to standard error.\n\n"
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
};

void declare(CLI::App& app, Raw& raw, Options& options) {
  app.set_version_flag("--version", "rpcrdma-nfsd " RPCRDMA_VERSION);
  app.footer(kFooter);
  app.add_option("--export", raw.exports, "What to serve (see below); repeat for more")
      ->required()
      ->type_name("SPEC")
      ->allow_extra_args(false);
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
  app.add_option("--state-dir", raw.state_dir,
                 "Where the key of the file handles is kept [" + default_state_dir().string() + "]")
      ->type_name("DIR");
  app.add_option("--threads", options.threads, "Event loops [half the processors]")
      ->type_name("N")
      ->check(CLI::Range(1, 256));
  app.add_option("--credits", options.credits, "Calls that each connection may have in progress [32]")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  app.add_option("--inline-threshold", options.inline_threshold, "Largest message without a chunk [4096]")
      ->type_name("BYTES")
      ->check(CLI::Range(1024, 262144));
  app.add_option("--max-connections", options.max_connections, "More are refused [1024]")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--log-level", raw.log_level, "trace, debug, info, warn, error or off [info]")->type_name("L");
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
    std::string_view rest = text;
    if (const std::size_t at = rest.find('@'); at != rest.npos) {
      if (!fabric::parse_provider(rest.substr(0, at), listen.provider)) {
        why = "--listen: not a fabric: '" + std::string(rest.substr(0, at)) + "'";
        return false;
      }
      rest.remove_prefix(at + 1);
    }
    const auto endpoint = parse_endpoint(rest);
    if (!endpoint) {
      why = "--listen: not ADDR:PORT: '" + text + "'";
      return false;
    }
    listen.endpoint = *endpoint;
    options.listens.push_back(listen);
  }
  return true;
}

bool understand(const Raw& raw, Options& options, std::string& why) {
  for (const std::string& text : raw.exports)
    if (!parse_export(text, options.exports.emplace_back(), why)) {
      why = "--export: " + why;
      return false;
    }
  if (!understand_listens(raw, options, why)) return false;
  for (const std::string& text : raw.tcp_listens) {
    const auto endpoint = parse_endpoint(text);
    if (!endpoint) {
      why = "--tcp-listen: not ADDR:PORT: '" + text + "'";
      return false;
    }
    options.tcp_listens.push_back(*endpoint);
  }
  if (!raw.crc.empty() && raw.crc != "on" && raw.crc != "off") {
    why = "--crc: on or off, not '" + raw.crc + "'";
    return false;
  }
  if (!raw.crc.empty()) options.crc = raw.crc == "on" ? fabric::CrcPolicy::on : fabric::CrcPolicy::off;
  if (!parse_log_level(raw.log_level, options.log_level)) {
    why = "--log-level: not a level: '" + raw.log_level + "'";
    return false;
  }
  if (options.inline_threshold % 1024 != 0) {
    why = "--inline-threshold: not a multiple of 1024";
    return false;
  }
  options.state_dir = raw.state_dir.empty() ? default_state_dir() : std::filesystem::path(raw.state_dir);
  return true;
}

}  // namespace

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
  if (!understand(raw, options, why)) {
    std::cerr << "rpcrdma-nfsd: " << why << " (try --help)\n";
    exit_code = kUsage;
    return std::nullopt;
  }
  return options;
}

}  // namespace rpcrdma::nfsd
