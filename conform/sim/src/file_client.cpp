// SPDX-License-Identifier: BSD-3-Clause
// Operation: connects and mounts the export, both with retries, and runs the workers concurrently.
// Ownership: coroutines refer to this object, which is destroyed after they have ended.
// Error handling: a lost device ends the workers with the errors of their operations.
#include "file_client.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "file_worker.hpp"
#include "rpcrdma/fabric/forwarding.hpp"

namespace rpcrdma::sim {

namespace asio = boost::asio;

namespace {

constexpr std::uint32_t kUser = 1000;

nfs::ClientOptions options_of(const Stage& stage) {
  nfs::ClientOptions out;
  out.version = stage.setup().client.version;
  out.timeout = std::chrono::milliseconds(stage.setup().call_timeout_ms);
  out.uid = out.gid = kUser;
  out.max_registered = std::size_t{16} << 20;
  out.log = stage.log;
  return out;
}

}  // namespace

FileClient::FileClient(Stage& stage, std::uint32_t number)
    : stage_(stage),
      number_(number),
      fabric_(stage.network.make_fabric(fmt::format("files{}", number), stage.setup().client_device)) {
  for (std::uint32_t i = 0; i < stage.setup().workers; ++i)
    workers_.push_back(std::make_unique<FileWorker>(stage, fmt::format("c{}w{}", number, i),
                                                    stage.plan.seed * 1000 + number * 10 + i, *fabric_));
  asio::co_spawn(stage.context, run(), [this](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
    finished_ = true;
    stage_.trace.note("files{} finished", number_);
  });
}

FileClient::~FileClient() = default;

asio::awaitable<void> FileClient::connect() {
  for (std::uint32_t attempt = 0; !lost_ && client_ == nullptr && attempt < 100; ++attempt) {
    // The client owns the forwarder, but not fabric_. The simulator still reads the counters of fabric_ when the client
    // has ended.
    auto made = co_await nfs::Client::connect_over(std::make_unique<fabric::ForwardingFabric>(fabric_), stage_.endpoint,
                                                   options_of(stage_));
    if (made) {
      client_ = std::move(*made);
      co_return;
    }
    stage_.trace.note("files{}: cannot connect: {}", number_, made.error().message());
    asio::steady_timer timer(stage_.context, std::chrono::milliseconds(100));
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

asio::awaitable<void> FileClient::run() {
  co_await connect();
  for (std::uint32_t attempt = 0; client_ != nullptr && !lost_ && attempt < 100; ++attempt) {
    const Result<nfs::FileHandle> root = co_await client_->mount("/data");
    if (root) {
      nfs::Group group(stage_.context.get_executor());
      for (const auto& worker : workers_) group.spawn(worker->run(*client_, *root, lost_));
      co_await group.wait();
      co_return;
    }
    stage_.trace.note("files{}: cannot mount: {}", number_, root.error().message());
  }
  stage_.trace.require(!stage_.plan.liveness || lost_, invariant::kAlive, "files{} cannot connect or mount", number_);
}

void FileClient::lose_device() {
  if (lost_) return;
  lost_ = true;
  fabric_->lose_device();
}

void FileClient::check_idle() {
  stage_.trace.require(fabric_->bound_windows() == 0, invariant::kNothingLeft, "files{}: {} windows bound", number_,
                       fabric_->bound_windows());
}

void FileClient::check_files(nfsd::FileSystem& files) {
  for (const auto& worker : workers_) worker->check(files);
}

}  // namespace rpcrdma::sim
