// SPDX-License-Identifier: BSD-3-Clause
// Remote invalidation (RFC 8797 section 4.1).
#include <fmt/format.h>

#include <map>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

Setup with_flag(std::uint8_t flags) { return {.private_data = encode(PrivateData{.flags = flags})}; }

/// Makes a connection on which both sides have set R, the flag for remote invalidation; skips the case if that is
/// impossible.
void agreed(Session& s) {
  if (!s.network().fabric->capabilities().remote_invalidation)
    Record::skip("this fabric does not support remote invalidation");
  const Connection& connection = s.connect_and_call(with_flag(1));
  const auto peers = connection.private_data();
  if (!peers || (peers->flags & 1) == 0) Record::skip("the server does not set R");
}

Outgoing read_with_chunk(Session& s) {
  Outgoing read = s.nfs(nfs::kRead, nfs::read_args(s.files().data, 0, 1000));
  read.header.lists.writes = {{s.writable(1000).segment()}};
  return read;
}

void expect_plain(Session& s, const Outgoing& call) {
  s.send(call);
  const Message message = s.answer_to(call.xid());
  Record::expect(!message.invalidated, fmt::format("Send with Invalidate of {:#x}", message.invalidated.value_or(0)));
}

/// If both sides have set the R flag, a reply invalidates nothing or a handle of its own call.
void expect_own(Session& s, const Outgoing& call) {
  s.send(call);
  const Message message = s.answer_to(call.xid());
  if (!message.invalidated) return s.record().received("nothing is invalidated");
  s.record().received(fmt::format("{:#x} is invalidated", *message.invalidated));
  const ChunkLists& lists = call.header.lists;
  bool own = false;
  for (const ReadSegment& read : lists.reads) own |= read.target.handle == *message.invalidated;
  for (const Chunk& chunk : lists.writes)
    for (const RdmaSegment& segment : chunk) own |= segment.handle == *message.invalidated;
  if (lists.reply)
    for (const RdmaSegment& segment : *lists.reply) own |= segment.handle == *message.invalidated;
  Record::expect(own, "the handle is not of this call");
}

void add_plain(ServerFamily& family) {
  const char* const required = "the reply is a plain Send";
  family.must("not-without-private-data", "8797-4.1-c 8797-5.1-a", "READ with a Write chunk, without private data",
              required, [](Session& s) {
                s.connect_and_call({.private_data = {}});
                expect_plain(s, read_with_chunk(s));
              });
  family.must("not-with-r-cleared", "8797-4.1-c", "READ with a Write chunk, R is cleared", required, [](Session& s) {
    s.connect_and_call(with_flag(0));
    expect_plain(s, read_with_chunk(s));
  });
  family.must("not-with-a-reserved-flag", "8797-4.1-c 8797-4-a",
              "READ with a Write chunk, R is cleared and other flags are set", required, [](Session& s) {
                s.connect_and_call(with_flag(0xfe));
                expect_plain(s, read_with_chunk(s));
              });
  family.must("null-not-with-r-cleared", "8797-4.1-c", "a long NULL call, R is cleared", required, [](Session& s) {
    s.connect_and_call(with_flag(0));
    expect_plain(s, s.long_call(s.null()));
  });
}

void add_own(ServerFamily& family) {
  const char* const required = "nothing, or a handle of this call is invalidated";
  family.must("nothing-without-chunks", "8797-4.1-b", "a NULL call without chunks, R is set", "nothing is invalidated",
              [](Session& s) {
                agreed(s);
                expect_plain(s, s.null());
              });
  family.must("of-a-read-chunk", "8797-4.1-b", "a long NULL call, R is set", required, [](Session& s) {
    agreed(s);
    expect_own(s, s.long_call(s.null()));
  });
  family.must("of-a-write-chunk", "8797-4.1-b", "READ with a Write chunk, R is set", required, [](Session& s) {
    agreed(s);
    expect_own(s, read_with_chunk(s));
  });
  family.must("of-an-unused-chunk", "8797-4.1-b", "a NULL call with a Write and a Reply chunk, R is set", required,
              [](Session& s) {
                agreed(s);
                Outgoing call = s.null();
                call.header.lists.writes = {{s.writable(100).segment()}};
                call.header.lists.reply = Chunk{s.writable(100).segment()};
                expect_own(s, call);
              });
  family.must("not-of-an-earlier-call", "8797-4.1-b",
              "READ with a Write chunk, then a NULL call without chunks, R is set",
              "the second reply invalidates nothing", [](Session& s) {
                agreed(s);
                expect_own(s, read_with_chunk(s));
                expect_plain(s, s.null());
              });
  family.must("of-calls-at-once", "8797-4.1-b", "8 READs at once, each with a Write chunk, R is set",
              "each reply invalidates a handle of its own call, if any", [](Session& s) {
                agreed(s);
                std::map<std::uint32_t, std::uint32_t> handles;
                const std::uint32_t calls = std::min(8u, s.connection().granted());
                for (std::uint32_t i = 0; i < calls; ++i) {
                  const Outgoing read = read_with_chunk(s);
                  handles[read.xid()] = read.header.lists.writes[0][0].handle;
                  s.send(read);
                }
                for (std::uint32_t i = 0; i < calls; ++i) {
                  const Message message = s.answer();
                  Record::expect(handles.count(message.header.xid) == 1, "a reply that answers no open call");
                  Record::expect(!message.invalidated || *message.invalidated == handles[message.header.xid],
                                 "the handle of another call is invalidated");
                }
              });
}

}  // namespace

void add_invalidation(const MakeFamily& make) {
  ServerFamily family = make("invalidation");
  add_plain(family);
  add_own(family);
  family.robust("by-the-client", "8166-8.1-a", "Send with Invalidate of a handle that the server never advertised",
                "the connection ends, or the call is answered; the server stays healthy", [](Session& s) {
                  Connection& connection = s.connection();
                  connection.send(s.null().bytes(), 0xdeadbeef);
                  s.network().wait([&] { return connection.ended() || connection.has_messages(); },
                                   s.network().patience);
                });
  family.must("write-to-the-server", "8166-8.1-a", "an RDMA Write to a handle that the server never advertised",
              "the connection ends", [](Session& s) {
                s.connection().write(pattern(100, 1), 0xdeadbeef, 0);
                s.expect_end();
              });
  family.must("read-from-the-server", "8166-8.1-a", "an RDMA Read of a handle that the server never advertised",
              "the connection ends", [](Session& s) {
                s.connection().read(4096, 0xdeadbeef, 0);
                s.expect_end();
              });
}

}  // namespace rpcrdma::conform
