// SPDX-License-Identifier: BSD-3-Clause
// Chunk lists of many forms, in NULL calls or in headers without a call. NULL has no data item that may be reduced.
#include <fmt/format.h>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

/// A NULL call with these words in the place of its chunk lists.
Bytes with_lists(const Outgoing& call, const std::vector<std::uint32_t>& words) {
  Out out;
  out.words({call.xid(), 1, 32, kMsg});
  for (const std::uint32_t word : words) out.u32(word);
  return out.raw(call.payload()).bytes();
}

void malformed(ServerFamily& family, const char* name, const char* rule, const char* sends,
               std::vector<std::uint32_t> words) {
  family.must(name, rule, sends, "ERR_CHUNK with the XID of the call; the connection stays open",
              [words = std::move(words)](Session& s) {
                const Outgoing call = s.null();
                s.connection();
                s.send(with_lists(call, words));
                s.expect_err_chunk(call.xid());
                s.expect_alive();
              });
}

void add_discriminators(ServerFamily& family) {
  const char* const rule = "8166-4.5.2-a";
  const auto add = [&](const char* name, const char* sends, std::vector<std::uint32_t> words) {
    malformed(family, name, rule, sends, std::move(words));
  };
  add("read-discriminator-2", "the word before a Read segment is 2", {2, 40, 1, 0, 0, 0, 0, 0, 0});
  add("read-discriminator-ffffffff", "the word before a Read segment is ffffffff",
      {0xffffffff, 40, 1, 0, 0, 0, 0, 0, 0});
  add("write-discriminator-2", "the word before a Write chunk is 2", {0, 2, 1, 1, 0, 0, 0, 0, 0});
  add("write-discriminator-ffffffff", "the word before a Write chunk is ffffffff",
      {0, 0xffffffff, 1, 1, 0, 0, 0, 0, 0});
  add("reply-discriminator-2", "the word before the Reply chunk is 2", {0, 0, 2, 1, 1, 0, 0, 0});
  add("reply-discriminator-ffffffff", "the word before the Reply chunk is ffffffff", {0, 0, 0xffffffff, 1, 1, 0, 0, 0});
  add("write-count-ffffffff", "a Write chunk of 4,294,967,295 segments", {0, 1, 0xffffffff, 1, 0, 0, 0, 0, 0});
  add("write-count-10000000", "a Write chunk of 268,435,456 segments, whose size in bytes is a multiple of 2^32",
      {0, 1, 0x10000000, 1, 0, 0, 0, 0, 0});
  add("write-count-one-more", "a Write chunk that claims many more segments than follow", {0, 1, 20, 1, 0, 0, 0, 0, 0});
  add("reply-count-ffffffff", "a Reply chunk of 4,294,967,295 segments", {0, 0, 1, 0xffffffff});
  add("reply-count-10000000", "a Reply chunk of 268,435,456 segments", {0, 0, 1, 0x10000000});
}

std::vector<std::uint32_t> repeated(std::initializer_list<std::uint32_t> first, std::size_t times,
                                    std::initializer_list<std::uint32_t> unit) {
  std::vector<std::uint32_t> out(first);
  for (std::size_t i = 0; i < times; ++i) out.insert(out.end(), unit);
  return out;
}

/// Adds a case that sends a chunk list without an end: the message ends after `words`. No payload follows them, because
/// the server could read a payload as the rest of the list.
void endless(ServerFamily& family, const char* name, const char* sends, std::vector<std::uint32_t> words) {
  family.must(name, "8166-4.5.2-a", sends, "ERR_CHUNK with the XID of the call; the connection stays open",
              [words = std::move(words)](Session& s) {
                s.connection();
                const std::uint32_t xid = s.new_xid();
                Out out;
                out.words({xid, 1, 32, kMsg});
                for (const std::uint32_t word : words) out.u32(word);
                s.send(out.bytes());
                s.expect_err_chunk(xid);
                s.expect_alive();
              });
}

