// SPDX-License-Identifier: BSD-3-Clause
// Write chunks (RFC 8166 sections 3.4.6 and 4.3.2) with the results that NFSv3 allows in them, the data of READ and the
// target of READLINK, and with calls that have no such result. Where a reply returns data, the memory of the chunks is
// compared byte by byte with the returned lengths and the data that the server should have sent.
#include <fmt/format.h>

#include <algorithm>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

/// The reply to a READ call with one Write chunk. `chunk` is that Write chunk as the reply returns it.
struct ReadBack {
  Message message;
  nfs::Read results;
  Chunk chunk;
};

/// Checks one Write chunk in a reply: the bytes of `memory` are `expected`, laid out as the lengths say, and everything
/// else is untouched.
void expect_written(const Memory& memory, const Chunk& asked, const Chunk& returned, View expected) {
  Session::expect_same_segments(asked, returned);
  Record::expect(length_of(returned) == expected.size(),
                 fmt::format("the lengths that came back add up to {}, the item has {} bytes", length_of(returned),
                             expected.size()));
  Bytes image(memory.bytes().size(), Session::kUntouched);
  const std::uint64_t base = memory.segment().offset;
  std::size_t at = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const std::size_t fills = std::min<std::size_t>(asked[i].length, expected.size() - at);
    Record::expect(
        returned[i].length == fills,
        fmt::format("segment {} came back with length {}, {} bytes belong there", i, returned[i].length, fills));
    std::ranges::copy(expected.subspan(at, fills), image.begin() + static_cast<std::ptrdiff_t>(asked[i].offset - base));
    at += fills;
  }
  const auto differs = std::ranges::mismatch(image, memory.bytes()).in1;
  Record::expect(differs == image.end(),
                 fmt::format("the memory does not match the lengths at byte {}", differs - image.begin()));
}

ReadBack read_into(Session& s, std::uint64_t offset, std::uint32_t count, const Memory& memory, const Chunk& chunk) {
  Outgoing read = s.nfs(nfs::kRead, nfs::read_args(s.files().data, offset, count));
  read.header.lists.writes = {chunk};
  s.record().sent(fmt::format("READ of {} bytes at {}; a Write chunk of {} segments, {} bytes", count, offset,
                              chunk.size(), length_of(chunk)));
  s.send(read);
  ReadBack out;
  out.message = s.answer_to(read.xid());
  Record::expect(out.message.header.procedure == kMsg, "not an RDMA_MSG");
  Record::expect(out.message.header.lists.writes.size() == 1, "not one Write chunk");
  out.chunk = out.message.header.lists.writes[0];
  out.results = nfs::decode_read(decode_reply(out.message.payload).results, true);
  Record::expect(out.results.status == nfs::kOk, nfs_status(out.results.status));
  Record::expect(out.results.count == out.results.data_length, "count and the length of the data differ");
  const std::uint64_t end = std::min<std::uint64_t>(Files::kDataSize, offset + out.results.count);
  Record::expect(offset + out.results.count == end || out.results.count == 0, "more bytes than the file has");
  const View expected = out.results.count == 0 ? View() : View(s.files().contents).subspan(offset, out.results.count);
  expect_written(memory, chunk, out.chunk, expected);
  return out;
}

/// Makes a READ with a Write chunk that has segments of these `lengths`, in memory of `room` bytes. The segments are
/// large enough for the data. The server must return `count` bytes. If the file ends earlier, the server must return
/// the bytes up to its end. The eof flag must be correct in both cases.
void read_completely(Session& s, std::uint64_t offset, std::uint32_t count, std::size_t room,
                     const std::vector<std::uint32_t>& lengths) {
  const Memory& memory = s.writable(room);
  const ReadBack back = read_into(s, offset, count, memory, memory.split(lengths));
  const std::uint64_t left = offset < Files::kDataSize ? Files::kDataSize - offset : 0;
  Record::expect(back.results.count == std::min<std::uint64_t>(count, left),
                 fmt::format("{} bytes were read", back.results.count));
  Record::expect(back.results.eof == (offset + count >= Files::kDataSize), "eof is wrong");
}

