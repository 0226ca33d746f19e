// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <random>
#include <sstream>

#include "rpcrdma/base/print_error.hpp"
#include "rpcrdma/cli/endpoint.hpp"
#include "rpcrdma/cli/help.hpp"

namespace rpcrdma::proxy {
namespace {

constexpr const char* kAbout =
    "Relays iWARP connections from an initiator to a responder, and causes faults on\n"
    "the way. The same seed and rules cause the same faults.";

/// The words of the command line, not yet interpreted.
struct Words {
  std::string listen, to, script, log_level = "info", log_format = "text";
  std::vector<std::string> faults;
  std::optional<std::uint64_t> seed;
};

std::vector<cli::Section> help_sections() {
  return {
      {"Rules: ACTION KIND [N] [SETTING=VALUE]...; N: the N-th message of that kind",
       {{"cut KIND N after=BYTES how=close|reset", "end the connection, after so many bytes of the message"},
        {"delay KIND N count=N ms=MS", "delay messages, and all that follows in their direction"},
        {"hold KIND N ms=MS bytes=N", "stop this direction for MS, or until N bytes have passed in the other one"},
        {"split KIND N count=N size=BYTES|random", "send messages in pieces"},
        {"join KIND N count=N ms=MS", "send a message together with the data that follows within MS"},
        {"flip KIND N field=NAME crc=keep|fix",
         "flip a bit; fields: any, ddp-version, rdmap-version, queue, msn, stag; or bit=N"},
        {"credits reply N count=N grant=N", "lower the credit grant"},
        {"drop-reply PROCEDURE N",
         "end the connection instead of answering: create, mkdir, symlink, mknod, remove, rmdir, rename, link, any"},
        {"random connections=N each=N start-up=yes|no without=KIND",
         "let the seed choose up to N faults on each of the first connections, without cuts in their "
         "start-up if start-up=no"}}},
      {"Kinds of messages",
       {{"mpa-request, mpa-reply", "start-up frames of MPA"},
        {"call, reply", "RPC-over-RDMA messages, told apart by the RPC header or by their direction"},
        {"send", "other Sends"},
        {"read-request, read-response, write, terminate", "RDMAP messages"},
        {"other", "FPDUs of no known kind"},
        {"any", "all of them"}}},
      {"Settings of all rules",
       {{"dir=to-server|to-client", "messages of this direction only; by default both, each counted by itself"},
        {"connection=N", "the N-th connection only"},
        {"times=N", "on N connections at most, by default on one"}}},
      {"Ready line on standard output", {{"ready listen=ADDR:PORT to=ADDR:PORT seed=N", ""}}},
      {"Signals",
       {{"TERM, INT", "print counters, end the connections, and exit"}, {"USR1", "print counters to standard error"}}},
      {"Examples",
       {{"rpcrdma-proxy --listen 127.0.0.1:20050 --to 127.0.0.1:20049 --fault 'drop-reply mkdir'",
         "cuts the connection instead of passing on the first reply to a MKDIR"},
        {"rpcrdma-proxy --listen 127.0.0.1:0 --to 192.0.2.1:20049 --fault random --seed 7",
         "causes the faults of seed 7"}}}};
}

void add_options(CLI::App& app, Words& words) {
  app.set_version_flag("--version", "rpcrdma-proxy " RPCRDMA_VERSION, "Print the version and exit");
  app.add_option("--listen", words.listen, "Where initiators connect; port 0 picks a free one")
      ->type_name("ADDR:PORT")
      ->required();
  app.add_option("--to", words.to, "Where the responder listens")->type_name("ADDR:PORT")->required();
  app.add_option("--seed", words.seed, "Seed of all random choices")->type_name("N")->default_str("a random one");
  app.add_option("--script", words.script, "File with one rule in each line; # begins a comment")->type_name("FILE");
  app.add_option("--fault", words.faults, "A rule: see Rules")->type_name("RULE")->allow_extra_args(false);
  app.add_option("--log-level", words.log_level, "What to log to standard error")
      ->type_name("trace|debug|info|warn|error|off")
      ->capture_default_str();
  app.add_option("--log-format", words.log_format, "Form of the log; json is one object a line")
      ->type_name("text|json")
      ->capture_default_str();
  cli::finish(app, help_sections());
}

using Refusal = std::optional<std::string>;

Refusal read_script(const std::string& path, Script& script) {
  constexpr std::streamsize kMost = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  if (!file) return "--script: cannot read " + path;
  std::string text(static_cast<std::size_t>(kMost) + 1, '\0');
  file.read(text.data(), kMost + 1);
  if (file.bad()) return "--script: cannot read " + path;  // a folder can be opened, but not read
  if (file.gcount() > kMost) return "--script: longer than 1 MiB: " + path;
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (const auto wrong = add_rules(text, script)) return fmt::format("--script: {}: {}", path, *wrong);
  return std::nullopt;
}

Refusal interpret(const Words& words, Options& options) {
  const auto listen = cli::parse_endpoint(words.listen), to = cli::parse_endpoint(words.to);
  if (!listen) return "--listen: not ADDR:PORT: " + words.listen;
  if (!to || to->port() == 0) return "--to: not ADDR:PORT: " + words.to;
  options.listen = *listen;
  options.to = *to;
  std::random_device device;
  options.seed = words.seed ? *words.seed : device();
  if (!words.script.empty())
    if (auto refusal = read_script(words.script, options.script)) return refusal;
  for (const std::string& line : words.faults)
    if (const auto wrong = add_rule(line, options.script)) return fmt::format("--fault: '{}': {}", line, *wrong);
  if (!parse_log_level(words.log_level, options.log_level)) return "--log-level: not a level: " + words.log_level;
  if (!parse_log_format(words.log_format, options.log_format))
    return "--log-format: not text or json: " + words.log_format;
  return std::nullopt;
}

}  // namespace

std::optional<Options> parse_options(int argc, const char* const* argv, int& status) {
  CLI::App app{kAbout, "rpcrdma-proxy"};
  Words words;
  Options options;
  add_options(app, words);
  Refusal refusal;
  try {
    app.parse(argc, argv);
    refusal = interpret(words, options);
  } catch (const CLI::Success& help) {
    status = app.exit(help);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    refusal = error.what();
  }
  if (!refusal) return options;
  print_error("rpcrdma-proxy: {} (see rpcrdma-proxy --help)\n", *refusal);
  status = 2;
  return std::nullopt;
}

}  // namespace rpcrdma::proxy
