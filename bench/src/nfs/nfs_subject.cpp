// SPDX-License-Identifier: BSD-3-Clause
// Operation: one coroutine for each call in flight makes one call after another until the time is up. READ takes the
// first bytes of the file, as the library's own benchmark service reads from one buffer; each WRITE coroutine writes
// its own part of the file. Ownership: a run owns its buffers and outlives its coroutines; the directories below the
// temporary one belong to the server. Error handling: the first failed call ends the run with an exception.
#include "nfs_subject.hpp"

#include <stdlib.h>

#include <boost/asio/detached.hpp>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "child.hpp"
#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/nfs/client.hpp"
#include "rpcrdma/nfsd/program/daemon.hpp"
#include "timing.hpp"

namespace rpcrdma::bench {
namespace {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "rpcrdma-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary directory");
    path_ = name;
    std::filesystem::create_directory(path_ / "export");
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

void serve_nfs(const Setting& setting, const nfsd::ExportSpec& exported, const std::filesystem::path& folder,
               const Child::Ready& ready) {
  nfsd::Options options;
  options.exports.push_back(exported);
  options.command_line_exports = 1;
  options.listens.push_back({{boost::asio::ip::make_address("127.0.0.1"), 0}, setting.open.provider});
  options.crc = setting.open.crc;
  options.version = setting.server;
  options.poll = setting.poll;
  options.inline_threshold = setting.threshold;
  options.state_dir = folder / "state";
  options.log_level = LogLevel::warn;
  nfsd::Daemon daemon(std::move(options), Log(make_stderr_sink(LogLevel::warn, "rpcrdma-bench")));
  if (const auto started = daemon.start(); !started) throw std::runtime_error(started.error().text);
  const std::string line = daemon.ready_line();  // ready rdma=ADDR:PORT fabric=...
  ready(static_cast<std::uint16_t>(std::stoul(line.substr(line.find(':') + 1))));
  daemon.run();
}

nfsd::ExportSpec export_of(ExportKind kind, const std::filesystem::path& folder) {
  const std::string text =
      (kind == ExportKind::memory ? "memory" : (folder / "export").string()) + ":/bench,no_root_squash";
  auto spec = nfsd::parse_export(text);
  if (!spec) throw std::runtime_error(spec.error().text);
  return std::move(*spec);
}

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

class Nfs final : public Subject {
 public:
  Nfs(const Setting& setting, ExportKind kind)
      : setting_(setting), child_([&](Board&, const auto& ready) {
          serve_nfs(setting, export_of(kind, folder_.path()), folder_.path(), ready);
        }) {}
  // Closing the connection needs a running event loop.
  ~Nfs() override {
    client_.reset();
    context_.restart();
    context_.run_for(std::chrono::seconds(1));
  }
  Nfs(const Nfs&) = delete;
  Nfs& operator=(const Nfs&) = delete;

  std::optional<Outcome> run(const Case& which, std::chrono::milliseconds budget) override {
    const bool known = which.operation == Operation::attributes || which.operation == Operation::read ||
                       which.operation == Operation::write;
    if (!known) return std::nullopt;
    if (client_ == nullptr) complete(prepare());
    Progress progress{.which = which, .active = which.depth};
    progress.samples.reserve(1 << 18);
    std::vector<memory::RegisteredBuffer> buffers;
    for (std::uint32_t i = 0; i < which.depth; ++i)
      buffers.push_back(must(client_->pool().allocate(std::max(which.bytes, 4096u))));
    const auto start = Clock::now();
    progress.end = start + budget;
    for (std::uint32_t i = 0; i < which.depth; ++i)
      boost::asio::co_spawn(context_, sequence(progress, i, buffers[i].ref()), boost::asio::detached);
    context_.restart();
    while (progress.active != 0) runner_.run_one();
    if (progress.failed) throw std::runtime_error(progress.failed.message());
    return which.unit == "us" ? typical(progress.samples) : rate(which, progress.done, seconds_since(start));
  }

  Usage usage() override { return child_.usage(); }

 private:
  static constexpr std::uint32_t kFile = 8u << 20;
  static constexpr std::uint32_t kPiece = 1u << 20;

  struct Progress {
    const Case& which;
    Clock::time_point end{};
    std::uint64_t done = 0;
    std::uint32_t active = 0;
    std::vector<double> samples{};
    error_code failed{};
  };

  void complete(boost::asio::awaitable<void> task) {
    std::exception_ptr thrown;
    bool over = false;
    boost::asio::co_spawn(context_, std::move(task), [&](std::exception_ptr error) {
      thrown = error;
      over = true;
    });
    context_.restart();
    while (!over) runner_.run_one();
    if (thrown) std::rethrow_exception(thrown);
  }

  boost::asio::awaitable<void> prepare() {
    nfs::ClientOptions options;
    options.fabric = setting_.open;
    options.version = setting_.client;
    std::string host = "127.0.0.1";
    client_ = must(co_await nfs::Client::connect(context_, std::move(host), child_.port(), std::move(options)));
    std::string path = "/bench";
    const nfs::FileHandle root = must(co_await client_->mount(std::move(path)));
    std::string name = "file";
    const nfs::SetAttributes attributes{.mode = 0644};
    file_ = must(co_await client_->create(root, std::move(name), attributes, false)).handle;
    const memory::RegisteredBuffer buffer = must(client_->pool().allocate(kPiece));
    std::ranges::fill(buffer.octets(), std::byte{'r'});
    for (std::uint32_t offset = 0; offset < kFile; offset += kPiece) {
      const BufferRef from = buffer.ref();
      must(co_await client_->write(file_, offset, from, nfs::Stable::unstable));
    }
  }

  boost::asio::awaitable<void> sequence(Progress& progress, std::uint32_t number, BufferRef buffer) {
    const BufferRef data = buffer.slice(0, progress.which.bytes);
    const std::uint64_t offset = std::uint64_t{number} * kPiece % kFile;
    do {
      const auto start = Clock::now();
      const error_code failed = co_await operation(progress.which.operation, offset, data);
      if (failed) progress.failed = failed;
      progress.samples.push_back(microseconds(Clock::now() - start));
      ++progress.done;
    } while (Clock::now() < progress.end && !progress.failed);
    --progress.active;
  }

  boost::asio::awaitable<error_code> operation(Operation which, std::uint64_t offset, BufferRef data) {
    if (which == Operation::attributes) co_return error_of(co_await client_->getattr(file_));
    if (which == Operation::read) {
      const auto read = co_await client_->read(file_, 0, data);
      if (read && read->count != data.size) co_return make_error_code(boost::system::errc::io_error);
      co_return error_of(read);
    }
    const auto written = co_await client_->write(file_, offset, data, nfs::Stable::unstable);
    if (written && written->count != data.size) co_return make_error_code(boost::system::errc::io_error);
    co_return error_of(written);
  }
  template <class T>
  static error_code error_of(const Result<T>& result) {
    return result ? error_code() : result.error();
  }

  Setting setting_;
  TemporaryDirectory folder_;
  Child child_;
  boost::asio::io_context context_{1};
  Runner runner_{context_, setting_.poll};
  std::unique_ptr<nfs::Client> client_;
  nfs::FileHandle file_;
};

}  // namespace

std::unique_ptr<Subject> make_nfs(const Setting& setting, ExportKind kind) {
  return std::make_unique<Nfs>(setting, kind);
}

}  // namespace rpcrdma::bench