void add_endless(ServerFamily& family) {
  endless(family, "read-list-without-end", "a Read list of 8 segments that does not end before the message does",
          repeated({}, 8, {1, 40, 1, 0, 0, 0}));
  endless(family, "write-list-without-end", "a Write list of 8 chunks that does not end before the message does",
          repeated({0}, 8, {1, 1, 1, 0, 0, 0}));
  endless(family, "empty-write-chunks-without-end",
          "a Write list of 100 empty chunks that does not end before the message does", repeated({0}, 100, {1, 0}));
  family.must("truncated-in-the-lists", "8166-4.5.2-a",
              "an RDMA_NOMSG with all three lists, cut short at each word after the 28th byte", "ERR_CHUNK each time",
              [](Session& s) {
                s.connection();
                RdmaHeader header{.xid = 0, .procedure = kNomsg};
                header.lists.reads = {{0, {1, 100, 0}}, {0, {2, 100, 0}}};
                header.lists.writes = {{{3, 100, 0}, {4, 100, 0}}};
                header.lists.reply = Chunk{{5, 100, 0}};
                const std::size_t whole = encode(header).size();
                for (std::size_t size = kFixedHeader; size < whole; size += 4) {
                  header.xid = s.new_xid();
                  const Bytes message = encode(header);
                  s.send(View(message).first(size));
                  s.expect_err_chunk(header.xid);
                }
                s.expect_alive();
              });
}

void add_positions(ServerFamily& family) {
  for (const std::uint32_t position : {1u, 2u, 3u, 30u, 38u, 41u, 0xffffffffu})
    family.must(fmt::format("position-{}", position), "8166-3.4.5-b 8166-4.5.2-a",
                fmt::format("a Read segment with position {}, which is not a multiple of four", position),
                "ERR_CHUNK; the connection stays open", [position](Session& s) {
                  Outgoing call = s.null();
                  call.header.lists.reads = {{position, s.readable(Bytes(4)).segment()}};
                  s.send(call);
                  s.expect_err_chunk(call.xid());
                  s.expect_alive();
                });
  family.must("position-behind-the-message", "8166-4.5-b", "a Read chunk at a position far beyond the end of the call",
              "the call is refused; the connection stays open", [](Session& s) {
                Outgoing call = s.null();
                call.header.lists.reads = {{4000, s.readable(Bytes(4)).segment()}};
                s.send(call);
                s.expect_refusal(call.xid());
                s.expect_alive();
              });
  family.must("position-within-the-call-header", "8166-6.1-b 8166-4.5-b",
              "a Read chunk at the program number of the call", "the call is refused; the connection stays open",
              [](Session& s) {
                Outgoing call = s.null();
                call.header.lists.reads = {{12, s.readable(Bytes(4)).segment()}};
                s.send(call);
                s.expect_refusal(call.xid());
                s.expect_alive();
              });
}

/// Calls NULL with a Write chunk for each entry of `segments`. The chunks must come back unused, with the same numbers
/// of segments.
void unused(Session& s, const std::vector<std::size_t>& segments) {
  Outgoing call = s.null();
  for (const std::size_t count : segments) {
    Chunk& chunk = call.header.lists.writes.emplace_back();
    Memory& memory = s.writable(64 * std::max<std::size_t>(count, 1));
    for (std::size_t i = 0; i < count; ++i) chunk.push_back(memory.segment(static_cast<std::uint32_t>(64 * i), 64));
  }
  s.send(call);
  const Message message = s.answer_to(call.xid());
  Record::expect(message.header.procedure == kMsg, "not an RDMA_MSG");
  Record::expect(
      message.header.lists.writes.size() == segments.size(),
      fmt::format("{} Write chunks came back, {} were provided", message.header.lists.writes.size(), segments.size()));
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Chunk& chunk = message.header.lists.writes[i];
    Record::expect(chunk.size() == segments[i], fmt::format("chunk {} came back with {} segments", i, chunk.size()));
    Record::expect(length_of(chunk) == 0, fmt::format("chunk {} came back with {} bytes", i, length_of(chunk)));
  }
  s.expect_alive();
}

