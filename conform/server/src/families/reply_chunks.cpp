// SPDX-License-Identifier: BSD-3-Clause
// Reply chunks (RFC 8166 sections 3.5.3 and 4.3.3).
#include <fmt/format.h>

#include <algorithm>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

constexpr std::uint32_t kListing = 16384;  ///< count of READDIR: more than the directory needs

Outgoing listing_call(Session& s, bool plus) {
  const nfs::Handle& many = s.files().many;
  return plus ? s.nfs(nfs::kReaddirplus, nfs::readdirplus_args(many, 0, Bytes(8), kListing, kListing))
              : s.nfs(nfs::kReaddir, nfs::readdir_args(many, 0, Bytes(8), kListing));
}

/// Returns the reply in a Reply chunk; `memory` lists the memory of each segment. Checks that the reply fills the
/// segments in order, and that nothing else is written.
Bytes reply_in_chunk(const Message& message, const Chunk& asked, const std::vector<View>& memory) {
  Record::expect(message.header.procedure == kNomsg, "the Reply chunk is not used");
  Record::expect(message.header.lists.reply.has_value(), "the Reply chunk does not come back");
  const Chunk& returned = *message.header.lists.reply;
  Session::expect_same_segments(asked, returned);
  Bytes out;
  bool full = true;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    Record::expect(returned[i].length <= asked[i].length, "a segment came back longer than it was");
    Record::expect(full || returned[i].length == 0, "a segment is used although the one before it is not full");
    full = full && returned[i].length == asked[i].length;
    const View part = memory[i];
    out.insert(out.end(), part.begin(), part.begin() + returned[i].length);
    Record::expect(std::ranges::all_of(part.subspan(returned[i].length),
                                       [](std::byte byte) { return byte == Session::kUntouched; }),
                   fmt::format("segment {} was written to beyond its length {}", i, returned[i].length));
  }
  return out;
}

/// As the reply_in_chunk() above, for a Reply chunk whose segments all lie in one registered memory.
Bytes reply_in_chunk(const Message& message, const Memory& memory, const Chunk& asked) {
  std::vector<View> parts;
  for (const RdmaSegment& each : asked)
    parts.push_back(View(memory.bytes()).subspan(each.offset - memory.segment().offset, each.length));
  return reply_in_chunk(message, asked, parts);
}

void expect_listing(Session& s, std::uint32_t xid, View stream, bool plus) {
  const RpcReply reply = decode_reply(stream);
  s.record().received(fmt::format("a reply of {} bytes in the chunk: {}", stream.size(), describe(reply)));
  Record::expect(reply.xid == xid, "the reply in the chunk has another XID");
  const nfs::Directory listing = nfs::decode_readdir(reply.results, plus);
  Record::expect(listing.status == nfs::kOk, nfs_status(listing.status));
  const auto named = std::ranges::count_if(listing.names, [](const std::string& name) { return name.size() > 100; });
  Record::expect(static_cast<std::size_t>(named) == s.files().many_names || !listing.eof,
                 fmt::format("{} names of {}", named, s.files().many_names));
}

/// READDIR or READDIRPLUS with a Reply chunk divided into `lengths`; returns the size of the reply.
std::size_t list(Session& s, bool plus, const std::vector<std::uint32_t>& lengths) {
  std::size_t room = 0;
  for (const std::uint32_t length : lengths) room += length;
  const Memory& memory = s.writable(room);
  Outgoing call = listing_call(s, plus);
  call.header.lists.reply = memory.split(lengths);
  s.send(call);
  const Bytes stream = reply_in_chunk(s.answer_to(call.xid()), memory, *call.header.lists.reply);
  expect_listing(s, call.xid(), stream, plus);
  return stream.size();
}

/// A long READDIR with a Reply chunk whose segments have different handles. The last segment is not needed.
void list_with_several_handles(Session& s) {
  Outgoing call = listing_call(s, false);
  std::vector<const Memory*> memories;
  Chunk chunk;
  for (const std::size_t room : {1000, 2001, 30000, 1000}) {
    memories.push_back(&s.writable(room));
    chunk.push_back(memories.back()->segment());
  }
  call.header.lists.reply = chunk;
  s.send(call);
  const Message message = s.answer_to(call.xid());
  std::vector<View> parts;
  for (const Memory* memory : memories) parts.emplace_back(memory->bytes());
  expect_listing(s, call.xid(), reply_in_chunk(message, chunk, parts), false);
}

/// READDIR whose reply fits neither inline nor in the Reply chunk: ERR_CHUNK is required.
void does_not_fit(Session& s, std::uint32_t room, bool with_chunk) {
  const Memory& memory = s.writable(std::max(room, 64u));
  Outgoing call = listing_call(s, false);
  if (with_chunk) call.header.lists.reply = room == 0 ? Chunk{} : Chunk{memory.segment(0, room)};
  s.send(call);
  s.expect_err_chunk(call.xid());
  Record::expect(std::ranges::all_of(memory.bytes(), [](std::byte byte) { return byte == Session::kUntouched; }),
                 "the chunk was written to");
  s.expect_alive();
}

