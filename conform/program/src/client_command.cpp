// SPDX-License-Identifier: BSD-3-Clause
#include <CLI/CLI.hpp>

#include "captured.hpp"
#include "command.hpp"
#include "rpcrdma/cli/endpoint.hpp"
#include "rpcrdma/conform/client/tester.hpp"

namespace rpcrdma::conform {
namespace {

constexpr int kStatusOfSignal = 128;

/// The values of the command line; interpret() completes `options`.
struct ClientWords {
  std::string listen, crc;
  double patience = 60;
  std::uint64_t memory = 1024;
  RunWords run;
  std::optional<capture::CaptureOptions> capture;
  ClientOptions options;
};

void interpret(ClientWords& words) {
  if (words.run.list) return;
  if (words.listen.empty()) throw UsageError("no --listen");
  ClientOptions& options = words.options;
  std::string_view listen = words.listen;
  if (const std::size_t at = listen.find('@'); at != listen.npos) {
    if (!fabric::parse_provider(listen.substr(0, at), options.fabric.provider))
      throw UsageError("not a fabric: " + std::string(listen.substr(0, at)));
    listen.remove_prefix(at + 1);
  }
  const auto endpoint = cli::parse_endpoint(listen);
  if (!endpoint) throw UsageError("not [FABRIC@]ADDR:PORT: " + words.listen);
  if (endpoint->address().is_unspecified())
    throw UsageError("--listen: a client cannot connect to a wildcard address: " + words.listen);
  options.listen = *endpoint;
  if (!words.crc.empty()) options.fabric.crc = words.crc == "on" ? fabric::CrcPolicy::on : fabric::CrcPolicy::off;
  if (options.command.empty()) throw UsageError("no COMMAND after --");
  if (options.export_name.empty() || options.export_name.find('/') != std::string::npos)
    throw UsageError("--export: an empty name or a name with a slash: " + options.export_name);
  options.patience = std::chrono::milliseconds(static_cast<std::int64_t>(words.patience * 1000));
  options.memory = words.memory << 20;
}

int run_client(ClientWords& words) {
  interpret(words);
  const Captured captured(words.run.list ? std::nullopt : words.capture, words.options.fabric);
  std::string peer;
  for (const std::string& each : words.options.command) peer += (peer.empty() ? "" : " ") + each;
  ClientTester tester(words.options);
  const Subject subject{"rpcrdma-conform client", RPCRDMA_VERSION, peer, {}};
  // No health check: each case starts the command anew, so that a failure does not affect later cases.
  try {
    return run_suite(
        tester.suite(), subject, words.run, [&] { return tester.reach(); }, [] { return std::string(); });
  } catch (const ClientInterrupted& interrupted) {
    return kStatusOfSignal + interrupted.signal;
  }
}

}  // namespace

Command add_client_command(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("client", "Test a client: a command that is run once for each case");
  const auto words = std::make_shared<ClientWords>();
  command->footer("rpcrdma-conform client --listen 127.0.0.1:0 -- rpcrdma-nfs get -r {url} {dir}");
  command
      ->add_option("COMMAND", words->options.command,
                   "The client and its arguments, after --; {url}, {address}, {port}, {dir}, {source}... are replaced")
      ->type_name("");
  command
      ->add_option("--listen", words->listen,
                   "[FABRIC@]ADDR:PORT to serve at; verbs is an RDMA device, iwarp the userspace stack on TCP; port 0 "
                   "is any free port")
      ->type_name("ADDRESS");
  command->add_option("--export", words->options.export_name, "Name of the export, whose files are in memory")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--mount-port", words->options.mount_port, "Serve MOUNT on this TCP port too; 0: any free port")
      ->type_name("N")
      ->default_str("over RDMA only")
      ->check(CLI::Range(0, 65535));
  command->add_option("--crc", words->crc, "iWARP CRCs")
      ->type_name("on|off")
      ->default_str("off between loopback addresses, else on")
      ->check(CLI::IsMember({"on", "off"}));
  command->add_option("--patience", words->patience, "How long COMMAND may run in a case")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 86400.0));
  command
      ->add_option("--memory", words->memory,
                   "Memory that COMMAND may use in addition to that of the run without a fault")
      ->type_name("MIB")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  capture::add_capture_option(*command, words->capture);
  add_run_options(*command, words->run);
  return {command, [words] { return run_client(*words); }};
}

}  // namespace rpcrdma::conform
