// SPDX-License-Identifier: BSD-3-Clause
// Long calls: RDMA_NOMSG with a Position-Zero Read chunk (RFC 8166 section 3.5.3).
#include <fmt/format.h>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

void null_in(Session& s, const std::vector<std::uint32_t>& lengths) {
  const Outgoing call = s.long_call(s.null(), lengths);
  s.send(call);
  Record::expect(s.results_of(call.xid()).empty(), "NULL has results");
}

/// Sends a long call whose chunk does not hold a valid call. It must be refused, and the connection must stay open.
void refused(Session& s, Bytes stream, std::uint32_t xid) {
  RdmaHeader header{.xid = xid, .procedure = kNomsg};
  header.lists.reads = {{0, s.readable(std::move(stream)).segment()}};
  s.send(encode(header));
  s.expect_refusal(xid);
  s.expect_alive();
}

/// WRITE of `size` bytes, all of it in the Position-Zero chunk.
void write_in_chunk(Session& s, std::size_t size, const std::vector<std::uint32_t>& lengths) {
  const nfs::Handle file = s.make_file(fmt::format("long-call-{}", s.new_xid()));
  const Bytes data = pattern(size, 21);
  const Outgoing call = s.long_call(s.nfs(nfs::kWrite, nfs::write_args(file, 0, data)), lengths);
  s.send(call);
  const nfs::Write written = nfs::decode_write(s.results_of(call.xid()));
  Record::expect(written.status == nfs::kOk && written.count == size, nfs_status(written.status));
  Record::expect(s.contents_of(file) == data, "the file has other contents");
}

/// WRITE with its data in a Read chunk of its own, beside the Position-Zero chunk.
void write_beside(Session& s, bool data_first) {
  const nfs::Handle file = s.make_file(fmt::format("beside-{}", s.new_xid()));
  const Bytes data = pattern(3001, 22);
  Outgoing call = s.nfs(nfs::kWrite, nfs::write_args_head(file, 0, 3001));
  const ReadSegment reduced{call.end(), s.readable(data).segment()};
  call = s.long_call(call);
  auto& reads = call.header.lists.reads;
  reads.insert(data_first ? reads.begin() : reads.end(), reduced);
  s.send(call);
  const nfs::Write written = nfs::decode_write(s.results_of(call.xid()));
  Record::expect(written.status == nfs::kOk && written.count == 3001, nfs_status(written.status));
  Record::expect(s.contents_of(file) == data, "the file has other contents");
}

void add_accepted(ServerFamily& family) {
  family.must("null", "8166-3.5.3-c", "a NULL call in a Position-Zero chunk of one segment", "the call is executed",
              [](Session& s) { null_in(s, {}); });
  family.must("null-in-two-segments", "8166-3.5.3-c 8166-3.4.5-d", "a NULL call in two segments of 20 bytes",
              "the call is executed", [](Session& s) {
                null_in(s, {20, 20});
              });
  family.must("null-in-odd-segments", "8166-3.5.3-c 8166-3.4.5-d", "a NULL call in segments of 1, 2, 3 and 34 bytes",
              "the call is executed", [](Session& s) {
                null_in(s, {1, 2, 3, 34});
              });
  family.robust("null-with-segments-of-nothing", "", "a NULL call in segments of 0, 20, 0 and 20 bytes",
                "the call is executed", [](Session& s) {
                  null_in(s, {0, 20, 0, 20});
                });
  family.must("getattr", "8166-3.5.3-c", "GETATTR in a Position-Zero chunk", "the call is executed", [](Session& s) {
    const Outgoing call = s.long_call(s.nfs(nfs::kGetattr, nfs::handle_args(s.files().data)));
    s.send(call);
    Record::expect(nfs::decode_getattr(s.results_of(call.xid())).attributes.size == Files::kDataSize, "another size");
  });
  family.must("data-in-the-chunk", "8166-3.5.3-a 8166-3.5.3-e",
              "WRITE of 7,001 bytes; the whole call, with the pad, is in a Position-Zero chunk",
              "the file has these contents", [](Session& s) { write_in_chunk(s, 7001, {}); });
  family.must("data-in-segments", "8166-3.5.3-a 8166-3.5.3-e",
              "WRITE of 7,001 bytes in a Position-Zero chunk of segments of 3 and 5,000 bytes and the rest",
              "the file has these contents", [](Session& s) {
                const auto whole = static_cast<std::uint32_t>(
                    s.nfs(nfs::kWrite, nfs::write_args(s.files().data, 0, Bytes(7001))).end());
                write_in_chunk(s, 7001, {3, 5000, whole - 5003});
              });
  family.must("data-beside-the-chunk", "8166-3.4.5-a 8166-3.5.3-b",
              "WRITE in a Position-Zero chunk, its data in a Read chunk of its own", "the file has these contents",
              [](Session& s) { write_beside(s, false); });
  family.robust("data-before-the-chunk", "",
                "WRITE in a Position-Zero chunk, with the Read chunk of its data first in the Read list",
                "the file has these contents", [](Session& s) { write_beside(s, true); });
  family.must("long-reply", "8166-3.5.3-c 8166-3.5.3-d", "READDIR as a long call with a Reply chunk",
              "the reply in the Reply chunk", [](Session& s) {
                const Memory& memory = s.writable(32768);
                Outgoing call =
                    s.long_call(s.nfs(nfs::kReaddir, nfs::readdir_args(s.files().many, 0, Bytes(8), 16384)));
                call.header.lists.reply = Chunk{memory.segment()};
                s.send(call);
                const Message message = s.answer_to(call.xid());
                Record::expect(message.header.procedure == kNomsg && message.header.lists.reply.has_value(),
                               "the Reply chunk is not used");
                const RpcReply reply = decode_reply(memory.first(length_of(*message.header.lists.reply)));
                Record::expect(nfs::decode_readdir(reply.results, false).status == nfs::kOk, "READDIR failed");
              });
}

