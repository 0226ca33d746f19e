// SPDX-License-Identifier: BSD-3-Clause
// The codec of `rpcrdma-conform`. An independent dissector has decoded the vectors of tests/data/stack.hex.
#include <gmock/gmock.h>

#include "rpcrdma/conform/codec/header.hpp"
#include "rpcrdma/conform/codec/nfs.hpp"
#include "rpcrdma/conform/codec/rpc.hpp"
#include "support/hex.hpp"

namespace rpcrdma::conform {
namespace {

constexpr std::size_t kLengthField = 2, kSendHeader = 18, kMpaHeader = 20;

/// The RPC-over-RDMA message in the Send `name` of stack.hex.
Bytes message_of(const std::string& name) {
  const Bytes frame = test::load_vectors("stack.hex").at(name);
  const std::size_t ulpdu = std::to_integer<std::size_t>(frame[0]) << 8 | std::to_integer<std::size_t>(frame[1]);
  const auto begin = frame.begin();
  return {begin + kLengthField + kSendHeader, begin + static_cast<std::ptrdiff_t>(kLengthField + ulpdu)};
}

Bytes handle() {
  Bytes out;
  for (int i = 0; i < 32; ++i) out.push_back(static_cast<std::byte>(i));
  return out;
}

Auth credential() { return {kAuthSys, Out().u32(0x5eed0001).text("cli").words({1000, 1000, 2, 1000, 4}).bytes()}; }

Bytes nfs_call(std::uint32_t xid, std::uint32_t procedure, Bytes arguments) {
  return encode(RpcCall{xid, nfs::kProgram, nfs::kVersion, procedure, credential(), {}, std::move(arguments)});
}

Bytes joined(Bytes header, View payload) {
  header.insert(header.end(), payload.begin(), payload.end());
  return header;
}

TEST(Codec, CallWithoutChunks) {
  const Bytes call = nfs_call(0xa0000001, nfs::kGetattr, nfs::handle_args(handle()));
  EXPECT_EQ(joined(encode(RdmaHeader{.xid = 0xa0000001}), call), message_of("getattr_call"));
}

TEST(Codec, ReplyWithAttributes) {
  const Bytes message = message_of("getattr_reply");
  View payload;
  const RdmaHeader header = decode_header(message, payload);
  EXPECT_EQ(header.xid, 0xa0000001);
  EXPECT_EQ(header.credits, 16u);
  EXPECT_EQ(header.lists, ChunkLists());
  const RpcReply reply = decode_reply(payload);
  EXPECT_EQ(reply.xid, header.xid);
  const nfs::Getattr results = nfs::decode_getattr(reply.results);
  EXPECT_EQ(results.attributes.type, nfs::kRegular);
  EXPECT_EQ(results.attributes.mode, 0644u);
  EXPECT_EQ(results.attributes.size, 0x2000u);
  EXPECT_EQ(results.attributes.fileid, 42u);
}

TEST(Codec, CallWithAReadChunk) {
  Bytes call = nfs_call(0xa0000002, nfs::kWrite, nfs::write_args_head(handle(), 0, 5));
  // The test vector write_call_readchunk is a WRITE at the file offset 0 with `stable` FILE_SYNC, as is `call`.
  RdmaHeader header{.xid = 0xa0000002};
  header.lists.reads = {{static_cast<std::uint32_t>(call.size()), {0x1234, 5, 0x7f0000001000}}};
  EXPECT_EQ(joined(encode(header), call), message_of("write_call_readchunk"));
  View payload;
  EXPECT_EQ(decode_header(message_of("write_call_readchunk"), payload).lists, header.lists);
}

TEST(Codec, ReplyToAWrite) {
  const Bytes message = message_of("write_reply_inv");
  View payload;
  EXPECT_EQ(decode_header(message, payload).xid, 0xa0000002);
  const nfs::Write results = nfs::decode_write(decode_reply(payload).results);
  EXPECT_EQ(results.count, 5u);
  EXPECT_EQ(results.committed, nfs::kFileSync);
}

TEST(Codec, CallWithAWriteChunk) {
  RdmaHeader header{.xid = 0xa0000003};
  header.lists.writes = {{{0x2222, 0x800, 0x100000}, {0x2223, 0x800, 0x200000}}};
  const Bytes call = nfs_call(0xa0000003, nfs::kRead, nfs::read_args(handle(), 0, 4096));
  EXPECT_EQ(joined(encode(header), call), message_of("read_call_writechunk"));
}

TEST(Codec, ReplyWithAWriteChunk) {
  const Bytes message = message_of("read_reply_writechunk");
  View payload;
  const RdmaHeader header = decode_header(message, payload);
  ASSERT_EQ(header.lists.writes.size(), 1u);
  EXPECT_EQ(length_of(header.lists.writes[0]), 7u);
  const nfs::Read results = nfs::decode_read(decode_reply(payload).results, true);
  EXPECT_EQ(results.count, 7u);
  EXPECT_EQ(results.data_length, 7u);
  EXPECT_TRUE(results.eof);
}

TEST(Codec, LongMessages) {
  RdmaHeader call{.xid = 0xa0000004, .procedure = kNomsg};
  call.lists.reads = {{0, {0x3333, 1400, 0x1000}}};
  call.lists.reply = Chunk{{0x4444, 8192, 0x9000}};
  EXPECT_EQ(encode(call), message_of("nomsg_call"));
  RdmaHeader reply{.xid = 0xa0000004, .credits = 16, .procedure = kNomsg};
  reply.lists.reply = Chunk{{0x4444, 3000, 0x9000}};
  EXPECT_EQ(encode(reply), message_of("nomsg_reply"));
}

TEST(Codec, Errors) {
  RdmaHeader header{.xid = 0xa0000005,
                    .version = 7,
                    .credits = 16,
                    .procedure = kError,
                    .lists = {},
                    .error = kErrVers,
                    .lowest = 1,
                    .highest = 1};
  EXPECT_EQ(encode(header), message_of("err_vers"));
  View payload;
  const RdmaHeader decoded = decode_header(message_of("err_vers"), payload);
  EXPECT_EQ(decoded.version, 7u);
  EXPECT_EQ(decoded.highest, 1u);
  EXPECT_EQ(decode_header(message_of("err_chunk"), payload).error, std::uint32_t{kErrChunk});
}

TEST(Codec, EveryTruncatedPrefixIsRefused) {
  for (const char* name : {"nomsg_call", "nomsg_reply", "err_vers", "err_chunk"}) {
    const Bytes message = message_of(name);
    for (std::size_t size = 0; size < message.size(); ++size) {
      const test::ExactCopy copy(View(message).first(size));
      View payload;
      EXPECT_THROW(decode_header(copy.octets(), payload), DecodeError) << name << ' ' << size;
    }
  }
  const Bytes message = message_of("getattr_reply");
  for (std::size_t size = kFixedHeader; size < message.size(); ++size) {
    const test::ExactCopy copy(View(message).first(size));
    View payload;
    decode_header(copy.octets(), payload);
    EXPECT_THROW(nfs::decode_getattr(decode_reply(payload).results), DecodeError) << size;
  }
}

TEST(Codec, RefusesOtherDiscriminatorsAndHugeCounts) {
  View payload;
  for (const std::uint32_t word : {2u, 0xffffffffu}) {
    const Bytes header = Out().words({1, 1, 1, kMsg, word, 0, 0}).bytes();
    EXPECT_THROW(decode_header(header, payload), DecodeError);
  }
  const Bytes huge = Out().words({1, 1, 1, kMsg, 0, 1, 0xffffffff, 0, 0}).bytes();
  EXPECT_THROW(decode_header(huge, payload), DecodeError);
}

TEST(Codec, PrivateData) {
  const Bytes frame = test::load_vectors("stack.hex").at("mpa_req");
  const View data = View(frame).subspan(kMpaHeader);
  EXPECT_EQ(encode(PrivateData{.flags = 1}), Bytes(data.begin(), data.end()));
  const auto found = find_private_data(data);
  ASSERT_TRUE(found);
  EXPECT_EQ(bytes_of_size(found->send_size), 4096u);
  EXPECT_EQ(found->flags, 1);
  // RFC 8797 section 5.2: other bytes may precede the format identifier, so a receiver looks for it at any offset.
  EXPECT_TRUE(find_private_data(joined(Bytes(3), data)));
  EXPECT_FALSE(find_private_data(data.first(7)));
  EXPECT_FALSE(find_private_data(encode(PrivateData{.version = 2})));
  EXPECT_EQ(bytes_of_size(255), 262144u);
}

TEST(Codec, RepliesOfEachKind) {
  const auto reply = [](std::initializer_list<std::uint32_t> words) {
    return decode_reply(Out().words(words).bytes());
  };
  EXPECT_EQ(describe(reply({1, 1, 0, 0, 0, 2, 3, 3})), "PROG_MISMATCH 3..3");
  EXPECT_EQ(describe(reply({1, 1, 1, 0, 2, 2})), "denied: RPC_MISMATCH 2..2");
  EXPECT_EQ(describe(reply({1, 1, 1, 1, 5})), "denied: AUTH_ERROR, auth_stat 5");
  EXPECT_EQ(describe(reply({1, 1, 0, 0, 0, 4})), "GARBAGE_ARGS");
  EXPECT_THROW(reply({1, 0, 0, 0, 0, 0}), DecodeError);     // a call
  EXPECT_THROW(reply({1, 1, 0, 0, 0, 4, 9}), DecodeError);  // results after the accept_stat GARBAGE_ARGS
  EXPECT_THROW(reply({1, 1, 0, 0, 500, 0}), DecodeError);   // a verifier that is too long
  EXPECT_THROW(reply({1, 1, 2, 0, 0, 0}), DecodeError);     // reply_stat 2
}

TEST(Codec, DirectoryListings) {
  Out out;
  out.words({0, 0, 7, 8, 1}).u64(11).text("abc").u64(5).words({1}).u64(12).text("d").u64(6).words({0, 1});
  const nfs::Directory listing = nfs::decode_readdir(out.bytes(), false);
  EXPECT_THAT(listing.names, testing::ElementsAre("abc", "d"));
  EXPECT_EQ(listing.last_cookie, 6u);
  EXPECT_TRUE(listing.eof);
  EXPECT_THROW(nfs::decode_readdir(Out().raw(out.bytes()).u32(0).bytes(), false), DecodeError);
}

TEST(Codec, CallsAndRepliesAreReadAsTheyWereWritten) {
  const RpcCall call{1, 2, 3, 4, credential(), {}, pattern(8, 1)};
  const RpcCall same = decode_call(encode(call));
  EXPECT_EQ(encode(same), encode(call));
  EXPECT_EQ(same.arguments, call.arguments);
  EXPECT_THROW(decode_call(Out().words({1, 1, 2, 3, 4, 5, 0, 0, 0, 0}).bytes()), DecodeError) << "a reply";
  EXPECT_THROW(decode_call(Out().words({1, 0, 2, 3, 4, 5, 1, 404}).zeros(500).bytes()), DecodeError);
  for (const RpcReply& reply :
       {RpcReply{.xid = 7, .results = pattern(12, 2)}, RpcReply{.xid = 7, .accept = kProgMismatch, .low = 3, .high = 4},
        RpcReply{.xid = 7, .accept = kGarbageArgs}, RpcReply{.xid = 7, .status = kDenied, .low = 2, .high = 2},
        RpcReply{.xid = 7, .status = kDenied, .reject = kAuthError, .auth = 5}}) {
    const RpcReply read = decode_reply(encode(reply));
    EXPECT_EQ(describe(read), describe(reply));
    EXPECT_EQ(read.results, reply.results);
  }
}

}  // namespace
}  // namespace rpcrdma::conform
