// SPDX-License-Identifier: BSD-3-Clause
// The counters of the client's requester, against Linux's server: the server invalidates the handle of a call that has
// one handle, and the requester does not invalidate it again.
#include <boost/asio/co_spawn.hpp>
#include <cstring>

#include "client_impl.hpp"
#include "interop/knfsd/knfsd.hpp"
#include "rpcrdma/nfs/convert.hpp"

namespace rpcrdma::test {
namespace {

namespace nfs3 = rpc::nfs3;
using nfs::Client;

constexpr std::uint32_t kBulk = 65536;
constexpr int kRounds = 60;

class RequesterTest : public testing::Test {
 protected:
  std::unique_ptr<fabric::Fabric> opened() {
    auto fabric = fabric::open(context_, knfsd().address(), {.provider = fabric::Provider::verbs, .towards = true},
                               Log(test_sink()));
    if (!fabric) throw std::runtime_error("fabric::open: " + fabric.error().message());
    return std::move(*fabric);
  }

  /// One call, which must succeed.
  template <rpc::Procedure P>
  rpc::Decoded<typename P::Result> call(const typename P::Args& args, const rpc::CallOptions& options = {}) {
    rpc::Decoded<typename P::Result> reply;
    bool over = false;
    boost::asio::co_spawn(context_, nfs::call_over<P>(client_.rpc(), client_, args, options, reply),
                          [&](std::exception_ptr thrown, error_code failed) {
                            EXPECT_FALSE(thrown);
                            EXPECT_FALSE(failed) << failed.message();
                            over = true;
                          });
    EXPECT_TRUE(run_until(context_, [&] { return over; }));
    return reply;
  }

  /// Expects `calls` more calls, for which the server invalidated `remote` windows and the requester `local` ones.
  void expect_more(std::uint64_t calls, std::uint64_t remote, std::uint64_t local) {
    const auto now = client_.links.front()->transport->requester().counters();
    EXPECT_EQ(now.calls - before_.calls, calls);
    EXPECT_EQ(now.replies - before_.replies, calls);
    EXPECT_EQ(now.remote_invalidations - before_.remote_invalidations, remote);
    EXPECT_EQ(now.local_invalidations - before_.local_invalidations, local);
    before_ = now;
  }

  boost::asio::io_context context_{1};
  Client::Impl client_{opened(), knfsd(), {}};
  const nfs::FileHandle root_ = *nfs::parse_handle(kRootHandle);
  transport::Requester::Counters before_;
};

// [8797-4.1-d] The server invalidates the only handle of each READ, WRITE and READDIRPLUS by Send with Invalidate. The
// requester then does not invalidate this handle itself.
TEST_F(RequesterTest, LeavesOneHandleToTheServer) {
  const auto found = call<nfs3::Lookup>({nfs::to_wire(root_, "numbers")});
  const nfs::FileHandle file = nfs::from_wire(found->LOOKUP3res_u.resok.object);
  before_ = client_.links.front()->transport->requester().counters();
  EXPECT_EQ(before_.remote_invalidations + before_.local_invalidations, 0u);

  auto buffer = client_.pool.allocate(kBulk);
  ASSERT_TRUE(buffer);
  const BufferRef memory = buffer->first(kBulk);
  rpc::CallOptions into;
  into.into({&memory, 1});
  for (int i = 0; i < kRounds; ++i) {
    std::memset(memory.data, 0, memory.size);
    ASSERT_EQ(call<nfs3::Read>({nfs::to_wire(file), 0, kBulk}, into)->READ3res_u.resok.count, kBulk);
    ASSERT_EQ(std::memcmp(memory.data, "1\n2\n3\n", 6), 0);
  }
  expect_more(kRounds, kRounds, 0);

  WRITE3args write{};
  write.file = nfs::to_wire(file);
  write.count = kBulk;
  write.stable = UNSTABLE;
  write.data.set_parts({&memory, 1});
  for (int i = 0; i < kRounds; ++i) ASSERT_EQ(call<nfs3::Write>(write)->WRITE3res_u.resok.count, kBulk);
  expect_more(kRounds, kRounds, 0);

  READDIRPLUS3args list{};
  list.dir = nfs::to_wire(root_);
  list.dircount = list.maxcount = 32768;
  for (int i = 0; i < kRounds; ++i)
    ASSERT_NE(call<nfs3::Readdirplus>(list)->READDIRPLUS3res_u.resok.reply.entries.count, 0u);
  expect_more(kRounds, kRounds, 0);

  SYMLINK3args link{};
  const std::string target(4000, 'x');
  link.where = nfs::to_wire(root_, "long");
  link.symlink.symlink_data.set_text(target);
  // A long call. Its message is in two pieces of memory, for each of which the client binds a window. The server
  // invalidates neither of the two handles, so the client has to invalidate both windows itself.
  call<nfs3::Symlink>(link);
  expect_more(1, 0, 2);
  call<nfs3::Remove>({nfs::to_wire(root_, "long")});
}

}  // namespace
}  // namespace rpcrdma::test
