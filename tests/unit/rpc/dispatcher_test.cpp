// SPDX-License-Identifier: BSD-3-Clause
// The dispatcher: which calls reach their handlers, and the replies to the other calls.
#include <gtest/gtest.h>

#include <boost/asio/use_awaitable.hpp>
#include <thread>

#include "rpcrdma/rpc/dispatcher.hpp"
#include "rpcrdma/rpc/mount3.hpp"
#include "rpcrdma/rpc/nfs3.hpp"
#include "unit/rpc/local_call.hpp"
#include "unit/xdr/samples.hpp"

namespace rpcrdma::rpc {
namespace {

using test::header_of;
using test::LocalCall;
using test::LocalTransport;
using test::sample;

class DispatcherTest : public testing::Test {
 protected:
  DispatcherTest() {
    dispatcher.on<nfs3::Getattr>([this](ServerCall<nfs3::Getattr> call) {
      ++served;
      seen_uid = call.credential().uid;
      call.reply(sample<GETATTR3res>());
    });
  }

  Dispatcher dispatcher;
  LocalTransport transport{dispatcher};
  int served = 0;
  std::uint32_t seen_uid = 0;

  CallHeader header(std::uint32_t procedure) { return {9, 2, nfs3::kProgram, 3, procedure, transport.credential}; }
};

TEST_F(DispatcherTest, Serves) {
  LocalCall& call = transport.deliver(transport.make<nfs3::Getattr>(sample<GETATTR3args>(), 5));
  EXPECT_EQ(header_of(call).xid, 5u);
  EXPECT_EQ(call.reply_octets.size(), 112u);
  EXPECT_EQ(served, 1);
  EXPECT_EQ(seen_uid, 1000u);
}

TEST_F(DispatcherTest, NullNeedsNoCredential) {
  for (const std::uint32_t flavor : {0u, 1u, 2u, 6u, 7u, 99u}) {
    test::OutMessage out;
    xdr::Encoder encoder(out.out());
    for (const std::uint32_t word : {1u, 0u, 2u, nfs3::kProgram, 3u, 0u, flavor}) encoder.u32(word);
    encoder.counted(flavor == 1 ? test::Bytes(20) : test::Bytes(8));
    encoder.u32(0);
    encoder.u32(0);
    LocalCall& call = transport.make();
    call.message.piece(out.reduced(), 0);
    EXPECT_FALSE(outcome(header_of(transport.deliver(call)))) << flavor;
  }
}

TEST_F(DispatcherTest, UnknownProgramsVersionsAndProcedures) {
  CallHeader unknown = header(1);
  unknown.program = 4711;
  EXPECT_EQ(outcome(header_of(transport.deliver(transport.make(unknown)))), RpcError::program_unavailable);
  dispatcher.on<mount3::Umntall>([](ServerCall<mount3::Umntall> call) { call.reply({}); });
  CallHeader version = header(1);
  version.version = 4;
  const ReplyHeader mismatch = header_of(transport.deliver(transport.make(version)));
  EXPECT_EQ(outcome(mismatch), RpcError::program_mismatch);
  EXPECT_EQ(mismatch.low, 3u);
  EXPECT_EQ(mismatch.high, 3u);
  for (const std::uint32_t procedure : {2u, 22u, 0xffffffffu})
    EXPECT_EQ(outcome(header_of(transport.deliver(transport.make(header(procedure))))),
              RpcError::procedure_unavailable);
  EXPECT_EQ(served, 0);
}

TEST_F(DispatcherTest, RpcVersion) {
  CallHeader header3 = header(1);
  header3.rpc_version = 3;
  const ReplyHeader reply = header_of(transport.deliver(transport.make(header3)));
  EXPECT_EQ(reply.kind, ReplyHeader::Kind::rpc_mismatch);
  EXPECT_EQ(reply.low, 2u);
  EXPECT_EQ(reply.high, 2u);
  EXPECT_EQ(reply.xid, 9u);
}

TEST_F(DispatcherTest, Credentials) {
  transport.credential = {};
  LocalCall& weak = transport.deliver(transport.make<nfs3::Getattr>(sample<GETATTR3args>(), 5));
  EXPECT_EQ(outcome(header_of(weak)), RpcError::auth_too_weak);
  LocalCall& other = transport.make();
  test::OutMessage out;
  xdr::Encoder encoder(out.out());
  for (const std::uint32_t word : {1u, 0u, 2u, nfs3::kProgram, 3u, 1u, 6u, 0u, 0u, 0u}) encoder.u32(word);
  other.message.piece(out.reduced(), 0);
  EXPECT_EQ(outcome(header_of(transport.deliver(other))), RpcError::auth_rejected);
  EXPECT_EQ(served, 0);
}

TEST_F(DispatcherTest, MalformedCredentialsAndHeaders) {
  const CallHeader full = header(1);
  test::OutMessage out;
  xdr::Encoder encoder(out.out());
  encode(encoder, full);
  const test::Bytes wire = out.reduced();
  for (std::size_t size = 0; size < wire.size(); size += 4) {
    LocalCall& call = transport.make();
    call.message.piece(Octets(wire).first(size), 0);
    transport.deliver(call);
    if (size < 8) {
      EXPECT_EQ(call.end, LocalCall::End::failed) << size;
    } else if (size < 24) {  // XID and message type are complete, so the call receives a reply
      EXPECT_EQ(outcome(header_of(call)), RpcError::garbage_args) << size;
    } else {
      const bool credential = size < wire.size() - 8;
      EXPECT_EQ(outcome(header_of(call)), credential ? RpcError::auth_bad_credential : RpcError::auth_bad_verifier);
    }
  }
}

// [8166-4.5.2-b] arguments that cannot be decoded
TEST_F(DispatcherTest, GarbageArguments) {
  EXPECT_EQ(outcome(header_of(transport.deliver(transport.make(header(1))))), RpcError::garbage_args);
  LocalCall& hostile = transport.make(header(1), [](xdr::Encoder& out) { out.u32(0xffffffff); });
  EXPECT_EQ(outcome(header_of(transport.deliver(hostile))), RpcError::garbage_args);
  EXPECT_EQ(served, 0);
  // RFC 4506 section 4.4: a boolean is 0 or 1.
  dispatcher.on<nfs3::Setattr>([](ServerCall<nfs3::Setattr> call) { call.reply(sample<SETATTR3res>()); });
  for (const std::uint32_t set_mode : {0u, 2u, 0x80000000u, 0xffffffffu}) {
    LocalCall& set = transport.make(header(2), [set_mode](xdr::Encoder& out) {
      for (const std::uint32_t word : {4u, 0u, set_mode, 0u, 0u, 0u, 0u, 0u, 0u}) out.u32(word);
    });
    EXPECT_EQ(outcome(header_of(transport.deliver(set))),
              set_mode == 0 ? error_code() : make_error_code(RpcError::garbage_args));
  }
}

// [8166-6.1-b] a Read chunk in a call without eligible arguments: the call is not processed, and receives GARBAGE_ARGS
TEST_F(DispatcherTest, ReducedArgumentThatIsNotEligible) {
  LocalCall& call = transport.make<nfs3::Getattr>(sample<GETATTR3args>(), 5);
  call.message.item(call.message.payload().length, 8);
  EXPECT_EQ(outcome(header_of(transport.deliver(call))), RpcError::garbage_args);
  EXPECT_EQ(served, 0);
}

TEST_F(DispatcherTest, DroppedAndThrownCalls) {
  dispatcher.on<nfs3::Access>([](ServerCall<nfs3::Access>) {});
  dispatcher.on<nfs3::Fsstat>([](ServerCall<nfs3::Fsstat>) { throw std::runtime_error("no"); });
  LocalCall& dropped = transport.deliver(transport.make<nfs3::Access>(sample<ACCESS3args>(), 5));
  EXPECT_EQ(outcome(header_of(dropped)), RpcError::system_err);
  LocalCall& thrown = transport.deliver(transport.make<nfs3::Fsstat>(sample<FSSTAT3args>(), 6));
  EXPECT_EQ(outcome(header_of(thrown)), RpcError::system_err);
}

TEST_F(DispatcherTest, Rejections) {
  dispatcher.on<nfs3::Access>([](ServerCall<nfs3::Access> call) { call.reject(AcceptStat::system_err); });
  dispatcher.on<nfs3::Fsstat>([](ServerCall<nfs3::Fsstat> call) { call.reject(AuthStat::rejected_credential); });
  EXPECT_EQ(outcome(header_of(transport.deliver(transport.make<nfs3::Access>(sample<ACCESS3args>(), 5)))),
            RpcError::system_err);
  EXPECT_EQ(outcome(header_of(transport.deliver(transport.make<nfs3::Fsstat>(sample<FSSTAT3args>(), 6)))),
            RpcError::auth_rejected);
}

TEST_F(DispatcherTest, ResultsThatCannotBeEncoded) {
  dispatcher.on<nfs3::Access>([](ServerCall<nfs3::Access> call) {
    ACCESS3res result{};
    result.status = NFS3_OK;
    result.ACCESS3res_u.resok.obj_attributes.attributes_follow = 17;  // neither TRUE nor FALSE
    call.reply(result);
  });
  LocalCall& call = transport.deliver(transport.make<nfs3::Access>(sample<ACCESS3args>(), 5));
  EXPECT_EQ(outcome(header_of(call)), RpcError::system_err);
  EXPECT_EQ(call.reply_octets.size(), 24u);
}

// [8166-4.5.3-b] if a reply does not fit its memory, the dispatcher leaves the answer to the transport
TEST_F(DispatcherTest, RepliesThatAreTooLong) {
  dispatcher.on<nfs3::Readdir>([](ServerCall<nfs3::Readdir> call) { call.reply(sample<READDIR3res>()); });
  for (const std::uint32_t room : {0u, 24u, 100u, 3000u}) {
    LocalCall& call = transport.make<nfs3::Readdir>(sample<READDIR3args>(), 5);
    call.reply_room = room;
    transport.deliver(call);
    EXPECT_EQ(call.end, LocalCall::End::sent);
    EXPECT_EQ(call.failure, BuildFailure::too_long);
  }
}

// [8166-4.5.4-b] If there is no memory for the reply, the dispatcher answers SYSTEM_ERR. If there is no memory for this
// answer either, it reports BuildFailure::out_of_memory, and the transport ends the connection.
TEST_F(DispatcherTest, RepliesForWhichMemoryIsMissing) {
  int released = 0;
  dispatcher.on<nfs3::Readdir>([&released](ServerCall<nfs3::Readdir> call) {
    call.reply(sample<READDIR3res>(), [&released](error_code) { ++released; });
  });
  for (const std::uint32_t room : {0u, 20u, 24u, 3000u}) {
    LocalCall& call = transport.make<nfs3::Readdir>(sample<READDIR3args>(), 5);
    call.reply_room = room;
    call.no_more = BaseError::out_of_memory;
    transport.deliver(call);
    EXPECT_EQ(call.end, LocalCall::End::sent);
    EXPECT_EQ(call.failure, room < 24 ? BuildFailure::out_of_memory : BuildFailure::none);
    if (room >= 24) {
      EXPECT_EQ(outcome(header_of(call)), RpcError::system_err);
    }
  }
  EXPECT_EQ(released, 4);
  LocalCall& rejected = transport.make(header(2));
  rejected.reply_room = 0;
  rejected.no_more = BaseError::out_of_memory;
  EXPECT_EQ(transport.deliver(rejected).failure, BuildFailure::out_of_memory);
}

TEST_F(DispatcherTest, ReleaseRunsWhenTheReplyIsSent) {
  bool released = false;
  dispatcher.on<nfs3::Read>([&released](ServerCall<nfs3::Read> call) {
    auto buffer = call.pool().allocate(4096);
    ASSERT_TRUE(buffer);
    auto parts = std::make_unique<BufferRef>(buffer->first(100));
    READ3res result{};
    result.READ3res_u.resok.data.set_parts({parts.get(), 1});
    call.reply(result, [&released, parts = std::move(parts), buffer = std::move(*buffer)](error_code status) {
      released = true;
      EXPECT_EQ(status, BaseError::cancelled);
    });
  });
  LocalCall& call = transport.make<nfs3::Read>(sample<READ3args>(), 5);
  call.hold = true;
  call.outcome = BaseError::cancelled;
  transport.deliver(call);
  EXPECT_FALSE(released);
  ASSERT_EQ(call.reply_items.items.size(), 1u);
  EXPECT_EQ(call.reply_items.items[0].length, 100u);
  call.finish();
  EXPECT_TRUE(released);
}

// [8166-4.3.2-a] The handler returns a path in memory that is not registered. If the call offers a Write chunk that is
// not empty, the path is copied to registered memory for that chunk. Otherwise it is sent inline.
TEST_F(DispatcherTest, PathsForWriteChunks) {
  static const std::string target = "some/where";
  dispatcher.on<nfs3::Readlink>([](ServerCall<nfs3::Readlink> call) {
    READLINK3res result{};
    result.READLINK3res_u.resok.data.set_text(target);
    call.reply(result);
  });
  for (const std::vector<std::uint32_t>& chunks : {std::vector<std::uint32_t>{}, {0}, {4096}}) {
    LocalCall& call = transport.make<nfs3::Readlink>(sample<READLINK3args>(), 5);
    call.chunks = chunks;
    call.hold = true;
    transport.deliver(call);
    const bool usable = !chunks.empty() && chunks[0] != 0;
    ASSERT_EQ(call.reply_items.items.size(), usable ? 1u : 0u);
    if (usable) {
      const BufferRef& part = call.reply_items.items[0].parts[0];
      EXPECT_NE(part.local_key, 0u);
      EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(part.data), part.size), target);
    }
    call.finish();
  }
}

