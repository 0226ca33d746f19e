// SPDX-License-Identifier: BSD-3-Clause
// RPC replies (RFC 5531) that refuse the call, or are malformed; and a call with the XID of the expected reply.
#include "families/families.hpp"

namespace rpcrdma::conform::client {
namespace {

struct RpcRow {
  const char* name;
  const char* sends;
  void (*change)(Bytes& message, std::uint32_t xid);
};

Bytes rpc_reply(std::uint32_t xid, std::initializer_list<std::uint32_t> words) {
  return Out().words({xid, 1}).words(words).bytes();
}

constexpr std::uint32_t kHuge = 0xffffffff;

const RpcRow kRpcRows[] = {
    {"rpc-mismatch", "MSG_DENIED, RPC_MISMATCH 3..4",
     [](Bytes& m, std::uint32_t x) {
       m = rpc_reply(x, {1, 0, 3, 4});
     }},
    {"auth-badcred", "MSG_DENIED, AUTH_BADCRED",
     [](Bytes& m, std::uint32_t x) {
       m = rpc_reply(x, {1, 1, 1});
     }},
    {"auth-tooweak", "MSG_DENIED, AUTH_TOOWEAK",
     [](Bytes& m, std::uint32_t x) {
       m = rpc_reply(x, {1, 1, 5});
     }},
    {"auth-99", "MSG_DENIED, an unknown auth_stat",
     [](Bytes& m, std::uint32_t x) {
       m = rpc_reply(x, {1, 1, 99});
     }},
    {"reject-99", "MSG_DENIED, an unknown reject_stat",
     [](Bytes& m, std::uint32_t x) {
       m = rpc_reply(x, {1, 99});
     }},
    {"prog-unavail", "PROG_UNAVAIL",
     [](Bytes& m, std::uint32_t x) {
       m = rpc_reply(x, {0, 0, 0, 1});
     }},
    {"prog-mismatch", "PROG_MISMATCH 4..4",
     [](Bytes& m, std::uint32_t x) {
       m = rpc_reply(x, {0, 0, 0, 2, 4, 4});
     }},
    {"proc-unavail", "PROC_UNAVAIL",
     [](Bytes& m, std::uint32_t x) {
       m = rpc_reply(x, {0, 0, 0, 3});
     }},
    {"garbage-args", "GARBAGE_ARGS",
     [](Bytes& m, std::uint32_t x) {
       m = rpc_reply(x, {0, 0, 0, 4});
     }},
    {"system-err", "SYSTEM_ERR",
     [](Bytes& m, std::uint32_t x) {
       m = rpc_reply(x, {0, 0, 0, 5});
     }},
    {"accept-99", "an unknown accept_stat",
     [](Bytes& m, std::uint32_t x) {
       m = rpc_reply(x, {0, 0, 0, 99});
     }},
    {"reply-99", "an unknown reply_stat",
     [](Bytes& m, std::uint32_t x) {
       m = rpc_reply(x, {99, 0, 0, 0});
     }},
    {"truncated", "a reply that ends after reply_stat", [](Bytes& m, std::uint32_t x) { m = rpc_reply(x, {0}); }},
    {"huge-verifier", "a verifier of 4,294,967,295 bytes",
     [](Bytes& m, std::uint32_t x) {
       m = rpc_reply(x, {0, 0, kHuge, 0, 0, 0});
     }},
    {"verifier-404", "a verifier of 404 bytes, 4 more than allowed",
     [](Bytes& m, std::uint32_t x) {
       m = Out().raw(rpc_reply(x, {0, 6, 404})).zeros(404).u32(0).bytes();
     }},
    {"no-results", "SUCCESS without results",
     [](Bytes& m, std::uint32_t x) {
       m = rpc_reply(x, {0, 0, 0, 0});
     }},
    {"garbage-results", "SUCCESS with garbage for results",
     [](Bytes& m, std::uint32_t x) {
       m = Out().raw(rpc_reply(x, {0, 0, 0, 0})).raw(pattern(200, 7)).bytes();
     }},
    {"results-of-ones", "SUCCESS with results that are all ones",
     [](Bytes& m, std::uint32_t x) {
       m = Out().raw(rpc_reply(x, {0, 0, 0, 0})).raw(Bytes(200, std::byte{0xff})).bytes();
     }},
    {"more-bytes", "the right results with 40 more bytes after them",
     [](Bytes& m, std::uint32_t) { m = Out().raw(m).zeros(40).bytes(); }},
    {"fewer-bytes", "the right results without the last 4 bytes",
     [](Bytes& m, std::uint32_t) { m.erase(m.end() - std::min<std::ptrdiff_t>(std::ssize(m), 4), m.end()); }},
};

}  // namespace

void add_rpc(const MakeFamily& make) {
  ClientFamily family = make("rpc");
  for (const RpcRow& row : kRpcRows)
    for (const std::size_t number : {2, 4})
      family.robust(std::string(row.name) + "-" + std::to_string(number), "", std::string("in one reply: ") + row.sends,
                    kCopes, [&row, number](Trial& t) {
                      t.on_reply(from(number), [&row](Reply& reply, const Call&, Link&) {
                        reply.unchanged = !reply.is_msg();
                        if (reply.is_msg()) row.change(reply.message, reply.header.xid);
                      });
                      t.stays_intact();
                    });
  family.robust("call-instead", "", "a call with the XID of the command's call instead of one reply, then the reply",
                kCopes, [](Trial& t) {
                  t.on_reply(from(2), [](Reply& reply, const Call& call, Link& link) {
                    link.note_reverse(call.header.xid);
                    RdmaHeader header{.xid = call.header.xid};
                    reply.before = {Out().raw(encode(header)).raw(call.payload).bytes()};
                  });
                  t.stays_intact();
                });
  family.robust("unavailable-always", "", "PROG_UNAVAIL to all calls", kFails, [](Trial& t) {
    t.on_reply(
        from(1),
        [](Reply& r, const Call&, Link&) {
          if (r.is_msg()) r.message = rpc_reply(r.header.xid, {0, 0, 0, 1});
        },
        kAlways);
    t.fails();
  });
  family.robust("denied-always", "", "AUTH_TOOWEAK to all calls", kFails, [](Trial& t) {
    t.on_reply(
        from(1),
        [](Reply& r, const Call&, Link&) {
          if (r.is_msg()) r.message = rpc_reply(r.header.xid, {1, 1, 5});
        },
        kAlways);
    t.fails();
  });
}

}  // namespace rpcrdma::conform::client
