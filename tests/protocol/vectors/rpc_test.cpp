// SPDX-License-Identifier: BSD-3-Clause
// Decodes the NFSv3 calls and replies in stack.hex with the library's codecs: RPC-over-RDMA header, RPC header,
// arguments and results. Encodes all but the RPC-over-RDMA header again.
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "rpcrdma/rpc/message.hpp"
#include "rpcrdma/wire/header.hpp"
#include "rpcrdma/xdr/nfs3.h"
#include "support/hex.hpp"

namespace rpcrdma {
namespace {

using test::Bytes;
using test::ExactCopy;

/// A test vector after its chunks have been transferred: the reduced stream, and the contents of the chunks.
class Message {
 public:
  explicit Message(const std::string& name) {
    const Bytes fpdu = test::load_vectors("stack.hex").at(name);
    const std::size_t ulpdu = Reader(fpdu).u16();
    const Octets send = Octets(fpdu).subspan(2 + 18, ulpdu - 18);
    const auto length = wire::decode(send, header_);
    EXPECT_TRUE(length);
    stream_.assign(send.begin() + static_cast<std::ptrdiff_t>(*length), send.end());
  }

  /// Returns a payload: the item, and the first `size` bytes of the stream in memory of exactly that size.
  const Payload& payload(std::size_t size) {
    copy_.emplace(Octets(stream_).first(size));
    payload_.clear();
    const auto octets = copy_->octets();
    auto* at = const_cast<std::byte*>(octets.data());
    payload_.pieces.push_back({0, {at, static_cast<std::uint32_t>(size), 0}});
    payload_.length = static_cast<std::uint32_t>(size);
    if (item_) payload_.items.push_back(*item_);
    if (item_ && item_->position != PayloadItem::kNoPosition) payload_.length += pad4(item_->length);
    return payload_;
  }
  void set_item(std::uint32_t position, Bytes& octets) {
    item_.emplace();
    item_->position = position;
    item_->length = static_cast<std::uint32_t>(octets.size());
    item_->parts.push_back({octets.data(), item_->length, 1});
  }

  const wire::Header& header() const { return header_; }
  const Bytes& stream() const { return stream_; }