/// READ of 3,000 bytes into a chunk whose segments have different handles. The last segment is not needed.
void read_with_several_handles(Session& s) {
  Outgoing read = s.nfs(nfs::kRead, nfs::read_args(s.files().data, 0, 3000));
  std::vector<const Memory*> memories;
  Chunk chunk;
  for (const std::size_t room : {1000, 1500, 2000, 500}) {
    memories.push_back(&s.writable(room));
    chunk.push_back(memories.back()->segment());
  }
  read.header.lists.writes = {chunk};
  s.send(read);
  const Message message = s.answer_to(read.xid());
  Record::expect(message.header.procedure == kMsg && message.header.lists.writes.size() == 1,
                 "not an RDMA_MSG with one Write chunk");
  const Chunk& returned = message.header.lists.writes[0];
  Session::expect_same_segments(chunk, returned);
  const nfs::Read results = nfs::decode_read(decode_reply(message.payload).results, true);
  Record::expect(results.status == nfs::kOk && results.count == 3000,
                 fmt::format("status {}, {} bytes were read", results.status, results.count));
  View left = View(s.files().contents).first(3000);
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    const View part = left.first(std::min<std::size_t>(chunk[i].length, left.size()));
    expect_written(*memories[i], {chunk[i]}, {returned[i]}, part);
    left = left.subspan(part.size());
  }
}

struct ReadShape {
  const char* name;
  const char* rule;
  const char* sends;
  const char* required;
  std::uint64_t offset;
  std::uint32_t count;
  std::size_t room;
  std::vector<std::uint32_t> lengths;
};

void add_read_shapes(ServerFamily& family) {
  const char* const exact = "the data in the chunk, with the right lengths; nothing else is written";
  static const ReadShape kShapes[] = {
      {"exact",
       "8166-4.3.2-a 8166-3.4.6.2-c",
       "READ of 4,096 bytes into a chunk of 4,096",
       exact,
       0,
       4096,
       4096,
       {4096}},
      {"larger-chunk",
       "8166-3.4.6-c 8166-3.4.6.2-c",
       "READ of 3,000 bytes into a chunk of 8,192",
       exact,
       0,
       3000,
       8192,
       {8192}},
      {"no-pad", "8166-3.4.6.2-b 8166-3.4.6.2-c", "READ of 5 bytes into a chunk of 8", exact, 3, 5, 8, {8}},
      {"no-pad-in-a-segment",
       "8166-3.4.6.2-b 8166-3.4.6-c",
       "READ of 4,097 bytes into segments of 4,097 and 3",
       exact,
       0,
       4097,
       4100,
       {4097, 3}},
      {"small-data", "8166-4.3.2-a", "READ of 1 byte into a chunk of 1", exact, 17, 1, 16, {1}},
      {"two-segments",
       "8166-3.4.6-c",
       "READ of 3,000 bytes into two segments of 2,048",
       exact,
       0,
       3000,
       4096,
       {2048, 2048}},
      {"odd-segments",
       "8166-3.4.6-c",
       "READ of 10,003 bytes into segments of 1, 3, 4,096 and 5,903",
       exact,
       0,
       10003,
       10003,
       {1, 3, 4096, 5903}},
      {"second-segment-unused",
       "8166-3.4.6-c 8166-3.4.6-b",
       "READ of 1,000 bytes into segments of 1,000 and 1,000",
       exact,
       0,
       1000,
       2000,
       {1000, 1000}},
      {"16-segments",
       "8166-3.4.6-c",
       "READ of 1,590 bytes into 16 segments of 100",
       exact,
       0,
       1590,
       1600,
       {100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100}},
      {"short-at-the-end",
       "8166-3.4.6.2-c 8166-3.4.6-c",
       "READ of 4,096 bytes, starting 1,003 bytes before the end of the file",
       exact,
       9000,
       4096,
       4096,
       {4096}},
      {"short-in-segments",
       "8166-3.4.6-c",
       "READ of 4,096 bytes into segments of 1,000, starting 1,003 bytes before the end of the file",
       exact,
       9000,
       4096,
       4096,
       {1000, 1000, 1000, 1000}},
      {"at-the-end",
       "8166-3.4.6.2-c 8166-3.4.6-c",
       "READ at the end of the file, into a chunk of 4,096",
       "the chunk comes back with length zero, and nothing is written",
       10003,
       4096,
       4096,
       {4096}},
      {"beyond-the-end",
       "8166-3.4.6.2-c 8166-3.4.6-c",
       "READ far beyond the end of the file, into two segments",
       "the chunk comes back with lengths of zero, and nothing is written",
       1u << 30,
       4096,
       4096,
       {2048, 2048}},
      {"of-nothing",
       "8166-3.4.6.2-c 8166-3.4.6-c",
       "READ of 0 bytes, with a chunk of 4,096",
       "the chunk comes back with length zero, and nothing is written",
       0,
       0,
       4096,
       {4096}},
  };
  for (const ReadShape& shape : kShapes)
    family.must(shape.name, shape.rule, shape.sends, shape.required, [&shape](Session& s) {
      if (shape.count == 0 && shape.offset == 0) {
        const Memory& memory = s.writable(shape.room);
        read_into(s, 0, 0, memory, memory.split(shape.lengths));
        return;
      }
      read_completely(s, shape.offset, shape.count, shape.room, shape.lengths);
    });
  family.must(
      "written-before-the-reply", "8166-3.4.6-d",
      "private data that allows remote invalidation; three READs of 4,096 bytes into chunks of 4,096, and a NULL "
      "call after each",
      "the data is in the chunk when the reply arrives; the connection stays open", [](Session& s) {
        // A Write that follows a Send with Invalidate finds no memory, which ends the connection.
        if (!s.network().fabric->capabilities().remote_invalidation)
          Record::skip("this fabric does not support remote invalidation");
        s.connect_and_call({.private_data = encode(PrivateData{.flags = 1})});
        for (int i = 0; i < 3; ++i) {
          read_completely(s, 0, 4096, 4096, {4096});
          s.expect_alive();
        }
      });
  family.must("segments-of-several-handles", "8166-3.4.6-b 8166-3.4.6-c",
              "READ of 3,000 bytes into segments of 1,000, 1,500, 2,000 and 500 bytes, each with another handle",
              "the data in the chunk; each segment comes back with its handle and offset", read_with_several_handles);
  family.robust("segments-of-nothing", "", "READ of 2,000 bytes into segments of 0, 1,000, 0 and 1,000 bytes",
                "the data in the segments that have room", [](Session& s) {
                  read_completely(s, 0, 2000, 2000, {0, 1000, 0, 1000});
                });
}