void add_used(ServerFamily& family) {
  const char* const rule = "8166-3.5.3-d 8166-4.3.3-c";
  const char* const required = "RDMA_NOMSG, the whole reply in the chunk, with the right lengths";
  const auto add = [&](const char* name, const char* sends, bool plus, std::vector<std::uint32_t> lengths) {
    family.must(name, rule, sends, required,
                [plus, lengths = std::move(lengths)](Session& s) { list(s, plus, lengths); });
  };
  add("readdir", "a long READDIR with a Reply chunk of one segment", false, {32768});
  add("readdirplus", "a long READDIRPLUS with a Reply chunk of one segment", true, {65536});
  add("two-segments", "a long READDIR with a Reply chunk of two segments", false, {4096, 28672});
  add("odd-segments", "a long READDIR with a Reply chunk of segments of 1, 3, 1,001 and 31,763 bytes", false,
      {1, 3, 1001, 31763});
  add("last-segments-unused", "a long READDIR with a Reply chunk whose last two segments are not needed", false,
      {30000, 1000, 1000});
  family.must(
      "segments-of-several-handles", rule,
      "a long READDIR with a Reply chunk of segments of 1,000, 2,001, 30,000 and 1,000 bytes, each with another "
      "handle",
      "the whole reply in the chunk; each segment comes back with its handle and offset", list_with_several_handles);
  family.must("exact-size", rule, "a long READDIR with a Reply chunk exactly as long as the reply", required,
              [](Session& s) { list(s, false, {static_cast<std::uint32_t>(list(s, false, {32768}))}); });
  family.must("data-with-pad", "8166-3.5.3-e 8166-3.5.3-d", "READ of 5,001 bytes with a Reply chunk and no Write chunk",
              "the whole reply with the data and its pad in the chunk", [](Session& s) {
                const Memory& memory = s.writable(16384);
                Outgoing call = s.nfs(nfs::kRead, nfs::read_args(s.files().data, 0, 5001));
                call.header.lists.reply = Chunk{memory.segment()};
                s.send(call);
                const Bytes stream = reply_in_chunk(s.answer_to(call.xid()), memory, *call.header.lists.reply);
                const nfs::Read results = nfs::decode_read(decode_reply(stream).results, false);
                Record::expect(results.count == 5001, fmt::format("{} bytes were read", results.count));
                Record::expect(std::ranges::equal(results.data, View(s.files().contents).first(5001)),
                               "the data differs from the file");
              });
  family.must("with-a-write-chunk", "8166-3.5.3-f 8166-4.3.2-a",
              "READ of 5,001 bytes with a Write chunk and a Reply chunk",
              "the data in the Write chunk, the rest inline or in the Reply chunk", [](Session& s) {
                const Memory& data = s.writable(5001);
                Outgoing call = s.nfs(nfs::kRead, nfs::read_args(s.files().data, 0, 5001));
                call.header.lists.writes = {{data.segment()}};
                call.header.lists.reply = Chunk{s.writable(1000).segment()};
                s.send(call);
                const Message message = s.answer_to(call.xid());
                Record::expect(message.header.lists.writes.size() == 1, "not one Write chunk");
                Record::expect(
                    length_of(message.header.lists.writes[0]) == 5001,
                    fmt::format("{} bytes in the Write chunk, not 5,001", length_of(message.header.lists.writes[0])));
                Record::expect(data.bytes() == Bytes(s.files().contents.begin(), s.files().contents.begin() + 5001),
                               "the data differs from the file");
              });
}

}  // namespace

void add_reply_chunks(const MakeFamily& make) {
  ServerFamily family = make("reply-chunks");
  add_used(family);
  family.must("not-needed", "8166-4.3.3-c 8166-4.3.3-b", "GETATTR with a Reply chunk of two segments",
              "the chunk comes back with both segments; the reply is inline, or its length is that of the reply",
              [](Session& s) {
                const Memory& memory = s.writable(1000);
                Outgoing call = s.nfs(nfs::kGetattr, nfs::handle_args(s.files().data));
                call.header.lists.reply = memory.split({10, 990});
                s.send(call);
                const Message message = s.answer_to(call.xid());
                if (message.header.procedure == kNomsg) {
                  const Bytes stream = reply_in_chunk(message, memory, *call.header.lists.reply);
                  nfs::decode_getattr(decode_reply(stream).results);
                  return;
                }
                Record::expect(message.header.lists.reply.has_value(), "the Reply chunk does not come back");
                Session::expect_same_segments(*call.header.lists.reply, *message.header.lists.reply);
                Record::expect(length_of(*message.header.lists.reply) == 0, "inline, but the chunk has lengths");
                nfs::decode_getattr(decode_reply(message.payload).results);
              });
  const char* const required = "ERR_CHUNK, nothing written, and the connection stays open";
  family.must("missing", "8166-4.5-b 8166-3.3.2-a", "a long READDIR without a Reply chunk", required,
              [](Session& s) { does_not_fit(s, 0, false); });
  family.must("without-segments", "8166-4.5-b 8166-3.3.2-a", "a long READDIR with a Reply chunk of no segments",
              required, [](Session& s) { does_not_fit(s, 0, true); });
  family.should("much-too-small", "8166-4.5.3-b 8267-3.1-a", "a long READDIR with a Reply chunk of 100 bytes", required,
                [](Session& s) { does_not_fit(s, 100, true); });
  family.should("too-small-by-4-bytes", "8166-4.5.3-b 8267-3.1-a",
                "a long READDIR with a Reply chunk 4 bytes shorter than the reply", required,
                [](Session& s) { does_not_fit(s, static_cast<std::uint32_t>(list(s, false, {32768})) - 4, true); });
}

}  // namespace rpcrdma::conform
