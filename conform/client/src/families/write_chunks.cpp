// SPDX-License-Identifier: BSD-3-Clause
// Write lists and Reply chunks in replies that differ from those offered or from the data written (RFC 8166 sections
// 3.4.6, 4.3.2 and 4.3.3).
#include "families/families.hpp"

namespace rpcrdma::conform::client {
namespace {

struct ChunkRow {
  const char* name;
  const char* rules;
  const char* sends;
  void (*change)(Reply&);
};

Chunk& chunk(Reply& reply) { return reply.header.lists.writes.at(0); }

bool is_used(Reply& reply) { return reply.is_msg() && length_of(chunk(reply)) != 0; }

const ChunkRow kChunkRows[] = {
    {"longer-than-offered", "8166-3.4.6-c", "a returned length beyond the segment",
     [](Reply& r) { chunk(r)[0].length += 4096 * 1024; }},
    {"largest-length", "8166-3.4.6-c", "a returned length of 4,294,967,295 bytes",
     [](Reply& r) { chunk(r)[0].length = 0xffffffff; }},
    {"shorter-than-the-data", "8166-3.4.6.2-c", "a returned length 4 bytes shorter than the result",
     [](Reply& r) { chunk(r)[0].length -= std::min(chunk(r)[0].length, 4u); }},
    {"unused", "8166-4.3.2.2-c", "lengths of zero, although data were written",
     [](Reply& r) {
       for (RdmaSegment& segment : chunk(r)) segment.length = 0;
     }},
    {"longer-than-the-data", "8166-3.4.6.2-b", "a returned length that includes the XDR pad, or 4 more bytes",
     [](Reply& r) { chunk(r)[0].length += 4 - chunk(r)[0].length % 4; }},
    {"other-handle", "8166-3.4.6-b", "another handle than the one offered",
     [](Reply& r) { chunk(r)[0].handle ^= 0x100; }},
    {"other-offset", "8166-3.4.6-b", "another offset than the one offered", [](Reply& r) { chunk(r)[0].offset += 8; }},
    {"more-segments", "8166-3.4.6-b", "a segment more than offered",
     [](Reply& r) {
       chunk(r).push_back({1, 4, 0});
     }},
    {"no-segments", "8166-3.4.6-b", "a chunk without segments", [](Reply& r) { chunk(r).clear(); }},
    {"two-chunks", "8166-3.4.6-b", "two chunks where one was offered",
     [](Reply& r) { r.header.lists.writes.push_back(chunk(r)); }},
    {"no-chunk", "8166-3.4.6-b", "no Write list, and no data inline", [](Reply& r) { r.header.lists.writes.clear(); }},
};

/// Moves the data of a READ reply from the Write chunk to the end of the message, where the data of an unreduced reply
/// are. Marks the reply as unchanged if it answers another procedure, if it has no data in Write chunks, or if it would
/// exceed the inline threshold.
void put_inline(Reply& reply, const Call& call, Link& link) {
  Bytes data;
  for (const RemoteWrite& each : reply.writes) data.insert(data.end(), each.data.begin(), each.data.end());
  data.resize(padded(data.size()));
  reply.unchanged = !call.is(nfs::kProgram, nfs::kRead) || data.empty() ||
                    reply.bytes().size() + data.size() > link.agreed().threshold;
  if (reply.unchanged) return;
  reply.message.insert(reply.message.end(), data.begin(), data.end());
  reply.writes.clear();
  for (RdmaSegment& segment : chunk(reply)) segment.length = 0;
}

}  // namespace

void add_write_chunks(const MakeFamily& make) {
  ClientFamily family = make("write-chunks");
  for (const ChunkRow& row : kChunkRows)
    family.robust(row.name, row.rules, std::string("in one reply: ") + row.sends, kCopes, [&row](Trial& t) {
      t.on_reply(with_write_chunk(), [&row](Reply& reply, const Call&, Link&) {
        if (is_used(reply))
          row.change(reply);
        else
          reply.unchanged = true;
      });
      t.stays_intact();
    });
  for (const ChunkRow& row : kChunkRows)
    family.robust(std::string("always-") + row.name, row.rules, std::string("in all replies: ") + row.sends, kCopes,
                  [&row](Trial& t) {
                    t.on_reply(
                        with_write_chunk(),
                        [&row](Reply& reply, const Call&, Link&) {
                          if (is_used(reply))
                            row.change(reply);
                          else
                            reply.unchanged = true;
                        },
                        kAlways);
                    t.stays_intact();
                  });
  family.must("inline-instead", "8166-6.1-d",
              "READ data inline in all replies that are short enough, the Write chunk unused",
              "the READ ends with an error: the command fails", [](Trial& t) {
                // Makes the client READ more than fits inline.
                t.hooks().attributes.prepare([](FileAttributes& a) {
                  if (a.type == nfs::kRegular) a.size = 65536;
                });
                t.on_reply(with_write_chunk(), put_inline, kAlways);
                t.fails();
              });
  family.robust("not-offered", "8166-6.1-c",
                "a Write chunk in the reply to a call that offers none, then the right reply", kCopes, [](Trial& t) {
                  t.on_reply(without_chunks(), [](Reply& reply, const Call&, Link&) {
                    RdmaHeader header = reply.header;
                    header.lists.writes = {{{1, 8, 0}}};
                    reply.before = {Out().raw(encode(header)).raw(reply.message).bytes()};
                  });
                  t.stays_intact();
                });
  family.robust("claimed-and-not-written", "8166-3.4.6-d", "a reply without the RDMA Writes that it claims", kEnds,
                [](Trial& t) {
                  t.on_reply(with_write_chunk(), [](Reply& reply, const Call&, Link&) { reply.writes.clear(); });
                  t.ends();
                });
}

namespace {

/// Turns a short reply into a long reply, if it fits into the first segment, `offered`.
void make_long(Reply& reply, const RdmaSegment& offered) {
  if (reply.header.procedure == kNomsg) return;
  reply.unchanged = !reply.is_msg() || reply.message.size() > offered.length;
  if (reply.unchanged) return;
  reply.writes.push_back({offered.handle, offered.offset, reply.message});
  reply.header.procedure = kNomsg;
  reply.header.lists.reply->front().length = static_cast<std::uint32_t>(reply.message.size());
  reply.message.clear();
}

}  // namespace

void add_reply_chunks(const MakeFamily& make) {
  ClientFamily family = make("reply-chunks");
  const auto changed = [&](const char* name, const char* rules, const char* sends, void (*change)(Reply&)) {
    family.robust(name, rules, std::string("each reply to a call with a Reply chunk is a long reply with ") + sends,
                  kCopes, [change](Trial& t) {
                    t.on_reply(
                        with_reply_chunk(),
                        [change](Reply& reply, const Call& call, Link&) {
                          make_long(reply, call.header.lists.reply->front());
                          if (!reply.unchanged) change(reply);
                        },
                        kAlways);
                    t.stays_intact();
                  });
  };
  changed("unchanged", "8166-3.5.3-d", "no fault", [](Reply&) {});
  changed("longer-than-offered", "8166-4.3.3-c", "a length beyond the Reply chunk",
          [](Reply& r) { r.header.lists.reply->front().length = 0xfffffffc; });
  changed("longer-than-written", "8166-4.3.3-c", "a length that counts 64 bytes which were not written",
          [](Reply& r) { r.header.lists.reply->front().length += 64; });
  changed("shorter-than-written", "8166-4.3.3-c", "a length that leaves out the last 8 bytes",
          [](Reply& r) { r.header.lists.reply->front().length -= 8; });
  changed("length-0", "8166-4.2.4-a", "a length of zero", [](Reply& r) { r.header.lists.reply->front().length = 0; });
  changed("length-3", "8166-4.3.3-c", "a length of 3", [](Reply& r) { r.header.lists.reply->front().length = 3; });
  changed("other-handle", "8166-4.3.3-c", "another handle",
          [](Reply& r) { r.header.lists.reply->front().handle += 1; });
  changed("no-segments", "8166-4.3.3-c", "a Reply chunk without segments",
          [](Reply& r) { r.header.lists.reply->clear(); });
  changed("also-inline", "8166-4.2.4-a", "a payload after the RDMA_NOMSG header",
          [](Reply& r) { r.message = pattern(64, 6); });
  changed("nothing-written", "8166-4.3.3-c", "nothing in the Reply chunk", [](Reply& r) { r.writes.clear(); });
  changed("garbage-written", "8166-4.3.3-c", "garbage in the Reply chunk",
          [](Reply& r) { r.writes[0].data = pattern(r.writes[0].data.size(), 4); });
  family.robust("not-offered", "8166-4.3.3-c", "a reply in a Reply chunk that was not offered, then the right reply",
                kCopes, [](Trial& t) {
                  t.on_reply([](const Call& call) { return call.number > 1 && !call.header.lists.reply; },
                             [](Reply& reply, const Call&, Link&) {
                               RdmaHeader header = reply.header;
                               header.procedure = kNomsg;
                               header.lists.reply = Chunk{{7, 64, 0}};
                               reply.before = {encode(header)};
                             });
                  t.stays_intact();
                });
}

}  // namespace rpcrdma::conform::client