/// The chunk is smaller than the count of the READ. The server may refuse the call, or return less data. A returned
/// count must fit the chunk, and the written bytes must be those of the file. With `untouched`, nothing may be written
/// if the server refuses the call, which is only recommended.
void too_small(Session& s, std::uint32_t count, const std::vector<std::uint32_t>& lengths, bool untouched) {
  const Memory& memory = s.writable(8192);
  const Chunk chunk = memory.split(lengths);
  Outgoing read = s.nfs(nfs::kRead, nfs::read_args(s.files().data, 0, count));
  read.header.lists.writes = {chunk};
  s.send(read);
  const Message message = s.answer_to(read.xid());
  const bool good =
      !untouched || std::ranges::all_of(memory.bytes(), [](std::byte byte) { return byte == Session::kUntouched; });
  if (message.header.procedure == kError) {
    Record::expect(message.header.error == kErrChunk, "not ERR_CHUNK");
    Record::expect(good, "ERR_CHUNK, but the chunk was written to before");
    return s.expect_alive();
  }
  Record::expect(message.header.procedure == kMsg, "not an RDMA_MSG");
  const RpcReply reply = decode_reply(message.payload);
  Record::expect(message.header.lists.writes.size() == 1, "not one Write chunk");
  if (reply.status != kAccepted || reply.accept != kSuccess || nfs::status_of(reply.results) != nfs::kOk) {
    Record::expect(length_of(message.header.lists.writes[0]) == 0 && good, "an error, but data was written");
    return s.expect_alive();
  }
  const nfs::Read results = nfs::decode_read(reply.results, true);
  Record::expect(results.count == results.data_length, "count and the length of the data differ");
  Record::expect(
      results.count <= length_of(chunk),
      fmt::format("the results claim {} bytes, but the chunk has room for {}", results.count, length_of(chunk)));
  Record::expect(!results.eof, "eof, although the file is longer");
  expect_written(memory, chunk, message.header.lists.writes[0], View(s.files().contents).first(results.count));
  s.expect_alive();
}