void add_unused(ServerFamily& family) {
  const char* const required = "the chunks come back in place, with as many segments, and with lengths of zero";
  const auto add = [&](const char* name, const char* rule, const char* sends, std::vector<std::size_t> segments) {
    family.must(name, rule, sends, required, [segments = std::move(segments)](Session& s) { unused(s, segments); });
  };
  add("unused-write-chunk", "8166-4.3.2.2-c 8166-3.4.6-b", "a NULL call with a Write chunk of one segment", {1});
  add("unused-write-chunk-of-5", "8166-4.3.2.2-c 8166-3.4.6-b", "a NULL call with a Write chunk of 5 segments", {5});
  add("unused-write-chunks", "8166-4.3.2.2-c 8166-3.4.6-b", "a NULL call with Write chunks of 1, 2 and 3 segments",
      {1, 2, 3});
  add("empty-write-chunk", "8166-4.3.2.3-a 8166-3.4.6-b", "a NULL call with a Write chunk without segments", {0});
  add("empty-and-unused-write-chunks", "8166-4.3.2.3-a 8166-3.4.6-b",
      "a NULL call with Write chunks of 0, 2 and 0 segments", {0, 2, 0});
  family.must("empty-lists", "8166-4.2.4-b", "a NULL call without chunks", "the call is executed",
              [](Session& s) { s.expect_alive(); });
  family.must("unused-reply-chunk", "8166-4.3.3-c", "a NULL call with a Reply chunk of two segments",
              "the Reply chunk comes back with both segments; their lengths match the data written", [](Session& s) {
                Outgoing call = s.null();
                const Memory& memory = s.writable(2000);
                call.header.lists.reply = memory.split({500, 1500});
                s.send(call);
                const Message message = s.answer_to(call.xid());
                Record::expect(message.header.lists.reply.has_value(), "the Reply chunk does not come back");
                Record::expect(message.header.lists.reply->size() == 2,
                               "the Reply chunk that came back does not have two segments");
                const std::uint64_t length = length_of(*message.header.lists.reply);
                const bool inline_reply = message.header.procedure == kMsg;
                Record::expect(inline_reply == (length == 0), fmt::format("{} bytes in the Reply chunk", length));
                s.expect_alive();
              });
  family.robust("reply-chunk-without-segments", "8166-4.3.3-c", "a NULL call with a Reply chunk of no segments",
                "the reply is inline, and the chunk comes back", [](Session& s) {
                  Outgoing call = s.null();
                  call.header.lists.reply = Chunk{};
                  s.send(call);
                  const Message message = s.answer_to(call.xid());
                  Record::expect(message.header.procedure == kMsg, "not an RDMA_MSG");
                  Record::expect(message.header.lists.reply && message.header.lists.reply->empty(),
                                 "the chunk does not come back as it was");
                  s.expect_alive();
                });
}

}  // namespace

void add_chunk_lists(const MakeFamily& make) {
  ServerFamily family = make("chunk-lists");
  add_unused(family);
  add_discriminators(family);
  add_endless(family);
  add_positions(family);
  family.robust("zero-length-read-segment", "", "a NULL call with a Read segment of length zero at its end",
                "the call is answered; the connection stays open", [](Session& s) {
                  Outgoing call = s.null();
                  call.header.lists.reads = {{call.end(), {0x1234, 0, 0}}};
                  s.send(call);
                  s.answer_to(call.xid());
                  s.expect_alive();
                });
  family.robust("segment-that-wraps", "", "a NULL call with a Write segment whose end exceeds 2^64",
                "the call is answered; the connection stays open", [](Session& s) {
                  Outgoing call = s.null();
                  call.header.lists.writes = {{{0x1234, 8192, 0xfffffffffffff000}}};
                  s.send(call);
                  s.answer_to(call.xid());
                  s.expect_alive();
                });
}

}  // namespace rpcrdma::conform