TEST_F(DispatcherTest, FetchesReducedAndInlineData) {
  test::Bytes got;
  dispatcher.on<nfs3::Write>([&got](ServerCall<nfs3::Write> call) -> boost::asio::awaitable<void> {
    auto buffer = call.pool().allocate(call.args().data.length);
    const BufferRef to = buffer->ref();
    co_await call.async_reserve(to.size, boost::asio::use_awaitable);
    co_await call.async_fetch(call.args().data, {&to, 1}, boost::asio::use_awaitable);
    got.assign(to.data, to.data + to.size);
    call.reply(sample<WRITE3res>());
  });
  LocalCall& inlined = transport.deliver(transport.make<nfs3::Write>(sample<WRITE3args>(), 5));
  EXPECT_FALSE(outcome(header_of(inlined)));
  EXPECT_EQ(got, test::file_data());

  got.clear();
  WRITE3args args = sample<WRITE3args>();
  args.data = {};
  test::OutMessage out;
  xdr::Encoder encoder(out.out());
  encode(encoder, header(7));
  encoder.encode(xdr_WRITE3args, args);
  test::Bytes wire = out.reduced();
  Writer(MutableOctets(wire).last(4)).u32(5);
  LocalCall& reduced = transport.make();
  reduced.message.piece(wire, 0).item(static_cast<std::uint32_t>(wire.size()), 5);
  reduced.items.push_back(test::from_hex("0102030405"));
  EXPECT_FALSE(outcome(header_of(transport.deliver(reduced))));
  EXPECT_EQ(test::to_hex(got), "0102030405");
}