void add_too_small(ServerFamily& family) {
  const char* const required = "ERR_CHUNK, or a shorter READ whose data and lengths agree";
  family.must("too-small", "8166-3.4.6.2-c", "READ of 4,096 bytes into a chunk of 1,000", required,
              [](Session& s) { too_small(s, 4096, {1000}, false); });
  family.should("too-small-nothing-written", "8166-4.5.3-b 8267-3.1-a", "READ of 4,096 bytes into a chunk of 1,000",
                "ERR_CHUNK and nothing written, or a shorter READ whose data and lengths agree",
                [](Session& s) { too_small(s, 4096, {1000}, true); });
  family.must("too-small-by-a-byte", "8166-3.4.6.2-c", "READ of 4,096 bytes into a chunk of 4,095", required,
              [](Session& s) { too_small(s, 4096, {4095}, false); });
  family.must("too-small-in-segments", "8166-3.4.6-c", "READ of 4,096 bytes into segments of 7 and 500", required,
              [](Session& s) {
                too_small(s, 4096, {7, 500}, false);
              });
  family.should("readlink-too-small", "8166-4.5.3-b 8267-3.1-a", "READLINK of 101 bytes into a chunk of 100",
                "ERR_CHUNK or an error of NFS, and nothing written", [](Session& s) {
                  const Memory& memory = s.writable(200);
                  Outgoing call = s.nfs(nfs::kReadlink, nfs::handle_args(s.files().link));
                  call.header.lists.writes = {{memory.segment(0, 100)}};
                  s.send(call);
                  const Message message = s.answer_to(call.xid());
                  if (message.header.procedure != kError) {
                    const RpcReply reply = decode_reply(message.payload);
                    Record::expect(reply.accept != kSuccess || nfs::status_of(reply.results) != nfs::kOk,
                                   "the path was returned, although it does not fit");
                  }
                  Record::expect(memory.first(200)[0] == Session::kUntouched, "the chunk was written to");
                  s.expect_alive();
                });
}

/// A READ of 10 bytes with Write chunks; `segments` has the number of segments of each chunk. The data must be in the
/// chunk with index `used`, or inline if `used` is -1.
void several(Session& s, const std::vector<std::size_t>& segments, int used) {
  Outgoing read = s.nfs(nfs::kRead, nfs::read_args(s.files().data, 100, 10));
  std::vector<const Memory*> memories;
  for (const std::size_t count : segments) {
    const Memory& memory = s.writable(64);
    memories.push_back(&memory);
    read.header.lists.writes.push_back(memory.split(std::vector<std::uint32_t>(count, 16)));
  }
  s.send(read);
  const Message message = s.answer_to(read.xid());
  Record::expect(message.header.procedure == kMsg, "not an RDMA_MSG");
  Record::expect(message.header.lists.writes.size() == segments.size(), "not as many Write chunks as in the call");
  const View data = View(s.files().contents).subspan(100, 10);
  for (std::size_t i = 0; i < segments.size(); ++i)
    expect_written(*memories[i], read.header.lists.writes[i], message.header.lists.writes[i],
                   static_cast<int>(i) == used ? data : View());
  const nfs::Read results = nfs::decode_read(decode_reply(message.payload).results, used >= 0);
  Record::expect(results.count == 10, "not 10 bytes");
  if (used < 0) Record::expect(std::ranges::equal(results.data, data), "the inline data is wrong");
}

void add_several(ServerFamily& family) {
  family.must("no-chunk", "8166-4.2.4-b", "READ of 10 bytes without a Write chunk", "the data inline",
              [](Session& s) { several(s, {}, -1); });
  family.must("empty-chunk", "8166-4.3.2.3-a", "READ of 10 bytes with a Write chunk without segments",
              "the data inline, and the empty chunk in place", [](Session& s) { several(s, {0}, -1); });
  family.must("two-chunks", "8166-4.3.2.1-a 8166-4.3.2.2-c", "READ of 10 bytes with two Write chunks",
              "the first chunk is used, the second comes back unused", [](Session& s) {
                several(s, {1, 1}, 0);
              });
  family.must("three-chunks", "8166-4.3.2.1-a 8166-4.3.2.2-c",
              "READ of 10 bytes with Write chunks of 3, 2 and 1 segments",
              "the first chunk is used, the others come back unused", [](Session& s) {
                several(s, {3, 2, 1}, 0);
              });
  family.must("empty-chunk-first", "8166-4.3.2.3-a 8166-4.3.2.2-c",
              "READ of 10 bytes with an empty Write chunk and another",
              "the data inline; the empty chunk in place, the other unused", [](Session& s) {
                several(s, {0, 1}, -1);
              });
}

