// SPDX-License-Identifier: BSD-3-Clause
// Replies whose transport header is wrong (RFC 8166 sections 4.2 to 4.6).
#include "families/families.hpp"

namespace rpcrdma::conform::client {
namespace {

/// A case of this family. The server sends the message that `message` makes from the right reply, and then the right
/// reply. The client must discard the first of the two messages.
struct HeaderRow {
  Level level;
  const char* name;
  const char* rules;
  const char* sends;
  Bytes (*message)(const Reply&);
};

Bytes with_word(const Reply& reply, std::size_t index, std::uint32_t value) {
  Bytes out = reply.bytes();
  set_word(out, 4 * index, value);
  return out;
}

Bytes cut(const Reply& reply, std::size_t size) {
  Bytes out = reply.bytes();
  out.resize(std::min(out.size(), size));
  return out;
}

/// A header that begins with the four fixed words: the XID of `reply`, version 1, 32 credits and `procedure`. The words
/// `rest` follow.
Bytes words(const Reply& reply, std::uint32_t procedure, std::initializer_list<std::uint32_t> rest) {
  return Out().words({reply.header.xid, 1, 32, procedure}).words(rest).bytes();
}

Bytes with_reads(const Reply& reply) {
  RdmaHeader header = reply.header;
  header.lists.reads = {{0, {1, 100, 0}}};
  return Out().raw(encode(header)).raw(reply.message).bytes();
}

constexpr std::uint32_t kAllOnes = 0xffffffff;
constexpr const char* kDiscard = "8166-4.5-c";

const HeaderRow kHeaderRows[] = {
    {Level::must, "empty", "8166-4.5-a", "a message of no bytes", [](const Reply&) { return Bytes(); }},
    {Level::must, "4-bytes", "8166-4.5-a", "the XID alone", [](const Reply& r) { return cut(r, 4); }},
    {Level::must, "16-bytes", "8166-4.5-a", "the four fixed words", [](const Reply& r) { return cut(r, 16); }},
    {Level::must, "27-bytes", "8166-4.5-a", "27 bytes of the header", [](const Reply& r) { return cut(r, 27); }},
    {Level::must, "version-0", kDiscard, "a reply of version 0", [](const Reply& r) { return with_word(r, 1, 0); }},
    {Level::must, "version-3", kDiscard, "a reply of version 3", [](const Reply& r) { return with_word(r, 1, 3); }},
    {Level::must, "procedure-5", kDiscard, "a reply with rdma_proc 5",
     [](const Reply& r) { return with_word(r, 3, 5); }},
    {Level::must, "procedure-4294967295", kDiscard, "a reply with the largest rdma_proc",
     [](const Reply& r) { return with_word(r, 3, kAllOnes); }},
    {Level::must, "msgp", "8166-4.6.1-c", "an RDMA_MSGP with the reply",
     [](const Reply& r) {
       return Out().raw(words(r, kMsgp, {8, 1024, 0, 0, 0})).raw(r.message).bytes();
     }},
    {Level::must, "done", "8166-4.6.2-b", "an RDMA_DONE with the XID of the call",
     [](const Reply& r) {
       return words(r, kDone, {0, 0, 0});
     }},
    {Level::must, "read-list", "8166-4.3.1-b", "a reply with a Read list", with_reads},
    {Level::must, "list-truncated", kDiscard, "a Write chunk of two segments that ends in the first",
     [](const Reply& r) {
       return words(r, kMsg, {0, 1, 2, 7, 100, 0});
     }},
    {Level::must, "huge-write-chunk", kDiscard, "a Write chunk of 4,294,967,295 segments",
     [](const Reply& r) {
       return words(r, kMsg, {0, 1, kAllOnes, 0, 0, 0, 0, 0, 0});
     }},
    {Level::must, "huge-reply-chunk", kDiscard, "a Reply chunk of 268,435,456 segments",
     [](const Reply& r) {
       return words(r, kNomsg, {0, 0, 1, 1u << 28, 0, 0, 0, 0});
     }},
    {Level::must, "endless-write-list", kDiscard, "a Write list that has no end",
     [](const Reply& r) {
       return words(r, kMsg, {0, 1, 0, 1, 0, 1, 0, 1, 0});
     }},
    {Level::robustness, "discriminator-2", kDiscard, "a Write list whose first word is 2",
     [](const Reply& r) {
       return words(r, kMsg, {0, 2, 0, 0, 0, 0});
     }},
    {Level::robustness, "unknown-xid", "8167-2.4-b", "a reply to a call that was never made",
     [](const Reply& r) {
       Bytes out = with_word(r, 0, ~r.header.xid);
       set_word(out, encode(r.header).size(), ~r.header.xid);
       return out;
     }},
    {Level::robustness, "long-garbage", kDiscard, "900 bytes of garbage", [](const Reply&) { return pattern(900, 8); }},
};

}  // namespace

void add_headers(const MakeFamily& make) {
  ClientFamily family = make("headers");
  for (const HeaderRow& row : kHeaderRows)
    family.add(row.level, row.name, row.rules, std::string(row.sends) + ", then the right reply", kSucceeds,
               [&row](Trial& t) {
                 t.on_reply(from(2), [&row](Reply& reply, const Call&, Link&) { reply.before = {row.message(reply)}; });
                 t.succeeds();
               });
  family.robust("all-of-them", kDiscard, "all messages of this family, each before another reply", kSucceeds,
                [](Trial& t) {
                  t.on_reply(
                      from(2),
                      [next = std::size_t{0}](Reply& reply, const Call&, Link&) mutable {
                        if (next < std::size(kHeaderRows)) reply.before = {kHeaderRows[next++].message(reply)};
                      },
                      std::size(kHeaderRows));
                  t.succeeds();
                });
  family.robust("duplicate-reply", "", "a reply twice", kSucceeds, [](Trial& t) {
    t.on_reply(from(2), [](Reply& reply, const Call&, Link&) { reply.after = {reply.bytes()}; });
    t.succeeds();
  });
  family.robust("late-duplicate", "", "an earlier reply again, before the reply to another call", kSucceeds,
                [](Trial& t) {
                  t.on_reply(
                      from(1),
                      [earlier = Bytes()](Reply& reply, const Call&, Link&) mutable {
                        if (!earlier.empty()) reply.before = {earlier};
                        earlier = reply.bytes();
                      },
                      3);
                  t.succeeds();
                });
  family.robust("payload-xid", "8166-4.2.1-a 8166-4.2.1-b",
                "an RPC reply with another XID than the header, then the right reply", kCopes, [](Trial& t) {
                  t.on_reply(from(2), [](Reply& reply, const Call&, Link&) {
                    Bytes message = reply.message;
                    set_word(message, 0, 1);
                    reply.before = {Out().raw(encode(reply.header)).raw(message).bytes()};
                  });
                  t.stays_intact();
                });
  family.robust("no-payload", "8166-3.2-a", "an RDMA_MSG without a payload, then the right reply", kCopes,
                [](Trial& t) {
                  t.on_reply(from(2), [](Reply& reply, const Call&, Link&) { reply.before = {encode(reply.header)}; });
                  t.stays_intact();
                });
  family.robust(
      "nomsg-without-a-chunk", "8166-4.2.4-a", "an RDMA_NOMSG without chunks, then the right reply", kCopes,
      [](Trial& t) {
        t.on_reply(from(2), [](Reply& reply, const Call&, Link&) { reply.before = {words(reply, kNomsg, {0, 0, 0})}; });
        t.stays_intact();
      });
  family.robust("longer-than-the-threshold", "8166-3.3.2-a", "a reply of 16,000 bytes in one Send", kCopes,
                [](Trial& t) {
                  t.on_reply(from(2), [](Reply& reply, const Call&, Link&) { reply.message.resize(16000); });
                  t.stays_intact();
                });
}

}  // namespace rpcrdma::conform::client
