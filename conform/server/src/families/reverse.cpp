// SPDX-License-Identifier: BSD-3-Clause
// The reverse direction (RFC 8167): replies to calls that the server has not made, and a message that is neither a call
// nor a reply.
#include <fmt/format.h>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

Bytes reply_message(std::uint32_t xid, std::uint32_t credits, const ChunkLists& lists = {}) {
  RdmaHeader header{.xid = xid, .credits = credits};
  header.lists = lists;
  Out out;
  out.raw(encode(header)).words({xid, 1, 0, 0, 0, 0});
  return out.bytes();
}

}  // namespace

void add_reverse(const MakeFamily& make) {
  ServerFamily family = make("reverse");
  const char* const required = "no message arrives, or ERR_CHUNK; the connection stays open";
  const auto harmless = [&](const char* name, const char* sends, std::function<Bytes(Session&)> message) {
    family.robust(name, "8167-2.4-b", sends, required, [message = std::move(message)](Session& s) {
      s.connection();
      s.send(message(s));
      const Outgoing next = s.null();
      s.send(next);
      Message answer = s.answer();
      if (answer.header.procedure == kError && answer.header.xid != next.xid()) answer = s.answer();
      Record::expect(answer.header.xid == next.xid(), "not the answer to the next call");
    });
  };
  harmless("reply-without-a-call", "an RPC reply with an XID that was never used",
           [](Session& s) { return reply_message(s.new_xid(), 32); });
  harmless("reply-with-the-xid-of-a-call", "an RPC reply with the XID of an earlier call of the client",
           [](Session& s) {
             const Outgoing call = s.null();
             s.call(call);
             return reply_message(call.xid(), 32);
           });
  harmless("reply-with-a-write-chunk", "an RPC reply with a Write chunk", [](Session& s) {
    ChunkLists lists;
    lists.writes = {{s.writable(100).segment()}};
    return reply_message(s.new_xid(), 32, lists);
  });
  harmless("reply-with-a-reply-chunk", "an RPC reply with a Reply chunk", [](Session& s) {
    ChunkLists lists;
    lists.reply = Chunk{s.writable(100).segment()};
    return reply_message(s.new_xid(), 32, lists);
  });
  harmless("reply-with-a-read-chunk", "an RPC reply with a Read list, which no reply may have", [](Session& s) {
    ChunkLists lists;
    lists.reads = {{24, s.readable(Bytes(4)).segment()}};
    return reply_message(s.new_xid(), 32, lists);
  });
  harmless("truncated-reply", "an RPC reply that ends after msg_type", [](Session& s) {
    const Bytes whole = reply_message(s.new_xid(), 32);
    return Bytes(whole.begin(), whole.begin() + kFixedHeader + 8);
  });
  family.must("credits-of-a-reply-do-not-count", "8167-4.1-a",
              "an RPC reply that grants no credits, then as many calls at once as the server grants",
              "all calls are answered: the directions have separate credits", [](Session& s) {
                s.connection();
                s.send(reply_message(s.new_xid(), 0));
                s.expect_silence();
                const std::uint32_t calls = std::min(s.connection().granted(), 16u);
                for (std::uint32_t i = 0; i < calls; ++i) s.send(s.null());
                for (std::uint32_t i = 0; i < calls; ++i) s.answer();
              });
  family.should("call-with-the-xid-of-a-reply", "8167-2.4.1-a", "an RPC reply, then a NULL call with the same XID",
                "the call is executed", [](Session& s) {
                  const Outgoing call = s.null();
                  s.connection();
                  s.send(reply_message(call.xid(), 32));
                  s.send(call);
                  s.results_of(call.xid());
                });
  family.robust("msg-type-2", "8166-4.5-b", "an RPC message that is neither a call nor a reply",
                "an error or nothing; the connection ends or stays; the server stays healthy", [](Session& s) {
                  Outgoing call = s.null();
                  call.rpc.type = 2;
                  s.send(call);
                  s.connection().receive(std::chrono::milliseconds(500));
                });
  family.robust("hundred-replies", "8167-2.4-b", "100 RPC replies without a call, with a NULL call after each",
                "the NULL calls are answered", [](Session& s) {
                  s.connection();
                  for (int i = 0; i < 100; ++i) {
                    s.send(reply_message(s.new_xid(), 32));
                    const Outgoing next = s.null();
                    s.send(next);
                    Message answer = s.answer();
                    if (answer.header.procedure == kError) answer = s.answer();
                    Record::expect(answer.header.xid == next.xid(), "not the answer to the next call");
                  }
                });
}

}  // namespace rpcrdma::conform
