// SPDX-License-Identifier: BSD-3-Clause
// Requests beyond the sizes that a server needs to support, and many connections. The server may refuse the requests,
// but must keep serving (RFC 8267 section 6.4.2, RFC 8166 section 8.1.4).
#include <fmt/format.h>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

/// Sends the call. It must be served, or refused by ERR_CHUNK or an RPC error; the connection must stay usable.
void answered(Session& s, const Outgoing& call) {
  s.send(call);
  const Message message = s.answer_to(call.xid());
  Record::expect(message.header.procedure != kError || message.header.error == kErrChunk, "not ERR_CHUNK");
  s.expect_alive();
}

/// Returns `most`, or fewer if a call with `most` segments would exceed the inline threshold. Assumes 24 bytes for each
/// segment, which is the size of a Read segment, and 200 bytes for all other parts of the message.
std::size_t segments_that_fit(Session& s, std::size_t most) {
  constexpr std::size_t kOthers = 200, kReadSegment = 24;
  return std::min(most, (s.connection().call_threshold() - kOthers) / kReadSegment);
}

void add_segments(ServerFamily& family) {
  const char* const required =
      "the call is executed, or refused by ERR_CHUNK or GARBAGE_ARGS; the connection stays open";
  for (const std::size_t most : {16u, 64u, 1000u}) {
    family.should(fmt::format("write-chunk-of-{}", most), "8267-6.4.2-b",
                  fmt::format("a NULL call with a Write chunk of {} segments, or as many as fit", most), required,
                  [most](Session& s) {
                    Outgoing call = s.null();
                    const std::size_t count = segments_that_fit(s, most);
                    const Memory& memory = s.writable(16 * count);
                    call.header.lists.writes = {memory.split(std::vector<std::uint32_t>(count, 16))};
                    answered(s, call);
                  });
    family.should(fmt::format("reply-chunk-of-{}", most), "8267-6.4.2-b",
                  fmt::format("a NULL call with a Reply chunk of {} segments, or as many as fit", most), required,
                  [most](Session& s) {
                    Outgoing call = s.null();
                    const std::size_t count = segments_that_fit(s, most);
                    const Memory& memory = s.writable(16 * count);
                    call.header.lists.reply = memory.split(std::vector<std::uint32_t>(count, 16));
                    answered(s, call);
                  });
    family.should(
        fmt::format("long-call-of-{}", most), "8267-6.4.2-b",
        fmt::format("a NULL call in a Position-Zero chunk of {} segments, or as many as fit, most of them empty", most),
        required, [most](Session& s) {
          std::vector<std::uint32_t> lengths(segments_that_fit(s, most), 0);
          lengths.front() = 40;
          answered(s, s.long_call(s.null(), lengths));
        });
  }
  family.should("many-write-chunks", "8267-6.4.2-b", "a NULL call with 40 Write chunks of one segment", required,
                [](Session& s) {
                  Outgoing call = s.null();
                  const Memory& memory = s.writable(64);
                  for (std::size_t i = 0; i < segments_that_fit(s, 40); ++i)
                    call.header.lists.writes.push_back({memory.segment()});
                  answered(s, call);
                });
  family.should("write-from-100-segments", "8267-6.4.2-b", "WRITE of 100 bytes from 100 segments, or as many as fit",
                required, [](Session& s) {
                  s.connection();
                  const auto count = static_cast<std::uint32_t>(segments_that_fit(s, 100));
                  Outgoing call = s.nfs(nfs::kWrite, nfs::write_args_head(s.make_file("from-100-segments"), 0, count));
                  const std::uint32_t position = call.end();
                  const Memory& memory = s.readable(pattern(count, 4));
                  for (const RdmaSegment& segment : memory.split(std::vector<std::uint32_t>(count, 1)))
                    call.header.lists.reads.push_back({position, segment});
                  answered(s, call);
                });
}

void add_large_sizes(ServerFamily& family) {
  for (const std::uint32_t length : {0x7fffffffu, 0xffffffffu})
    family.should(fmt::format("long-call-of-{:x}-bytes", length), "8166-3.4.4-c 8166-8.1.4-a",
                  fmt::format("a long call that claims {} bytes", length),
                  "the call is refused before anything is read; the connection stays open", [length](Session& s) {
                    RdmaHeader header{.xid = s.new_xid(), .procedure = kNomsg};
                    header.lists.reads = {{0, {s.readable(Bytes(64)).segment().handle, length, 0}}};
                    s.send(encode(header));
                    s.expect_refusal(header.xid);
                    s.expect_alive();
                  });
  family.should("write-of-7fffffff-bytes", "8166-3.4.4-c 8166-8.1.4-a",
                "WRITE whose Read chunk claims 2,147,483,647 bytes",
                "an error before anything is read; the connection stays open", [](Session& s) {
                  const nfs::Handle file = s.make_file("write-of-7fffffff");
                  Outgoing call = s.nfs(nfs::kWrite, nfs::write_args_head(file, 0, 0x7fffffff));
                  call.header.lists.reads = {{call.end(), {s.readable(Bytes(64)).segment().handle, 0x7fffffff, 0}}};
                  s.send(call);
                  const Message message = s.answer_to(call.xid());
                  if (message.header.procedure == kMsg) {
                    const RpcReply reply = decode_reply(message.payload);
                    Record::expect(reply.accept != kSuccess || nfs::status_of(reply.results) != nfs::kOk,
                                   "the call was executed");
                  }
                  s.expect_alive();
                });
  family.must("read-of-ffffffff-bytes", "8166-3.3.2-a", "READ of 4,294,967,295 bytes without chunks",
              "a short READ inline, or ERR_CHUNK; no Send that is too long", [](Session& s) {
                const Outgoing call = s.nfs(nfs::kRead, nfs::read_args(s.files().data, 0, 0xffffffff));
                s.send(call);
                const Message message = s.answer_to(call.xid());
                Record::expect(message.bytes.size() <= s.connection().reply_threshold(), "a Send that is too long");
                s.expect_alive();
              });
  family.robust("listing-of-ffffffff-bytes", "", "READDIR of 4,294,967,295 bytes with a Reply chunk of 32,768",
                "a listing that fits, or an error; the connection stays open", [](Session& s) {
                  Outgoing call = s.nfs(nfs::kReaddir, nfs::readdir_args(s.files().many, 0, Bytes(8), 0xffffffff));
                  call.header.lists.reply = Chunk{s.writable(32768).segment()};
                  answered(s, call);
                });
}

}  // namespace

void add_limits(const MakeFamily& make) {
  ServerFamily family = make("limits");
  add_segments(family);
  add_large_sizes(family);
  family.robust("many-connections", "", "20 connections, and a NULL call on each", "all are answered", [](Session& s) {
    for (int i = 0; i < 20; ++i) s.connect_and_call();
  });
  family.robust("connections-that-come-and-go", "", "50 connections, each aborted after its set-up",
                "the server stays healthy", [](Session& s) {
                  for (int i = 0; i < 50; ++i) Connection(s.network()).abort();
                });
}

}  // namespace rpcrdma::conform
