// SPDX-License-Identifier: BSD-3-Clause
// Operation: one coroutine for each call in flight makes one call after another until the time is up. All READs take
// the first bytes of the file, as those of the library's own benchmark service take the bytes of one buffer. Each WRITE
// coroutine writes its own part of the file. One coroutine lists directories. A Copier copies trees.
// Ownership: a run owns its buffers and outlives its coroutines; the subject owns the server and the directory.
// Error handling: a run in which an operation fails ends with an exception.
#include "nfs_subject.hpp"

#include <fmt/core.h>

#include <boost/asio/detached.hpp>
#include <stdexcept>
#include <vector>

#include "child.hpp"
#include "material.hpp"
#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/nfs/client.hpp"
#include "rpcrdma/nfs/copy.hpp"
#include "scraper.hpp"
#include "timing.hpp"

namespace rpcrdma::bench {
namespace {

/// Counts the files that a copy has completed. check() throws if the copy has reported a problem, or if the number of
/// completed files differs from its argument.
class StrictObserver final : public nfs::CopyObserver {
 public:
  void on_found(std::uint64_t) override {}
  void on_moved(std::uint64_t) override {}
  void on_file_done() override { ++files_; }
  void on_problem(std::string_view path, const error_code& why) override {
    problem_ = std::string(path) + ": " + why.message();
  }
  void check(std::uint32_t files) const {
    if (!problem_.empty()) throw std::runtime_error(problem_);
    if (files_ != files) throw std::runtime_error("the tree was not copied completely");
  }

 private:
  std::uint32_t files_ = 0;
  std::string problem_;
};

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

class Nfs final : public Subject {
 public:
  Nfs(const Setting& setting, ExportKind kind)
      : setting_(setting), child_(start_nfs_server(setting, kind, folder_, NfsPort::rdma)) {}
  // Closing the connection needs a running event loop.
  ~Nfs() override {
    client_.reset();
    context_.restart();
    context_.run_for(std::chrono::seconds(1));
  }
  Nfs(const Nfs&) = delete;
  Nfs& operator=(const Nfs&) = delete;

  std::optional<Outcome> run(const Case& which, std::chrono::milliseconds budget) override {
    if (client_ == nullptr) complete(prepare());
    std::optional<Scraper> scraper;
    if (setting_.statistics) scraper.emplace(child_->board().statistics_port);
    const auto outcome = run_operation(which, budget);
    if (scraper) scraper->check();
    return outcome;
  }

  Usage usage() override { return child_->usage(); }

 private:
  static constexpr std::uint32_t kPiece = 1u << 20;

  std::optional<Outcome> run_operation(const Case& which, std::chrono::milliseconds budget) {
    switch (which.operation) {
      case Operation::null:
      case Operation::attributes:
      case Operation::lookup:
      case Operation::read:
      case Operation::write:
      case Operation::create_remove: return calls(which, budget);
      case Operation::read_directory: return read_directory(which, budget);
      case Operation::tree_put:
      case Operation::tree_get: return copy_tree(which);
      default: return std::nullopt;
    }
  }

  struct Progress {
    const Case& which;
    Clock::time_point end{};
    bool over = false;  // whether the end has been reached
    std::uint64_t done = 0;
    std::uint32_t active = 0;
    std::vector<double> samples{};
    error_code failed{};
  };

  Outcome calls(const Case& which, std::chrono::milliseconds budget) {
    Progress progress{.which = which, .active = which.depth};
    progress.samples.reserve(1 << 18);
    std::vector<memory::RegisteredBuffer> buffers;
    for (std::uint32_t i = 0; i < which.depth; ++i)
      buffers.push_back(must(client_->pool().allocate(std::max(which.bytes, 4096u))));
    const auto start = Clock::now();
    progress.end = start + budget;
    for (std::uint32_t i = 0; i < which.depth; ++i)
      boost::asio::co_spawn(context_, sequence_of(progress, i, buffers[i].ref()), boost::asio::detached);
    context_.restart();
    while (progress.active != 0) runner_.run_one();
    if (progress.failed) throw std::runtime_error(progress.failed.message());
    return which.unit == "us" ? typical(progress.samples) : rate(which, progress.done, seconds_since(start));
  }

  Outcome read_directory(const Case& which, std::chrono::milliseconds budget) {
    if (!std::filesystem::exists(folder_.exported() / "list")) fill_directory(folder_.exported() / "list");
    const Outcome lists = sequential_rate(which, budget, [this] { complete(list()); });
    return {lists.value * kListed, lists.operations * kListed};
  }

  boost::asio::awaitable<void> list() {
    std::string name = "list";
    const nfs::FileHandle directory = must(co_await client_->lookup(root_, std::move(name))).handle;
    nfs::Client::Page page;
    std::uint32_t found = 0;
    do {
      page = must(co_await client_->read_directory(directory, page.next, true));
      for (const nfs::DirectoryEntry& entry : page.entries)
        if (entry.attributes && nfs::is_plain_name(entry.name)) ++found;
    } while (!page.end);
    if (found != kListed) throw std::runtime_error("the directory was not listed completely");
  }