 private:
  wire::Header header_;
  Bytes stream_;
  std::optional<ExactCopy> copy_;
  std::optional<PayloadItem> item_;
  Payload payload_;
};

/// An RPC call header or reply header.
struct AnyHeader {
  bool decode(xdr::Decoder& in, bool is_call) {
    if (is_call) return rpc::decode(in, call) == rpc::CallCheck::ok;
    return rpc::decode(in, reply);
  }
  void encode(xdr::Encoder& out, bool is_call) const {
    if (is_call)
      rpc::encode(out, call);
    else
      rpc::encode(out, reply);
  }
  rpc::CallHeader call;
  rpc::ReplyHeader reply;
};

/// Decodes a whole message and passes the value to `look`, which may prepare it for encoding. Then encodes the value
/// and compares the bytes. Expects that each proper prefix of the stream is refused.
template <class T, class Look>
void check(Message& message, bool is_call, bool_t (*routine)(XDR*, T*), Look look) {
  AnyHeader header;
  T value{};
  {
    xdr::Decoder in(message.payload(message.stream().size()));
    ASSERT_TRUE(header.decode(in, is_call));
    ASSERT_TRUE(in.decode(routine, value));
    ASSERT_TRUE(in.finish());
    EXPECT_EQ(in.remaining(), 0u);
    EXPECT_EQ(is_call ? header.call.xid : header.reply.xid, message.header().xid);
    look(header, value);
    Bytes room(4096);
    PayloadBuilder builder;
    builder.start({room.data(), 4096, 1}, nullptr);
    xdr::Encoder out(builder);
    header.encode(out, is_call);
    ASSERT_TRUE(out.encode(routine, value));
    Bytes again;
    for (const PayloadPiece& piece : builder.payload().pieces)
      again.insert(again.end(), piece.octets.octets().begin(), piece.octets.octets().end());
    EXPECT_EQ(test::to_hex(again), test::to_hex(message.stream()));
    xdr_free(reinterpret_cast<xdrproc_t>(routine), &value);
  }
  for (std::size_t size = 0; size < message.stream().size(); ++size) {
    AnyHeader cut;
    T partial{};
    xdr::Decoder in(message.payload(size));
    EXPECT_FALSE(cut.decode(in, is_call) && in.decode(routine, partial) && in.finish()) << size;
    xdr_free(reinterpret_cast<xdrproc_t>(routine), &partial);
  }
}

void expect_call(const rpc::CallHeader& call, std::uint32_t procedure) {
  EXPECT_EQ(call.rpc_version, 2u);
  EXPECT_EQ(call.program, 100003u);
  EXPECT_EQ(call.version, 3u);
  EXPECT_EQ(call.procedure, procedure);
  EXPECT_EQ(call.credential.flavor, rpc::AuthFlavor::sys);
  EXPECT_EQ(call.credential.stamp, 0x5eed0001u);
  EXPECT_EQ(call.credential.machine(), "cli");
  EXPECT_EQ(call.credential.uid, 1000u);
  const auto gids = call.credential.gids();
  EXPECT_EQ(std::vector<std::uint32_t>(gids.begin(), gids.end()), (std::vector<std::uint32_t>{1000, 4}));
}

void expect_handle(const nfs_fh3& handle) {
  ASSERT_EQ(handle.length, 32u);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(handle.data[i], static_cast<std::byte>(i));
}

Bytes bytes_of(std::string_view text) {
  const auto octets = std::as_bytes(std::span(text));
  return {octets.begin(), octets.end()};
}

TEST(RpcVectors, GetattrCall) {
  Message message("getattr_call");
  check<GETATTR3args>(message, true, xdr_GETATTR3args, [](const AnyHeader& header, const GETATTR3args& args) {
    expect_call(header.call, 1);
    expect_handle(args.object);
  });
}

TEST(RpcVectors, GetattrReply) {
  Message message("getattr_reply");
  check<GETATTR3res>(message, false, xdr_GETATTR3res, [](const AnyHeader& header, const GETATTR3res& result) {
    EXPECT_EQ(header.reply.accept, rpc::AcceptStat::success);
    ASSERT_EQ(result.status, NFS3_OK);
    const fattr3& attributes = result.GETATTR3res_u.resok.obj_attributes;
    EXPECT_EQ(attributes.mode, 0644u);
    EXPECT_EQ(attributes.size, 8192u);
    EXPECT_EQ(attributes.fileid, 42u);
    EXPECT_EQ(attributes.ctime.nseconds, 6u);
  });
}

// [8166-4.3.1.1-a] the position of the item is that of the Read chunk
TEST(RpcVectors, WriteCallWithReadChunk) {
  Message message("write_call_readchunk");
  Bytes data = bytes_of("hello");
  ASSERT_EQ(message.header().chunks.reads.size(), 1u);
  message.set_item(message.header().chunks.reads[0].position, data);
  check<WRITE3args>(message, true, xdr_WRITE3args, [&](const AnyHeader& header, const WRITE3args& args) {
    expect_call(header.call, 7);
    expect_handle(args.file);
    EXPECT_EQ(args.count, 5u);
    EXPECT_EQ(args.stable, FILE_SYNC);
    EXPECT_EQ(args.data.length, 5u);
    ASSERT_EQ(args.data.kind, bulk_kind::parts);
    EXPECT_EQ(args.data.parts[0].data, data.data());
  });
}

TEST(RpcVectors, WriteReply) {
  Message message("write_reply_inv");
  check<WRITE3res>(message, false, xdr_WRITE3res, [](const AnyHeader&, const WRITE3res& result) {
    ASSERT_EQ(result.status, NFS3_OK);
    EXPECT_EQ(result.WRITE3res_u.resok.count, 5u);
    EXPECT_EQ(result.WRITE3res_u.resok.committed, FILE_SYNC);
    EXPECT_EQ(std::string_view(result.WRITE3res_u.resok.verf, 8), "VERFVERF");
  });
}

TEST(RpcVectors, ReadCallWithWriteChunk) {
  Message message("read_call_writechunk");
  check<READ3args>(message, true, xdr_READ3args, [](const AnyHeader& header, const READ3args& args) {
    expect_call(header.call, 6);
    expect_handle(args.file);
    EXPECT_EQ(args.offset, 0u);
    EXPECT_EQ(args.count, 4096u);
  });
}

// [8166-3.4.6.2-c] [8166-3.4.4.3-a] The Write chunk has only the bytes of the member `data` of READ3resok. The Payload
// stream has the rest of the union READ3res, including the length of `data`.
TEST(RpcVectors, ReadReplyWithWriteChunk) {
  Message message("read_reply_writechunk");
  Bytes data = bytes_of("abcdefg");
  message.set_item(PayloadItem::kNoPosition, data);
  const std::array<BufferRef, 1> parts{BufferRef{data.data(), 7, 1}};
  check<READ3res>(message, false, xdr_READ3res, [&](const AnyHeader&, READ3res& result) {
    ASSERT_EQ(result.status, NFS3_OK);
    READ3resok& ok = result.READ3res_u.resok;
    EXPECT_EQ(ok.count, 7u);
    EXPECT_TRUE(ok.eof);
    EXPECT_EQ(ok.data.length, 7u);
    EXPECT_EQ(ok.data.kind, bulk_kind::placed);
    ok.data.set_parts(parts);
  });
}

}  // namespace
}  // namespace rpcrdma
