// SPDX-License-Identifier: BSD-3-Clause
// The typed client and server allocate nothing in the steady state. The client detects malformed replies.
#include <gtest/gtest.h>

#include <boost/asio/post.hpp>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "rpcrdma/rpc/client.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"
#include "rpcrdma/rpc/nfs3.hpp"
#include "support/hex.hpp"
#include "support/run.hpp"
#include "unit/rpc/direct_wire.hpp"
#include "unit/xdr/samples.hpp"

namespace {
#ifdef RPCRDMA_THREAD_SANITIZED
constexpr bool kAllocationsAreCounted = false;
#else
constexpr bool kAllocationsAreCounted = true;
#endif
std::atomic<bool> counting = false;
std::atomic<std::size_t> allocations = 0;

}  // namespace

#ifndef RPCRDMA_THREAD_SANITIZED  // which has an operator new of its own
namespace {
void* counted(std::size_t size) {
  if (counting) ++allocations;
  if (void* at = std::malloc(size)) return at;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void operator delete(void* at, const std::nothrow_t&) noexcept { std::free(at); }
void operator delete[](void* at, const std::nothrow_t&) noexcept { std::free(at); }
void operator delete(void* at) noexcept { std::free(at); }
void operator delete[](void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
void operator delete[](void* at, std::size_t) noexcept { std::free(at); }
#endif

namespace rpcrdma::rpc {
namespace {

using test::sample;

class SteadyStateTest : public testing::Test {
 protected:
  SteadyStateTest() {
    dispatcher.on<nfs3::Getattr>([](ServerCall<nfs3::Getattr> call) { call.reply(sample<GETATTR3res>()); });
    dispatcher.on<nfs3::Read>([this](ServerCall<nfs3::Read> call) {
      READ3res result{};
      result.status = fail_reads ? NFS3ERR_IO : NFS3_OK;
      if (!fail_reads) result.READ3res_u.resok.data.set_parts({&file, 1});
      call.reply(result, [](error_code) {});
    });
    dispatcher.on<nfs3::Write>([](ServerCall<nfs3::Write> call) {
      WRITE3res result = sample<WRITE3res>();
      result.WRITE3res_u.resok.count = call.args().data.length;
      call.reply(result);
    });
  }
  void SetUp() override {
    ASSERT_TRUE(file_memory);
    ASSERT_TRUE(buffer);
    file = file_memory->ref();
    into = buffer->ref();
  }

  template <Procedure P>
  error_code call(const typename P::Args& args, const CallOptions& options = {}) {
    error_code found = BaseError::cancelled;
    client.async_call<P>(args, options,
                         [&found](error_code status, const Decoded<typename P::Result>&) { found = status; });
    context.restart();
    boost::asio::post(context, [this] { wire.pump(); });
    context.poll();
    return found;
  }
  CallOptions read_options() const { return CallOptions().into({&into, 1}); }
  READ3args read_args() const {
    READ3args out = sample<READ3args>();
    out.count = into.size;
    return out;
  }

  template <class Function>
  std::size_t allocations_of(Function function) {
    function();
    function();
    allocations = 0;
    counting = true;
    for (int i = 0; i < 100; ++i) function();
    counting = false;
    return allocations;
  }

  boost::asio::io_context context;
  fabric::LoopbackNetwork network{context};
  std::unique_ptr<fabric::LoopbackFabric> fabric = network.make_fabric();
  memory::Pool pool{*fabric};
  Result<memory::RegisteredBuffer> file_memory = pool.allocate(1000);
  Result<memory::RegisteredBuffer> buffer = pool.allocate(1000);
  BufferRef file;
  BufferRef into;
  bool fail_reads = false;
  Dispatcher dispatcher;
  test::DirectWire wire{dispatcher, context, pool};
  Client client{wire, context.get_executor(), {.credential = Credential::sys(1, 2, {}, "direct")}};
};

TEST_F(SteadyStateTest, CallsDoNotAllocate) {
  if (!kAllocationsAreCounted) GTEST_SKIP() << "the thread sanitizer allocates instead";
  WRITE3args write = sample<WRITE3args>();
  write.data.set_parts({&file, 1});
  EXPECT_EQ(allocations_of([&] { ASSERT_FALSE(call<nfs3::Null>({})); }), 0u);
  EXPECT_EQ(allocations_of([&] { ASSERT_FALSE(call<nfs3::Getattr>(sample<GETATTR3args>())); }), 0u);
  EXPECT_EQ(allocations_of([&] { ASSERT_FALSE(call<nfs3::Read>(read_args(), read_options())); }), 0u);
  EXPECT_EQ(allocations_of([&] { ASSERT_FALSE(call<nfs3::Write>(write)); }), 0u);
}

TEST_F(SteadyStateTest, RepliesFromOtherThreadsDoNotAllocate) {
  if (!kAllocationsAreCounted) GTEST_SKIP() << "the thread sanitizer allocates instead";
  ServerCall<nfs3::Access> waiting;
  dispatcher.on<nfs3::Access>([&waiting](ServerCall<nfs3::Access> call) { waiting = std::move(call); });
  std::size_t in_reply = 0;
  for (int i = 0; i < 5; ++i) {
    error_code found = BaseError::cancelled;
    client.async_call<nfs3::Access>(sample<ACCESS3args>(),
                                    [&found](error_code status, const Decoded<ACCESS3res>&) { found = status; });
    wire.pump();
    ASSERT_TRUE(waiting);
    std::thread([&] {
      allocations = 0;
      counting = true;
      waiting.reply(sample<ACCESS3res>());
      counting = false;
      in_reply += allocations;
    }).join();
    test::run_ready(context);
    EXPECT_FALSE(found);
  }
  EXPECT_EQ(in_reply, 0u);
}

// [8166-6.1-d] the data is in the reply although a Write chunk was offered
TEST_F(SteadyStateTest, DataInlineDespiteAChunk) {
  test::Bytes inlined;
  wire.tamper = [&inlined](Payload& reply) {
    inlined.assign(reply.pieces[0].octets.data, reply.pieces[0].octets.data + reply.pieces[0].octets.size);
    inlined.resize(inlined.size() + 1000);
    reply.pieces[0].octets = {inlined.data(), static_cast<std::uint32_t>(inlined.size()), 0};
    reply.items[0].length = 0;
    reply.items[0].parts.clear();
  };
  EXPECT_EQ(call<nfs3::Read>(read_args(), read_options()), RpcError::bad_reduction);
  wire.tamper = {};
  EXPECT_FALSE(call<nfs3::Read>(read_args(), read_options()));
}

// [8166-6.1-c] data in a Write chunk, but no eligible result
TEST_F(SteadyStateTest, ChunkWithoutEligibleResult) {
  fail_reads = true;
  EXPECT_FALSE(call<nfs3::Read>(read_args(), read_options()));
  wire.tamper = [](Payload& reply) { reply.items[0].length = 8; };
  EXPECT_EQ(call<nfs3::Read>(read_args(), read_options()), RpcError::bad_reduction);
}

// [8166-3.4.6.2-c] the length in the Write chunk differs from the count word in the stream
TEST_F(SteadyStateTest, ChunkAndCountDiffer) {
  for (const std::uint32_t written : {1u, 999u, 1001u, 1004u}) {
    wire.tamper = [written](Payload& reply) { reply.items[0].length = written; };
    EXPECT_EQ(call<nfs3::Read>(read_args(), read_options()), RpcError::bad_reduction);
  }
}

TEST_F(SteadyStateTest, TruncatedReplies) {
  std::uint32_t size = 0;
  wire.tamper = [&size](Payload& reply) { reply.pieces[0].octets.size = size; };
  for (; size < 112; ++size) EXPECT_EQ(call<nfs3::Getattr>(sample<GETATTR3args>()), RpcError::bad_reply) << size;
  EXPECT_FALSE(call<nfs3::Getattr>(sample<GETATTR3args>()));
}

}  // namespace
}  // namespace rpcrdma::rpc