TEST_F(DispatcherTest, FetchWithCallbacks) {
  std::string got;
  dispatcher.on<nfs3::Symlink>([&got](ServerCall<nfs3::Symlink> call) {
    auto buffer = std::make_shared<memory::RegisteredBuffer>(*call.pool().allocate(4096));
    const BufferRef to = buffer->ref();
    const bulk_data& path = call.args().symlink.symlink_data;
    async_fetch(std::move(call), path, {&to, 1}, [&got, buffer](error_code status, ServerCall<nfs3::Symlink> again) {
      EXPECT_FALSE(status);
      const std::uint32_t length = again.args().symlink.symlink_data.length;
      got.assign(reinterpret_cast<const char*>(buffer->octets().data()), length);
      again.reply(sample<SYMLINK3res>());
    });
  });
  EXPECT_FALSE(outcome(header_of(transport.deliver(transport.make<nfs3::Symlink>(sample<SYMLINK3args>(), 5)))));
  EXPECT_EQ(got, test::long_path());
}

TEST_F(DispatcherTest, RepliesFromOtherThreads) {
  std::vector<std::thread> threads;
  const auto loop = std::this_thread::get_id();
  std::atomic<int> released = 0;
  dispatcher.on<nfs3::Access>([&](ServerCall<nfs3::Access> call) {
    threads.emplace_back([&, call = std::move(call)]() mutable {
      EXPECT_EQ(call.args().object.length, 64u);
      if (call.xid() % 2 == 0) {
        ServerCall<nfs3::Access> dropped = std::move(call);
        return;
      }
      call.reply(sample<ACCESS3res>(), [&](error_code) {
        EXPECT_EQ(std::this_thread::get_id(), loop);
        ++released;
      });
    });
  });
  std::vector<LocalCall*> calls;
  for (std::uint32_t xid = 1; xid <= 32; ++xid)
    calls.push_back(&transport.make<nfs3::Access>(sample<ACCESS3args>(), xid));
  for (LocalCall* call : calls) transport.deliver(*call);
  for (std::thread& thread : threads) thread.join();
  test::run_ready(transport.context);
  for (LocalCall* call : calls)
    EXPECT_EQ(outcome(header_of(*call)),
              call->xid_word % 2 == 0 ? make_error_code(RpcError::system_err) : error_code());
  EXPECT_EQ(released, 16);
}

}  // namespace
}  // namespace rpcrdma::rpc
