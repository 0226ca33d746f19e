// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "captured.hpp"
#include "command.hpp"
#include "rpcrdma/cli/endpoint.hpp"
#include "rpcrdma/conform/server/tester.hpp"

namespace rpcrdma::conform {
namespace {

/// The values of the command line. The parser stores some of them in `options` directly. interpret() checks and
/// converts the strings and `patience`, and stores the results in `options` as well.
struct ServerWords {
  std::string server, program = "nfs3", crc, root_handle;
  double patience = 10;
  RunWords run;
  std::optional<capture::CaptureOptions> capture;
  ServerOptions options;
};

std::optional<Bytes> parse_hex(std::string_view text) {
  Bytes out;
  if (text.empty() || text.size() % 2 != 0) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned byte = 0;
    const auto [end, failed] = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    if (failed != std::errc() || end != text.data() + i + 2) return std::nullopt;
    out.push_back(static_cast<std::byte>(byte));
  }
  return out;
}

void interpret(ServerWords& words) {
  if (words.run.list) return;
  if (words.server.empty()) throw UsageError("no SERVER");
  ServerOptions& options = words.options;
  std::string_view server = words.server;
  if (const std::size_t at = server.find('@'); at != server.npos) {
    if (!fabric::parse_provider(server.substr(0, at), options.fabric.provider))
      throw UsageError("not a fabric: " + std::string(server.substr(0, at)));
    server.remove_prefix(at + 1);
  }
  const auto endpoint = cli::parse_endpoint(server);
  if (!endpoint || endpoint->port() == 0) throw UsageError("not [FABRIC@]ADDR:PORT: " + words.server);
  options.server = *endpoint;
  options.fabric.towards = true;
  if (!words.crc.empty()) options.fabric.crc = words.crc == "on" ? fabric::CrcPolicy::on : fabric::CrcPolicy::off;
  options.program = words.program == "null" ? Program::null : Program::nfs3;
  if (!words.root_handle.empty()) {
    options.root_handle = parse_hex(words.root_handle);
    if (!options.root_handle) throw UsageError("--root-handle: not an even number of hexadecimal digits");
  }
  options.patience = std::chrono::milliseconds(static_cast<std::int64_t>(words.patience * 1000));
  if (options.program == Program::nfs3 && options.export_path.empty() && !options.root_handle)
    throw UsageError("--program nfs3 needs --export or --root-handle");
}

int run_server(ServerWords& words) {
  interpret(words);
  const Captured captured(words.run.list ? std::nullopt : words.capture, words.options.fabric);
  ServerTester tester(words.options);
  const Subject subject{"rpcrdma-conform server", RPCRDMA_VERSION, words.server, {}};
  return run_suite(
      tester.suite(), subject, words.run, [&] { return tester.reach(); }, [&] { return tester.check_health(); });
}

void add_calls(CLI::App& command, ServerWords& words) {
  command.add_option("--program", words.program, "Program of the server: NFSv3, or any program whose NULL is called")
      ->type_name("NAME")
      ->capture_default_str()
      ->check(CLI::IsMember({"nfs3", "null"}));
  command
      .add_option("--export", words.options.export_path,
                  "Export in which the tester makes a directory of its own, and removes it afterwards")
      ->type_name("PATH");
  command.add_option("--mount-port", words.options.mount_port, "Use the MOUNT service on this TCP port")
      ->type_name("N")
      ->default_str("over the connection itself")
      ->check(CLI::Range(1, 65535));
  command.add_option("--root-handle", words.root_handle, "File handle of the export; MOUNT is not used")
      ->type_name("HEX");
  command.add_option("--null-program", words.options.null_program, "Number of the program whose NULL is called")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--null-version", words.options.null_version, "Version of that program")
      ->type_name("N")
      ->capture_default_str();
  words.options.uid = getuid();
  words.options.gid = getgid();
  command.add_option("--uid", words.options.uid, "User id in calls")
      ->type_name("N")
      ->default_str("that of the process");
  command.add_option("--gid", words.options.gid, "Group id in calls")
      ->type_name("N")
      ->default_str("that of the process");
}

}  // namespace

Command add_server_command(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("server", "Test a server");
  const auto words = std::make_shared<ServerWords>();
  command->footer("rpcrdma-conform server --export /data --html report.html 192.0.2.1:20049");
  command
      ->add_option("SERVER", words->server,
                   "[FABRIC@]ADDR:PORT; verbs is an RDMA device, iwarp the userspace stack on TCP")
      ->type_name("");
  add_calls(*command, *words);
  command->add_option("--crc", words->crc, "iWARP CRCs")
      ->type_name("on|off")
      ->default_str("off between loopback addresses, else on")
      ->check(CLI::IsMember({"on", "off"}));
  command->add_option("--patience", words->patience, "How long to wait for an answer")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0));
  capture::add_capture_option(*command, words->capture);
  add_run_options(*command, words->run);
  return {command, [words] { return run_server(*words); }};
}

}  // namespace rpcrdma::conform
