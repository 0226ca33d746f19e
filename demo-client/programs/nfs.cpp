// SPDX-License-Identifier: BSD-3-Clause
// rpcrdma-nfs: one command on files of an NFSv3 server.
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <csignal>
#include <cstdlib>

#include "commands/context.hpp"
#include "commands/statistics.hpp"
#include "rpcrdma/base/log_format.hpp"
#include "rpcrdma/base/print_error.hpp"
#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/capture_option/capture_option.hpp"
#include "rpcrdma/cli/limits.hpp"
#include "rpcrdma/fabric/open/open.hpp"

namespace {

namespace asio = boost::asio;
using namespace rpcrdma;
using commands::Options;

void end_by_signal(int number) { _exit(128 + number); }

/// SIGPIPE has two causes: a lost connection on siw, which sends on the caller's thread without MSG_NOSIGNAL, and a
/// standard output whose reader has gone. Only the second one ends the program.
void end_if_nobody_reads(int number) {
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  if (::poll(&output, 1, 0) != 1) return;
  std::signal(number, SIG_DFL);
  raise(number);
}

/// SIGINT, SIGTERM and SIGHUP end the program at once: the kernel closes the connection, and a file may stay
/// incomplete, as with cp.
void handle_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, end_by_signal);
  std::signal(SIGPIPE, end_if_nobody_reads);
  // Without a capture, SIGUSR2 must not end the program. With a capture, ToggleBySignal installs a handler later.
  std::signal(SIGUSR2, SIG_IGN);
}

/// Returns a log with the level that RPCRDMA_LOG names. If it names none, the log writes nothing, so that the program
/// reports each error in one line.
Log log_of_environment() {
  const char* text = std::getenv("RPCRDMA_LOG");
  LogLevel level = LogLevel::off;
  if (text == nullptr || !parse_log_level(text, level)) return {};
  LogFormat format = LogFormat::text;
  if (const char* form = std::getenv("RPCRDMA_LOG_FORMAT")) parse_log_format(form, format);
  return Log(make_stderr_sink(level, "rpcrdma-nfs", format));
}

nfs::ClientOptions client_options(const Options& options, std::shared_ptr<fabric::Tap> tap) {
  nfs::ClientOptions out;
  out.fabric = options.fabric;
  out.fabric.tap = std::move(tap);
  out.version = options.version;
  out.timeout = options.timeout;
  out.uid = options.uid;
  out.gid = options.gid;
  out.mount_port = options.mount_port;
  out.connections = options.connections;
  out.log = log_of_environment();
  return out;
}

asio::awaitable<void> run(asio::io_context& context, const Options& options, std::shared_ptr<fabric::Tap> tap,
                          commands::Reporter& report) {
  nfs::ClientOptions wanted = client_options(options, std::move(tap));
  const auto client = co_await nfs::Client::connect(context, options.url.host, options.url.port, std::move(wanted));
  if (!client) co_return report.fail(options.url.text(), client.error());
  report.set_client(client->get());
  nfs::PathResolver paths(**client, options.root);
  commands::Context command{options, **client, paths, report};
  co_await commands::find_command(options.command)(command);
  report.set_client(nullptr);
  co_await (*client)->close();
}

}  // namespace

int main(int argc, char** argv) {
  auto parsed = commands::parse_options(argc, argv);
  if (const auto* exit = std::get_if<commands::Exit>(&parsed)) return exit->status;
  Options& options = std::get<Options>(parsed);
  if (options.command == "stats") return commands::run_statistics(options.statistics, options.once, options.json);
  options.umask = ::umask(0);
  ::umask(options.umask);
  handle_signals();
  // The copy of a directory tree keeps each local directory open while the entries below it are copied. A deep tree
  // therefore needs many descriptors.
  cli::raise_descriptor_limit();
  fabric::raise_locked_memory_limit();

  commands::Reporter report(options.command);
  const auto tap = capture::open_capture(options.capture, Log(make_stderr_sink(LogLevel::error, "rpcrdma-nfs")));
  if (!tap) {
    print_error("rpcrdma-nfs: {}\n", tap.error().why);
    return 1;
  }
  const capture::ToggleBySignal toggled(*tap);
  try {
    asio::io_context context(1);
    asio::co_spawn(context, run(context, options, *tap, report), [](std::exception_ptr thrown) {
      if (thrown) std::rethrow_exception(thrown);
    });
    Runner(context, options.poll).run();
  } catch (const std::exception& error) {
    report.fail(options.url.text(), std::string_view(error.what()));
  }
  return report.failed() ? 1 : 0;
}