/// Sends a call with one Write chunk although its reply has no DDP-eligible item. The server must return the chunk
/// unused. The call must succeed if `status` is nfs::kOk, and fail if `status` is another status.
void nothing_eligible(Session& s, std::uint32_t procedure, Bytes arguments, std::uint32_t status) {
  Outgoing call = s.nfs(procedure, std::move(arguments));
  const Memory& memory = s.writable(4096);
  call.header.lists.writes = {memory.split({1000, 3000})};
  s.send(call);
  const Message message = s.answer_to(call.xid());
  Record::expect(message.header.procedure == kMsg, "not an RDMA_MSG");
  Record::expect(message.header.lists.writes.size() == 1, "the Write chunk does not come back");
  expect_written(memory, call.header.lists.writes[0], message.header.lists.writes[0], {});
  const std::uint32_t found = nfs::status_of(decode_reply(message.payload).results);
  Record::expect(status == nfs::kOk ? found == nfs::kOk : found != nfs::kOk, nfs_status(found));
}

void add_not_eligible(ServerFamily& family) {
  const char* const required = "the chunk comes back unused: same segments, lengths of zero, nothing written";
  family.must(
      "failing-read", "8166-4.3.2.2-c", "READ of a directory with a Write chunk of two segments", required,
      [](Session& s) { nothing_eligible(s, nfs::kRead, nfs::read_args(s.files().directory, 0, 100), nfs::kIsdir); });
  family.must("failing-readlink", "8166-4.3.2.2-c", "READLINK of a file with a Write chunk of two segments", required,
              [](Session& s) { nothing_eligible(s, nfs::kReadlink, nfs::handle_args(s.files().data), nfs::kInval); });
  family.must("getattr", "8166-4.3.2.2-c 8166-3.4.2-a", "GETATTR with a Write chunk of two segments", required,
              [](Session& s) { nothing_eligible(s, nfs::kGetattr, nfs::handle_args(s.files().data), nfs::kOk); });
  family.must("readdir", "8166-3.4.2-a 8267-4-a", "READDIR, whose entries may not be reduced, with a Write chunk",
              required, [](Session& s) {
                nothing_eligible(s, nfs::kReaddir, nfs::readdir_args(s.files().directory, 0, Bytes(8), 800), nfs::kOk);
              });
  family.must("readlink", "8267-4-a 8166-3.4.6.2-b", "READLINK of 101 bytes into a chunk of 104",
              "the path in the chunk, without pad", [](Session& s) {
                const Memory& memory = s.writable(104);
                Outgoing call = s.nfs(nfs::kReadlink, nfs::handle_args(s.files().link));
                call.header.lists.writes = {{memory.segment()}};
                s.send(call);
                const Message message = s.answer_to(call.xid());
                Record::expect(message.header.procedure == kMsg && message.header.lists.writes.size() == 1,
                               "not an RDMA_MSG with one Write chunk");
                expect_written(memory, call.header.lists.writes[0], message.header.lists.writes[0],
                               view_of(s.files().target));
                const nfs::Readlink results = nfs::decode_readlink(decode_reply(message.payload).results, true);
                Record::expect(results.length == s.files().target.size(), "the length in the stream is wrong");
              });
}

void add_unwritable(ServerFamily& family) {
  const char* const required = "an error, or the end of the connection; the server stays healthy";
  const auto add = [&](const char* name, const char* sends, bool readable) {
    family.robust(name, "", sends, required, [readable](Session& s) {
      s.connection();
      const RdmaSegment segment = readable ? s.readable(Bytes(4096)).segment() : RdmaSegment{0xdeadbeef, 4096, 0};
      Outgoing read = s.nfs(nfs::kRead, nfs::read_args(s.files().data, 0, 4096));
      read.header.lists.writes = {{segment}};
      s.send(read);
      Connection& connection = s.connection();
      s.network().wait([&] { return connection.ended() || connection.has_messages(); }, s.network().patience);
    });
  };
  add("unknown-handle", "READ into a segment whose handle is not valid", false);
  add("memory-without-the-right", "READ into a segment that may only be read", true);
}

}  // namespace

void add_write_chunks(const MakeFamily& make) {
  ServerFamily family = make("write-chunks");
  add_read_shapes(family);
  add_too_small(family);
  add_several(family);
  add_not_eligible(family);
  add_unwritable(family);
}

}  // namespace rpcrdma::conform
