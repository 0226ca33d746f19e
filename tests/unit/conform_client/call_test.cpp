// SPDX-License-Identifier: BSD-3-Clause
// Decodes the replies of the tester's server with the decoders that the tester of servers uses.
#include "call.hpp"

#include <gmock/gmock.h>

namespace rpcrdma::conform::client {
namespace {

constexpr Agreed kAgreed{4096, true};

class ReplyTest : public testing::Test {
 protected:
  Answer serve(std::uint32_t procedure, Bytes arguments, std::uint32_t program = nfs::kProgram) {
    call.rpc.program = program;
    call.rpc.version = 3;
    call.rpc.procedure = procedure;
    call.rpc.arguments = std::move(arguments);
    return service.serve(call.rpc);
  }
  nfs::Handle lookup(const char* name) {
    return *nfs::decode_lookup(serve(nfs::kLookup, nfs::name_args(root, name)).results).handle;
  }
  Service service{"/memory"};
  Call call{.header = {.xid = 77}};
  nfs::Handle root = Export::handle_of(Export::kRoot);
};

TEST_F(ReplyTest, Mount) {
  const Answer answer = serve(nfs::kMountMnt, Out().text("/memory").bytes(), nfs::kMountProgram);
  EXPECT_EQ(nfs::decode_mount(answer.results).handle, root);
  EXPECT_EQ(nfs::decode_mount(serve(nfs::kMountMnt, Out().text("/").bytes(), nfs::kMountProgram).results).status,
            nfs::kNoent);
}

TEST_F(ReplyTest, ListingsAreWhole) {
  std::vector<std::string> names;
  Bytes verifier(8);
  for (std::uint64_t cookie = 0; names.size() < 100;) {
    const nfs::Directory page =
        nfs::decode_readdir(serve(nfs::kReaddir, nfs::readdir_args(root, cookie, verifier, 200)).results, false);
    names.insert(names.end(), page.names.begin(), page.names.end());
    if (page.eof) break;
    ASSERT_FALSE(page.names.empty());
    cookie = page.last_cookie;
  }
  EXPECT_THAT(names, testing::ElementsAre(".", "..", "empty", "folder", "link", "long", "odd", "short"));
  const Bytes plus = serve(nfs::kReaddirplus, nfs::readdirplus_args(root, 0, verifier, 4096, 4096)).results;
  EXPECT_EQ(nfs::decode_readdir(plus, true).names, names);
}

TEST_F(ReplyTest, DataInlineIfThereIsNoChunk) {
  const Reply reply = plan_reply(call, serve(nfs::kRead, nfs::read_args(lookup("odd"), 10, 1000)), kAgreed, 9);
  EXPECT_EQ(reply.header.credits, 9u);
  EXPECT_FALSE(reply.invalidate);
  const nfs::Read read = nfs::decode_read(decode_reply(reply.message).results, false);
  const Bytes odd = pattern(10003, 2);
  EXPECT_EQ(read.data, Bytes(odd.begin() + 10, odd.begin() + 1010));
  EXPECT_FALSE(read.eof);
}

TEST_F(ReplyTest, DataInSegments) {
  call.header.lists.writes = {{{1, 6, 100}, {2, 4, 200}, {3, 90, 300}}};
  const Reply reply = plan_reply(call, serve(nfs::kRead, nfs::read_args(lookup("short"), 1, 100)), kAgreed, 1);
  EXPECT_EQ(reply.header.lists.writes, (std::vector<Chunk>{{{1, 6, 100}, {2, 3, 200}, {3, 0, 300}}}));
  EXPECT_EQ(reply.invalidate, 1u);
  const nfs::Read read = nfs::decode_read(decode_reply(reply.message).results, true);
  EXPECT_EQ(read.count, 9u);
  EXPECT_TRUE(read.eof);
  ASSERT_EQ(reply.writes.size(), 2u);
  Bytes data = reply.writes[0].data;
  data.insert(data.end(), reply.writes[1].data.begin(), reply.writes[1].data.end());
  const Bytes whole = pattern(10, 1);
  EXPECT_EQ(data, Bytes(whole.begin() + 1, whole.end()));
}

TEST_F(ReplyTest, LongReplies) {
  const Answer answer = serve(nfs::kRead, nfs::read_args(lookup("long"), 0, 5000));
  Reply reply = plan_reply(call, answer, kAgreed, 1);
  EXPECT_EQ(reply.header.procedure, kError) << "the call offers no Reply chunk";
  EXPECT_EQ(reply.header.error, kErrChunk);
  call.header.lists.reply = Chunk{{7, 3000, 0}, {8, 3000, 0}};
  reply = plan_reply(call, answer, {4096, false}, 1);
  EXPECT_EQ(reply.header.procedure, kNomsg);
  EXPECT_FALSE(reply.invalidate);
  EXPECT_TRUE(reply.message.empty());
  Bytes message = reply.writes.at(0).data;
  message.insert(message.end(), reply.writes.at(1).data.begin(), reply.writes.at(1).data.end());
  EXPECT_EQ(message.size(), length_of(*reply.header.lists.reply));
  EXPECT_EQ(nfs::decode_read(decode_reply(message).results, false).data.size(), 5000u);
}

TEST_F(ReplyTest, WritesAndWhatTheyLeave) {
  const nfs::Object made = nfs::decode_made(serve(nfs::kCreate, nfs::create_args(root, "new", 1)).results);
  const Bytes data = pattern(100, 9);
  const nfs::Write written = nfs::decode_write(serve(nfs::kWrite, nfs::write_args(*made.handle, 4, data)).results);
  EXPECT_EQ(written.count, 100u);
  EXPECT_EQ(service.files().find(*made.handle)->data.size(), 104u);
  EXPECT_EQ(service.files().tree().at("new").size(), 5 + 104u);
  const std::uint64_t far = std::uint64_t{1} << 62;
  EXPECT_NE(nfs::decode_write(serve(nfs::kWrite, nfs::write_args(*made.handle, far, data)).results).status, nfs::kOk);
}

TEST_F(ReplyTest, DirectoriesAreNotReplacedOrLinked) {
  const nfs::Handle folder = lookup("folder");
  const auto rename = [this](View from, const char* old_name, View to, const char* new_name) {
    return nfs::status_of(serve(nfs::kRename, nfs::rename_args(from, old_name, to, new_name)).results);
  };
  EXPECT_EQ(rename(root, "short", root, "folder"), nfs::kExist);
  EXPECT_EQ(rename(folder, "nested", root, "folder"), nfs::kExist);
  serve(nfs::kMkdir, nfs::mkdir_args(root, "other"));
  EXPECT_EQ(rename(root, "other", root, "folder"), nfs::kNotempty);
  const Bytes link = Out().opaque(root).opaque(root).text("loop").bytes();
  EXPECT_NE(nfs::status_of(serve(nfs::kLink, link).results), nfs::kOk);
  EXPECT_TRUE(service.files().tree().contains("folder/nested"));
}

TEST_F(ReplyTest, MalformedArguments) {
  EXPECT_EQ(serve(nfs::kRead, Bytes(3)).accept, kGarbageArgs);
  EXPECT_EQ(serve(nfs::kLookup, Out().u32(65).zeros(80).bytes()).accept, kGarbageArgs);
  EXPECT_EQ(serve(99, {}).accept, kProcUnavail);
  EXPECT_EQ(serve(0, {}, 5).accept, kProgUnavail);
  EXPECT_EQ(nfs::status_of(serve(nfs::kGetattr, nfs::handle_args(Bytes(16))).results), nfs::kStale);
}

TEST(Assemble, ChunksAtTheirPositions) {
  Call call;
  call.payload = pattern(12, 1);
  call.header.lists.reads = {{8, {1, 3, 0}}, {8, {2, 2, 0}}, {0, {3, 4, 0}}};
  const Bytes data = pattern(9, 2);
  const Bytes whole = assemble(call, data);
  Out wanted;
  wanted.raw(View(data).subspan(5, 4)).raw(View(call.payload).first(4)).raw(View(data).first(5)).zeros(3);
  EXPECT_EQ(whole, wanted.raw(View(call.payload).subspan(4)).bytes());
}

TEST(Assemble, PositionsBehindTheEnd) {
  Call call;
  call.payload = Bytes(8);
  call.header.lists.reads = {{12, {1, 4, 0}}};
  EXPECT_THROW(assemble(call, Bytes(4)), DecodeError);
  call.header.lists.reads = {{4, {1, 8, 0}}, {8, {1, 4, 0}}};
  EXPECT_THROW(assemble(call, Bytes(12)), DecodeError);
}

}  // namespace
}  // namespace rpcrdma::conform::client
