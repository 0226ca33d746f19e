// SPDX-License-Identifier: BSD-3-Clause
// The client connects to Linux's server and disconnects, repeatedly in one process. The process holds the same
// resources after the second cycle and after the last one: the 100th, or the number in RPCRDMA_TEST_CYCLES.
#include <boost/asio/co_spawn.hpp>
#include <cstring>

#include "interop/fabric/held.hpp"
#include "interop/knfsd/knfsd.hpp"
#include "rpcrdma/nfs/client.hpp"

namespace rpcrdma::test {
namespace {

constexpr int kFirst = 2;
constexpr std::uint32_t kCopied = 32768;

class Cycles : public testing::Test {
 protected:
  /// Connects, copies 32 KiB of `numbers` onto themselves, and disconnects.
  nfs::Task<void> cycle(bool look) {
    nfs::ClientOptions options;
    options.fabric.provider = fabric::Provider::verbs;
    std::string host = verbs_address();
    auto client = co_await nfs::Client::connect(context_, host, knfsd_port(), options);
    if (!client) co_return client.error();
    const nfs::FileHandle root = *nfs::parse_handle(kRootHandle);
    const std::string name = "numbers";
    const auto file = co_await (*client)->lookup(root, name);
    if (!file) co_return file.error();
    auto buffer = (*client)->pool().allocate(kCopied);
    if (!buffer) co_return buffer.error();
    const BufferRef memory = buffer->first(kCopied);
    const auto read = co_await (*client)->read(file->handle, 0, memory);
    if (!read) co_return read.error();
    EXPECT_EQ(read->count, kCopied);
    EXPECT_EQ(std::memcmp(memory.data, "1\n2\n3\n", 6), 0);
    const auto written = co_await (*client)->write(file->handle, 0, memory, nfs::Stable::file_sync);
    if (!written) co_return written.error();
    EXPECT_EQ(written->count, kCopied);
    if (look) connected_.push_back(held());
    co_return Result<void>();
  }

  boost::asio::io_context context_{1};
  std::vector<Held> connected_, left_;
};

TEST_F(Cycles, LeaveNothingBehind) {
  const char* given = std::getenv("RPCRDMA_TEST_CYCLES");
  const int cycles = given != nullptr ? std::atoi(given) : 100;
  ASSERT_GT(cycles, kFirst);
  for (int i = 1; i <= cycles; ++i) {
    const bool look = i == kFirst || i == cycles;
    Result<void> outcome = make_error_code(BaseError::deadline_exceeded);
    boost::asio::co_spawn(context_, cycle(look), [&](std::exception_ptr thrown, Result<void> result) {
      if (thrown) std::rethrow_exception(thrown);
      outcome = result;
    });
    // run_for() returns early only when context_ has no more work. At that time the cycle has ended, and its connection
    // has been destroyed.
    context_.restart();
    context_.run_for(std::chrono::seconds(60));
    ASSERT_TRUE(outcome) << outcome.error().message() << ", cycle " << i;
    ASSERT_TRUE(context_.stopped()) << i;
    if (look) left_.push_back(held());
  }
  ASSERT_EQ(connected_.size(), 2u);
  for (std::size_t i = 0; i < Held::kKinds.size(); ++i) EXPECT_GT(connected_[0].resources[i], 0u) << Held::kKinds[i];
  EXPECT_EQ(connected_[0], connected_[1]);
  EXPECT_EQ(left_[0], left_[1]);
  for (std::size_t i = 0; i < Held::kKinds.size(); ++i) EXPECT_EQ(left_[1].resources[i], 0u) << Held::kKinds[i];
  std::cout << cycles << " connections; connected: " << connected_[1] << "; afterwards: " << left_[1] << std::endl;
}

}  // namespace
}  // namespace rpcrdma::test
