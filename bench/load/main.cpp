// SPDX-License-Identifier: BSD-3-Clause
// rpcrdma-load: READs or WRITEs of one size on one file of any server of NFSv3 over RDMA, with a given depth and
// duration.
// Operation: each worker has one registered buffer and one call in flight; all share one connection.
// Ownership: workers live in the group that Load::run() awaits.
// Error handling: the first error ends all workers.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <csignal>
#include <random>

#include "rpcrdma/base/log_format.hpp"
#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/capture_option/capture_option.hpp"
#include "rpcrdma/cli/help.hpp"
#include "rpcrdma/cli/poll.hpp"
#include "rpcrdma/fabric/open/open.hpp"
#include "rpcrdma/nfs/client.hpp"
#include "rpcrdma/nfs/path.hpp"
#include "rpcrdma/nfs/url.hpp"

namespace {

namespace asio = boost::asio;
using namespace rpcrdma;
using Clock = std::chrono::steady_clock;

struct Options {
  nfs::Url url;
  nfs::ClientOptions client;
  std::optional<nfs::FileHandle> root;
  std::uint32_t block = 1u << 20;
  std::uint32_t depth = 8;
  double seconds = 5;
  bool write = false;
  bool sync = false;
  bool random = false;
  Polling poll;
  std::optional<capture::CaptureOptions> capture;
};

/// Parses `url`, `fabric` and `root` into `options`. Returns the usage error; empty if there is none.
std::string understand(const std::string& url, const std::string& fabric, const std::string& root, Options& options) {
  auto parsed = nfs::parse_url(url);
  if (!parsed) return fmt::format("{}: {}", url, parsed.error().why);
  options.url = *parsed;
  fabric::parse_provider(fabric, options.client.fabric.provider);
  if (root.empty()) return {};
  options.root = nfs::parse_handle(root);
  return options.root ? "" : "--root-handle: not 1 to 64 bytes in hexadecimal";
}

/// Parses the command line. Returns the exit status, or -1 to continue.
int parse(int argc, char** argv, Options& options) {
  std::string url, fabric = "auto", root;
  CLI::App app{"Loads an NFSv3 server with READs or WRITEs of one file, and prints the rate.", "rpcrdma-load"};
  app.add_option("--fabric", fabric, "auto, verbs or iwarp")->check(CLI::IsMember(fabric::provider_names()));
  app.add_option("--root-handle", root, "file handle of the URL's first component; MOUNT is not called");
  app.add_option("--mount-port", options.client.mount_port, "ask the MOUNT service on this TCP port");
  app.add_option("--block", options.block, "bytes of one call")->check(CLI::Range(1u, 1u << 20))->capture_default_str();
  app.add_option("--depth", options.depth, "calls in flight")->check(CLI::Range(1u, 64u))->capture_default_str();
  app.add_option("--seconds", options.seconds, "duration of the load")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  CLI::Option* const write = app.add_flag("--write", options.write, "UNSTABLE WRITEs, and one COMMIT; default: READs");
  app.add_flag("--sync", options.sync, "FILE_SYNC WRITEs, as the kernel's client sends with O_DIRECT")->needs(write);
  app.add_flag("--random", options.random, "blocks in random order; default: in sequence");
  cli::add_poll_option(app, options.poll);
  capture::add_capture_option(app, options.capture);
  app.add_option("URL", url, "a file that exists: nfs://HOST[:PORT]/EXPORT/PATH")->required();
  cli::finish(app, {capture::help_section_of_capture()});
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "rpcrdma-load: {} (see rpcrdma-load --help)\n", error.what());
    return 2;
  }
  const std::string wrong = understand(url, fabric, root, options);
  if (!wrong.empty()) fmt::print(stderr, "rpcrdma-load: {}\n", wrong);
  return wrong.empty() ? -1 : 2;
}

