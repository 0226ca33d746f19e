// SPDX-License-Identifier: BSD-3-Clause
// Calls of the server towards the client (RFC 8167), correct and malformed. A client that serves no calls may discard
// them.
#include "families/families.hpp"

namespace rpcrdma::conform::client {
namespace {

constexpr std::uint32_t kCallback = 0x40000000, kReverseXid = 0x7e7e0001;

/// A NULL call of the NFSv4 callback program.
Bytes call_message(std::uint32_t xid, const ChunkLists& lists = {}, std::uint32_t credits = 8) {
  RdmaHeader header{.xid = xid, .credits = credits};
  header.lists = lists;
  return Out().raw(encode(header)).raw(encode(RpcCall{.xid = xid, .program = kCallback, .version = 1})).bytes();
}

void add_harmless(ClientFamily& family, Level level, const char* name, const char* rules, const char* sends,
                  std::function<Bytes(const Reply&)> message) {
  family.add(level, name, rules, std::string(sends) + ", then the reply to the command's call",
             "the command's own calls are answered: it succeeds", [message = std::move(message)](Trial& t) {
               t.on_reply(from(2), [&message](Reply& reply, const Call&, Link& link) {
                 link.note_reverse(kReverseXid);
                 link.note_reverse(reply.header.xid);
                 reply.before = {message(reply)};
               });
               t.succeeds();
             });
}

}  // namespace

void add_reverse(const MakeFamily& make) {
  ClientFamily family = make("reverse");
  add_harmless(family, Level::robustness, "null", "8167-6-a", "a NULL call",
               [](const Reply&) { return call_message(kReverseXid); });
  add_harmless(family, Level::must, "same-xid", "8167-2.4.1-a", "a NULL call with the XID of the command's call",
               [](const Reply& reply) { return call_message(reply.header.xid); });
  add_harmless(family, Level::must, "credits-do-not-count", "8167-4.1-a", "a NULL call that requests no credits",
               [](const Reply&) { return call_message(kReverseXid, {}, 0); });
  add_harmless(family, Level::robustness, "with-a-read-chunk", "8167-5.3-b", "a call with a Read chunk",
               [](const Reply&) {
                 return call_message(kReverseXid, {.reads = {{40, {9, 100, 0}}}});
               });
  add_harmless(family, Level::robustness, "with-a-write-chunk", "8167-5.3-b", "a call with a Write chunk",
               [](const Reply&) {
                 return call_message(kReverseXid, {.writes = {{{9, 100, 0}}}});
               });
  add_harmless(family, Level::robustness, "long-call", "8167-5.3-b", "a call in a Position-Zero Read chunk",
               [](const Reply&) {
                 RdmaHeader header{.xid = kReverseXid, .procedure = kNomsg};
                 header.lists.reads = {{0, {9, 100, 0}}};
                 return encode(header);
               });
  add_harmless(family, Level::robustness, "truncated", "", "a call that ends after msg_type", [](const Reply&) {
    Bytes out = call_message(kReverseXid);
    out.resize(kFixedHeader + 8);
    return out;
  });
  add_harmless(family, Level::robustness, "garbage", "", "a call whose credential is 4,294,967,295 bytes long",
               [](const Reply&) {
                 return Out()
                     .raw(encode(RdmaHeader{.xid = kReverseXid}))
                     .words({kReverseXid, 0, 2, 3, 4, 5, 0, 0xffffffff})
                     .bytes();
               });
  add_harmless(family, Level::robustness, "msg-type-2", "", "a message that is neither a call nor a reply",
               [](const Reply&) {
                 return Out().raw(encode(RdmaHeader{.xid = kReverseXid})).words({kReverseXid, 2, 0, 0, 0, 0}).bytes();
               });
  family.robust("many", "8167-4.1-a", "a NULL call before each of 50 replies", "the command succeeds", [](Trial& t) {
    t.on_reply(
        from(2),
        [next = kReverseXid](Reply& reply, const Call&, Link& link) mutable {
          link.note_reverse(next);
          reply.before = {call_message(next++)};
        },
        50);
    t.succeeds();
  });
}

}  // namespace rpcrdma::conform::client
