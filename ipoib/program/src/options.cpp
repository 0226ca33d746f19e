// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <fmt/format.h>
#include <linux/if.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "rpcrdma/base/print_error.hpp"
#include "rpcrdma/capture_option/capture_option.hpp"
#include "rpcrdma/cli/endpoint.hpp"
#include "rpcrdma/cli/help.hpp"
#include "rpcrdma/cli/poll.hpp"

namespace rpcrdma::ipoib {
namespace {

constexpr std::uint32_t kLeastMtuOfIpv6 = 1280;  // [4755-4-b] the least MTU of IPv4 is kMinMtu
constexpr const char* kAbout =
    "Carries IP over RDMA connections (RFC 4755): gives this host a network device\n"
    "whose packets travel over an RDMA device, or over the built-in iWARP stack on\n"
    "TCP.";

/// The words of the command line, not yet interpreted.
struct Words {
  std::vector<std::string> addresses, peers;
  std::string listen, fabric = "auto", crc, log_level = "info", log_format = "text";
  double idle = 300;
  bool learn = false, no_offload = false;
};

std::vector<cli::Section> help_sections() {
  return {{"Neighbours",
           {{"IP=ADDR:PORT", "the neighbour with the address IP listens at ADDR:PORT"},
            {"CIDR=ADDR:PORT", "the same for all addresses of a network that this neighbour routes to"}}},
          {"Ready line on standard output", {{"ready dev=NAME mtu=N port=N", ""}}},
          {"Signals",
           {{"TERM, INT", "close the connections, remove the device, and exit; a second one exits at once"},
            {"USR1", "print counters to standard error"},
            {"USR2", "stop the capture of --capture, or start it again"}}},
          capture::help_section_of_capture(),
          {"Examples",
           {{"rpcrdma-ip --address 10.9.0.1/24 --listen 192.0.2.1:4755 --peer 10.9.0.2=192.0.2.2:4755",
             "10.9.0.1 here and 10.9.0.2 on another host reach each other"},
            {"rpcrdma-ip --address 10.9.0.1/24 --address fd09::1/64 --listen 192.0.2.1:4755 --learn",
             "accepts all neighbours, and learns their addresses from the packets that they send"}}}};
}

void add_options(CLI::App& app, Words& words, Options& options) {
  app.set_version_flag("--version", "rpcrdma-ip " RPCRDMA_VERSION, "Print the version and exit");
  app.add_option("--address", words.addresses,
                 "Address of this host on the link, with the network that the link reaches")
      ->type_name("CIDR")
      ->required()
      ->allow_extra_args(false);
  app.add_option("--listen", words.listen, "Where neighbours connect; port 0 picks a free one")
      ->type_name("[FABRIC@]ADDR:PORT")
      ->required();
  app.add_option("--peer", words.peers, "A neighbour: see Neighbours")
      ->type_name("IP=ADDR:PORT")
      ->allow_extra_args(false);
  app.add_flag("--learn", words.learn,
               "Accept neighbours that no --peer names, if their addresses are in the networks of --address");
  app.add_option("--name", options.device.name, "Name of the device")
      ->type_name("DEV")
      ->default_str("the first free one of rdma0, rdma1, ...");
  app.add_option("--mtu", options.link.mtu, "Largest packet; with a neighbour, the smaller of both values applies")
      ->type_name("BYTES")
      ->capture_default_str()
      ->check(CLI::Range(kMinMtu, kMaxMtu));
  app.add_option("--idle", words.idle, "Idle time after which a connection is closed; 0: never")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  app.add_flag("--no-offload", words.no_offload,
               "Let the IP stack, not this program, compute checksums and cut TCP streams into packets");
  app.add_option("--fabric", words.fabric, "verbs is an RDMA device, iwarp the userspace stack on TCP")
      ->type_name("NAME")
      ->capture_default_str()
      ->check(CLI::IsMember(fabric::provider_names()));
  app.add_option("--crc", words.crc, "iWARP CRCs")
      ->type_name("on|off")
      ->default_str("off between loopback addresses, else on")
      ->check(CLI::IsMember({"on", "off"}));
  cli::add_poll_option(app, options.poll);
  capture::add_capture_option(app, options.capture);
  app.add_option("--log-level", words.log_level, "What to log to standard error")
      ->type_name("trace|debug|info|warn|error|off")
      ->capture_default_str();
  app.add_option("--log-format", words.log_format, "Form of the log; json is one object a line")
      ->type_name("text|json")
      ->capture_default_str();
  cli::finish(app, help_sections());
}

template <class Number>
bool parse_number(std::string_view digits, Number& out) noexcept {
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return failed == std::errc() && end == digits.data() + digits.size() && !digits.empty();
}

std::optional<boost::asio::ip::address> parse_address(std::string_view text) {
  boost::system::error_code bad;
  const auto address = boost::asio::ip::make_address(std::string(text), bad);
  return bad ? std::nullopt : std::optional(address);
}

/// IP or IP/LENGTH.
std::optional<IpPrefix> parse_prefix(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  const std::uint8_t most = address->is_v4() ? 32 : 128;
  IpPrefix out{*address, most};
  if (slash != text.npos && (!parse_number(text.substr(slash + 1), out.length) || out.length > most))
    return std::nullopt;
  return out;
}

using Refusal = std::optional<std::string>;

Refusal interpret_device(const Words& words, Options& options) {
  for (const std::string& text : words.addresses) {
    const auto prefix = parse_prefix(text);
    if (!prefix) return "--address: not an address with a prefix length: " + text;
    if (prefix->address.is_v6() && options.link.mtu < kLeastMtuOfIpv6)
      return fmt::format("--mtu: IPv6 needs {}", kLeastMtuOfIpv6);
    options.device.addresses.push_back(*prefix);
  }
  options.device.mtu = options.link.mtu;
  options.device.offload = options.link.join = !words.no_offload;
  if (options.device.name.empty()) options.device.name = "rdma%d";
  if (options.device.name.size() >= IFNAMSIZ)
    return "--name: longer than " + std::to_string(IFNAMSIZ - 1) + " characters";
  if (words.learn) options.link.learn_within = options.device.addresses;
  options.link.idle = std::chrono::milliseconds(static_cast<std::int64_t>(words.idle * 1000));
  return std::nullopt;
}

Refusal interpret_network(const Words& words, Options& options) {
  std::string_view listen = words.listen;
  fabric::parse_provider(words.fabric, options.fabric.provider);
  if (const std::size_t at = listen.find('@'); at != listen.npos) {
    if (!fabric::parse_provider(listen.substr(0, at), options.fabric.provider))
      return "--listen: not a fabric: " + std::string(listen.substr(0, at));
    listen.remove_prefix(at + 1);
  }
  const auto endpoint = cli::parse_endpoint(listen);
  if (!endpoint) return "--listen: not ADDR:PORT: " + std::string(listen);
  if (endpoint->address().is_unspecified())
    return "--listen: neighbours know this host by its address: give one that is not a wildcard";
  options.listen = *endpoint;
  // With iwarp, connections to neighbours have the --listen address as their source: neighbours know this host by it.
  options.fabric.from_there = true;
  for (const std::string& text : words.peers) {
    const std::size_t equals = text.find('=');
    const auto prefix = parse_prefix(std::string_view(text).substr(0, equals));
    const auto peer =
        equals == text.npos ? std::nullopt : cli::parse_endpoint(std::string_view(text).substr(equals + 1));
    if (!prefix || !peer || peer->port() == 0) return "--peer: not IP=ADDR:PORT: " + text;
    if (peer->address().is_v4() != endpoint->address().is_v4())
      return "--peer: its ADDR is not of the address family of --listen: " + text;
    options.peers.push_back({*prefix, *peer});
  }
  if (options.peers.empty() && !words.learn) return "no neighbours: give --peer or --learn";
  if (!words.crc.empty()) options.fabric.crc = words.crc == "on" ? fabric::CrcPolicy::on : fabric::CrcPolicy::off;
  if (!parse_log_level(words.log_level, options.log_level)) return "--log-level: not a level: " + words.log_level;
  if (!parse_log_format(words.log_format, options.log_format))
    return "--log-format: not text or json: " + words.log_format;
  return std::nullopt;
}

}  // namespace

std::optional<Options> parse_options(int argc, const char* const* argv, int& status) {
  CLI::App app{kAbout, "rpcrdma-ip"};
  Words words;
  Options options;
  add_options(app, words, options);
  Refusal refusal;
  try {
    app.parse(argc, argv);
    refusal = interpret_device(words, options);
    if (!refusal) refusal = interpret_network(words, options);
  } catch (const CLI::Success& help) {
    status = app.exit(help);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    refusal = error.what();
  }
  if (!refusal) return options;
  print_error("rpcrdma-ip: {} (see rpcrdma-ip --help)\n", *refusal);
  status = 2;
  return std::nullopt;
}

}  // namespace rpcrdma::ipoib
