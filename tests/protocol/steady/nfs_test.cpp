// SPDX-License-Identifier: BSD-3-Clause
// In the steady state calls of the NFS client allocate nothing, on either side. The server has its files in memory.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <boost/asio/co_spawn.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "rpcrdma/fabric/iwarp/iwarp.hpp"
#include "rpcrdma/nfs/client.hpp"
#include "rpcrdma/nfsd/program/fabric_worker.hpp"
#include "support/run.hpp"
#include "tally.hpp"

namespace rpcrdma::test {
namespace {

class SteadyNfs : public testing::Test {
 protected:
  static constexpr std::uint32_t kMost = 1u << 20;

  SteadyNfs() {
    std::string state = (std::filesystem::temp_directory_path() / "steady-nfs-XXXXXX").string();
    EXPECT_NE(::mkdtemp(state.data()), nullptr);
    state_ = state;
    EXPECT_TRUE(exports_.add(*nfsd::parse_export("memory:/data,no_root_squash"), state_, Log{}));
    worker_ = std::make_unique<nfsd::FabricWorker>(make_fabric(), shared_, Log{});
    server_ = transport::Server::make({worker_->worker()}, {}, Log{});
    fabric::Endpoint endpoint;
    server_->listen({boost::asio::ip::make_address("127.0.0.1"), 0}, [&endpoint](Result<fabric::Endpoint> bound) {
      ASSERT_TRUE(bound);
      endpoint = *bound;
    });
    EXPECT_TRUE(run_until(context_, [&endpoint] { return endpoint.port() != 0; }));
    complete(prepare(endpoint));
    // No call uses the I/O thread. But the allocations of all threads are counted, and on a busy machine this thread
    // may begin late, and allocates then.
    while (io_.idle() == 0) std::this_thread::yield();
  }
  ~SteadyNfs() override {
    buffer_ = {};
    client_.reset();
    bool closed = false;
    server_->close(std::chrono::steady_clock::now() + std::chrono::seconds(5), [&closed] { closed = true; });
    EXPECT_TRUE(run_until(context_, [&closed] { return closed; }));
    io_.join();
    run_ready(context_);
    std::error_code ignored;
    std::filesystem::remove_all(state_, ignored);
  }

  /// The allocations of 200 calls, which `call` makes one after another. Each call must succeed.
  template <class Call>
  std::uint64_t allocations_of(Call call) {
    std::uint64_t spent = 0;
    complete(repeat(call, spent));
    return spent;
  }

 private:
  boost::asio::io_context context_{1};
  std::filesystem::path state_;
  nfsd::ExportTable exports_{std::size_t{64} << 20};
  nfsd::MountTable mounts_;
  rpc::DuplicateCache duplicates_;
  nfsd::HandleSecret secret_{std::byte{1}};
  nfsd::IoPool io_{1, secret_};
  nfsd::SharedServices shared_{exports_, io_, mounts_, duplicates_, secret_};
  std::unique_ptr<nfsd::FabricWorker> worker_;
  std::unique_ptr<transport::Server> server_;

 protected:
  std::unique_ptr<nfs::Client> client_;
  nfs::FileHandle root_;
  nfs::FileHandle file_;
  memory::RegisteredBuffer buffer_;

 private:
  static constexpr int kWarmUp = 100;
  static constexpr int kMeasured = 200;

  std::unique_ptr<fabric::Fabric> make_fabric() { return std::move(*fabric::open_iwarp(context_, {}, {})); }

  template <class Call>
  static boost::asio::awaitable<void> repeat(Call& call, std::uint64_t& spent) {
    for (int i = 0; i < kWarmUp + kMeasured; ++i) {
      if (i == kWarmUp) spent = tally::here().allocations;
      const auto result = co_await call();
      EXPECT_TRUE(result);
    }
    spent = tally::here().allocations - spent;
  }

  boost::asio::awaitable<void> prepare(fabric::Endpoint endpoint) {
    nfs::ClientOptions options;
    client_ = std::move(*co_await nfs::Client::connect_over(make_fabric(), endpoint, std::move(options)));
    std::string path = "/data";
    root_ = *co_await client_->mount(std::move(path));
    std::string name = "file";
    const nfs::SetAttributes attributes{.mode = 0644};
    file_ = (*co_await client_->create(root_, std::move(name), attributes, true)).handle;
    buffer_ = std::move(*client_->pool().allocate(kMost));
    const BufferRef all = buffer_.ref();
    EXPECT_TRUE(co_await client_->write(file_, 0, all, nfs::Stable::unstable));
  }

  void complete(boost::asio::awaitable<void> task) {
    std::exception_ptr thrown;
    bool over = false;
    boost::asio::co_spawn(context_, std::move(task), [&](std::exception_ptr error) {
      thrown = error;
      over = true;
    });
    EXPECT_TRUE(run_until(context_, [&over] { return over; }));
    if (thrown) std::rethrow_exception(thrown);
  }
};

TEST_F(SteadyNfs, Null) {
  EXPECT_EQ(allocations_of([this] { return client_->null(); }), 0u);
}

TEST_F(SteadyNfs, Getattr) {
  EXPECT_EQ(allocations_of([this] { return client_->getattr(file_); }), 0u);
}

TEST_F(SteadyNfs, Read) {
  for (const std::uint32_t octets : {512u, 8192u, kMost}) {
    const BufferRef into = buffer_.ref().slice(0, octets);
    EXPECT_EQ(allocations_of([&] { return client_->read(file_, 0, into); }), 0u) << octets;
  }
}

TEST_F(SteadyNfs, Write) {
  for (const std::uint32_t octets : {512u, 8192u, kMost}) {
    const BufferRef from = buffer_.ref().slice(0, octets);
    EXPECT_EQ(allocations_of([&] { return client_->write(file_, 0, from, nfs::Stable::unstable); }), 0u) << octets;
  }
}

TEST_F(SteadyNfs, Lookup) {
  EXPECT_EQ(allocations_of([this] {
              std::string name = "file";
              return client_->lookup(root_, std::move(name));
            }),
            0u);
}

}  // namespace
}  // namespace rpcrdma::test