  /// Copies the tree to a directory that no earlier copy has used. The copies remain in folder_, which removes them
  /// when the subject is destroyed.
  Outcome copy_tree(const Case& which) {
    const bool put = which.operation == Operation::tree_put;
    const std::filesystem::path from = put ? folder_.path() / "tree" : folder_.exported() / "tree";
    if (!std::filesystem::exists(from)) make_tree(from, which.files);
    const auto start = Clock::now();
    complete(put ? upload(from, which.files) : download(which.files));
    return rate(which, which.files, seconds_since(start));
  }

  boost::asio::awaitable<void> upload(std::filesystem::path from, std::uint32_t files) {
    StrictObserver observer;
    nfs::Copier copier(*client_, observer, must(co_await client_->limits(root_)));
    nfs::LocalDirectory directory = must(nfs::LocalDirectory::open(from.string()));
    std::string name = fmt::format("put{}", copies_++);
    must(co_await copier.upload_tree(std::move(directory), root_, std::move(name)));
    observer.check(files);
  }

  boost::asio::awaitable<void> download(std::uint32_t files) {
    StrictObserver observer;
    nfs::Copier copier(*client_, observer, must(co_await client_->limits(root_)));
    std::string source = "tree";
    const nfs::Node tree = must(co_await client_->lookup(root_, std::move(source)));
    nfs::LocalDirectory directory = must(nfs::LocalDirectory::open(folder_.path().string()));
    std::string name = fmt::format("got{}", copies_++);
    must(co_await copier.download_tree(tree, std::move(directory), std::move(name)));
    observer.check(files);
  }

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
    client_ = must(co_await nfs::Client::connect(context_, std::move(host), child_->port(), std::move(options)));
    std::string path = "/bench";
    root_ = must(co_await client_->mount(std::move(path)));
    std::string name = "file";
    const nfs::SetAttributes attributes{.mode = 0644};
    file_ = must(co_await client_->create(root_, std::move(name), attributes, false)).handle;
    const memory::RegisteredBuffer buffer = must(client_->pool().allocate(kPiece));
    std::ranges::fill(buffer.octets(), std::byte{'r'});
    for (std::uint32_t offset = 0; offset < kFileBytes; offset += kPiece) {
      const BufferRef from = buffer.ref();
      must(co_await client_->write(file_, offset, from, nfs::Stable::unstable));
    }
  }

  /// Makes calls one after another. `call` begins a call and returns its Task.
  template <class Call>
  static boost::asio::awaitable<void> sequence(Progress& progress, Call call) {
    do {
      const auto start = Clock::now();
      const auto result = co_await call();
      const auto now = Clock::now();
      if (!result) progress.failed = result.error();
      progress.samples.push_back(microseconds(now - start));
      ++progress.done;
      progress.over = now >= progress.end;
    } while (!progress.over && !progress.failed);
    --progress.active;
  }

  boost::asio::awaitable<void> sequence_of(Progress& progress, std::uint32_t number, BufferRef buffer) {
    const BufferRef data = buffer.slice(0, progress.which.bytes);
    switch (progress.which.operation) {
      case Operation::null: return sequence(progress, [this] { return client_->null(); });
      case Operation::attributes: return sequence(progress, [this] { return client_->getattr(file_); });
      case Operation::lookup: return sequence(progress, [this] { return client_->lookup(root_, "file"); });
      case Operation::create_remove:
        return sequence(progress, [this, number] { return create_remove(fmt::format("c{}", number)); });
      case Operation::read: return sequence(progress, [this, data] { return read(data); });
      default:
        return sequence(progress, [this, data, offset = std::uint64_t{number} * kPiece % kFileBytes] {
          return write(offset, data);
        });
    }
  }
  nfs::Task<void> read(BufferRef data) {
    const auto read = co_await client_->read(file_, 0, data);
    if (!read) co_return read.error();
    if (read->count != data.size) co_return make_error_code(boost::system::errc::io_error);
    co_return Result<void>();
  }
  nfs::Task<void> write(std::uint64_t offset, BufferRef data) {
    const auto written = co_await client_->write(file_, offset, data, nfs::Stable::unstable);
    if (!written) co_return written.error();
    if (written->count != data.size) co_return make_error_code(boost::system::errc::io_error);
    co_return Result<void>();
  }
  nfs::Task<void> create_remove(std::string name) {
    const nfs::SetAttributes attributes{.mode = 0644};
    std::string created = name;
    const auto made = co_await client_->create(root_, std::move(created), attributes, true);
    if (!made) co_return made.error();
    co_return co_await client_->remove(root_, std::move(name));
  }

  Setting setting_;
  TemporaryDirectory folder_;
  std::unique_ptr<Child> child_;
  boost::asio::io_context context_{1};
  Runner runner_{context_, setting_.poll};
  std::unique_ptr<nfs::Client> client_;
  nfs::FileHandle root_;
  nfs::FileHandle file_;
  int copies_ = 0;
};

}  // namespace

std::unique_ptr<Subject> make_nfs(const Setting& setting, ExportKind kind) {
  return std::make_unique<Nfs>(setting, kind);
}

}  // namespace rpcrdma::bench