class Load {
 public:
  Load(nfs::Client& client, const Options& options, nfs::Node file)
      : client_(client),
        options_(options),
        file_(std::move(file)),
        blocks_(file_.attributes.size / options.block),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds))) {}

  nfs::Task<void> run() {
    const Result<nfs::Limits> limits = co_await client_.limits(file_.handle);
    if (!limits) co_return limits.error();
    const std::uint32_t largest = options_.write ? limits->write_size : limits->read_size;
    if (blocks_ == 0 || options_.block > largest) {
      fmt::print(stderr,
                 "rpcrdma-load: choose a smaller --block: the file has {} bytes, and the server accepts {} in a call\n",
                 file_.attributes.size, largest);
      co_return make_error_code(BaseError::invalid_argument);
    }
    const Clock::time_point start = Clock::now();
    nfs::Group workers(client_.executor());
    for (std::uint32_t i = 0; i < options_.depth; ++i) workers.spawn(work());
    co_await workers.wait();
    if (!failed_ && options_.write && !options_.sync) {
      const Result<nfs::Verifier> committed = co_await client_.commit(file_.handle);
      if (!committed) failed_ = committed.error();
    }
    if (failed_) co_return failed_;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const double bytes = static_cast<double>(calls_) * options_.block;
    fmt::print("calls={} seconds={:.3f} mb_s={:.1f} iops={:.0f}\n", calls_, seconds, bytes / 1e6 / seconds,
               static_cast<double>(calls_) / seconds);
    co_return Result<void>();
  }

 private:
  std::uint64_t next_block() { return (options_.random ? random_() : next_++) % blocks_; }

  asio::awaitable<void> work() {
    Result<memory::RegisteredBuffer> buffer = client_.pool().allocate(options_.block);
    if (!buffer) failed_ = buffer.error();
    const auto stability = options_.sync ? nfs::Stable::file_sync : nfs::Stable::unstable;
    while (!failed_ && Clock::now() < end_) {
      const std::uint64_t offset = next_block() * options_.block;
      error_code failed;
      std::uint32_t count = 0;
      if (options_.write) {
        const auto done = co_await client_.write(file_.handle, offset, buffer->ref(), stability);
        if (done) count = done->count;
        if (!done) failed = done.error();
      } else {
        const auto done = co_await client_.read(file_.handle, offset, buffer->ref());
        if (done) count = done->count;
        if (!done) failed = done.error();
      }
      if (!failed && count != options_.block) failed = make_error_code(boost::system::errc::io_error);
      if (failed) failed_ = failed;
      ++calls_;
    }
  }

  nfs::Client& client_;
  const Options& options_;
  nfs::Node file_;
  const std::uint64_t blocks_;
  const Clock::time_point end_;
  std::uint64_t next_ = 0;
  std::uint64_t calls_ = 0;
  std::mt19937_64 random_{1};
  error_code failed_;
};

asio::awaitable<void> run(asio::io_context& context, const Options& options, error_code& failed) {
  const auto client = co_await nfs::Client::connect(context, options.url.host, options.url.port, options.client);
  if (!client) {
    failed = client.error();
    co_return;
  }
  nfs::PathResolver paths(**client, options.root);
  const Result<nfs::Node> file = co_await paths.resolve(options.url.path, true);
  if (!file) {
    failed = file.error();
    co_return;
  }
  Load load(**client, options, *file);
  const Result<void> done = co_await load.run();
  if (!done) failed = done.error();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const int status = parse(argc, argv, options); status >= 0) return status;
  // SIGUSR2 starts and stops a capture (ToggleBySignal). Without a capture, SIGUSR2 must not end the program.
  std::signal(SIGUSR2, SIG_IGN);
  fabric::raise_locked_memory_limit();
  const auto tap = capture::open_capture(options.capture, Log(make_stderr_sink(LogLevel::error, "rpcrdma-load")));
  if (!tap) {
    fmt::print(stderr, "rpcrdma-load: {}\n", tap.error().why);
    return 1;
  }
  options.client.fabric.tap = *tap;
  const capture::ToggleBySignal toggled(*tap);
  error_code failed;
  asio::io_context context(1);
  asio::co_spawn(context, run(context, options, failed), [](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
  Runner(context, options.poll).run();
  if (failed) fmt::print(stderr, "rpcrdma-load: {}: {}\n", options.url.text(), failed.message());
  return failed ? 1 : 0;
}