void add_refused_long_calls(ServerFamily& family) {
  family.must("other-xid", "8166-4.2.1-a 8166-4.5-b", "a long call whose RPC message has another XID than the header",
              "ERR_CHUNK", [](Session& s) {
                Outgoing call = s.null();
                call.rpc.xid = ~call.xid();
                call = s.long_call(call);
                s.send(call);
                s.expect_err_chunk(call.xid());
                s.expect_alive();
              });
  family.must("truncated", "8166-4.5-b", "a long call of 16 bytes: the RPC header is cut short",
              "the call is refused; the connection stays open", [](Session& s) {
                const Outgoing call = s.null();
                const Bytes stream = call.payload();
                refused(s, {stream.begin(), stream.begin() + 16}, call.xid());
              });
  family.must("of-two-bytes", "8166-4.5-b", "a long call of 2 bytes", "the call is refused; the connection stays open",
              [](Session& s) { refused(s, Bytes(2), s.new_xid()); });
  family.must("of-no-bytes", "8166-4.5-b", "a Position-Zero chunk of one segment of length zero",
              "the call is refused; the connection stays open", [](Session& s) {
                RdmaHeader header{.xid = s.new_xid(), .procedure = kNomsg};
                header.lists.reads = {{0, {0x1234, 0, 0}}};
                s.connection();
                s.send(encode(header));
                s.expect_refusal(header.xid);
                s.expect_alive();
              });
  family.must("a-reply", "8166-4.5-b", "a long call that contains an RPC reply",
              "the call is refused; the connection stays open", [](Session& s) {
                const std::uint32_t xid = s.new_xid();
                refused(s, Out().words({xid, 1, 0, 0, 0, 0}).bytes(), xid);
              });
  family.robust("inline-rest", "", "RDMA_NOMSG with a Position-Zero chunk, and the call once more after the header",
                "the call is executed once, or refused; the connection stays open", [](Session& s) {
                  const Outgoing call = s.long_call(s.null());
                  Bytes message = call.bytes();
                  const Bytes payload = call.payload();
                  message.insert(message.end(), payload.begin(), payload.end());
                  s.send(message);
                  s.answer_to(call.xid());
                  s.expect_alive();
                });
  family.robust("chunk-within-the-chunk", "", "a long call with another Read chunk beyond its end",
                "the call is refused; the connection stays open", [](Session& s) {
                  Outgoing call = s.long_call(s.null());
                  call.header.lists.reads.push_back({4096, s.readable(Bytes(4)).segment()});
                  s.send(call);
                  s.expect_refusal(call.xid());
                  s.expect_alive();
                });
}

}  // namespace

void add_long_calls(const MakeFamily& make) {
  ServerFamily family = make("long-calls");
  add_accepted(family);
  add_refused_long_calls(family);
}

}  // namespace rpcrdma::conform
