// SPDX-License-Identifier: BSD-3-Clause
// RDMA_ERROR (RFC 8166 section 4.5), correct and malformed.
#include "families/families.hpp"

namespace rpcrdma::conform::client {
namespace {

/// Answers a call with an RDMA_ERROR. `rest` holds the words of the header that follow the field rdma_proc. The first
/// word of `rest` is the error code (rdma_err).
void refuse(Link& link, const Call& call, const std::vector<std::uint32_t>& rest) {
  Reply reply = refusal(call, link.setup().credits);
  Out out;
  out.words({call.header.xid, 1, link.setup().credits, kError});
  for (const std::uint32_t word : rest) out.u32(word);
  reply.raw = std::move(out).bytes();
  link.send(reply);
}

/// Makes the server answer the second call of the run with refuse(). The case fails if the client sends this call again
/// with the same XID.
void answer_with(Trial& t, std::vector<std::uint32_t> rest) {
  const auto refused = std::make_shared<std::optional<std::uint32_t>>();
  t.observe([refused, &t](Link&, const Call& call) {
    if (*refused == call.header.xid) t.broken("the call is sent again, with the same XID");
  });
  t.on_call(from(2), [rest, refused](Link& link, const Call& call) {
    *refused = call.header.xid;
    refuse(link, call, rest);
  });
  t.stays_intact();
}

}  // namespace

void add_errors(const MakeFamily& make) {
  ClientFamily family = make("errors");
  const char* const ends_the_call = "the call ends with an error, and is not sent again under its XID";
  family.must("err-chunk", "8166-4.5-f", "ERR_CHUNK to one call", ends_the_call,
              [](Trial& t) { answer_with(t, {kErrChunk}); });
  family.must("err-vers", "8166-4.5-f", "ERR_VERS 1..1 to one call", ends_the_call, [](Trial& t) {
    answer_with(t, {kErrVers, 1, 1});
  });
  family.robust("err-vers-2", "8166-4.5-f", "ERR_VERS 2..2 to one call", ends_the_call, [](Trial& t) {
    answer_with(t, {kErrVers, 2, 2});
  });
  family.robust("err-vers-reversed", "8166-4.5-f", "ERR_VERS 4294967295..0 to one call", ends_the_call, [](Trial& t) {
    answer_with(t, {kErrVers, 0xffffffff, 0});
  });
  family.should("err-chunk-always", "8267-3.1-b 8267-6.4.2-c", "ERR_CHUNK to all calls", kFails, [](Trial& t) {
    t.on_call(
        from(1), [](Link& link, const Call& call) { refuse(link, call, {kErrChunk}); }, kAlways);
    t.fails();
  });
  family.robust("err-vers-always", "8166-4.5-f", "ERR_VERS 1..1 to all calls", kFails, [](Trial& t) {
    t.on_call(
        from(1),
        [](Link& link, const Call& call) {
          refuse(link, call, {kErrVers, 1, 1});
        },
        kAlways);
    t.fails();
  });
  family.robust("err-chunk-to-data", "8166-4.5-f", "ERR_CHUNK to all calls with a Read or Write chunk", kFails,
                [](Trial& t) {
                  t.on_call([](const Call& call) { return call.has_reads() || call.has_writes(); },
                            [](Link& link, const Call& call) { refuse(link, call, {kErrChunk}); }, kAlways);
                  t.fails();
                });
  const auto discarded = [&](Level level, const char* name, const char* rules, const char* sends,
                             std::uint32_t xid_change, std::vector<std::uint32_t> rest) {
    family.add(level, name, rules, std::string(sends) + ", then the right reply", kSucceeds,
               [xid_change, rest = std::move(rest)](Trial& t) {
                 t.on_reply(from(2), [&](Reply& reply, const Call&, Link&) {
                   Out out;
                   out.words({reply.header.xid ^ xid_change, 1, 32, kError});
                   for (const std::uint32_t word : rest) out.u32(word);
                   reply.before = {out.bytes()};
                 });
                 t.succeeds();
               });
  };
  discarded(Level::must, "unknown-error", "8166-4.5-g", "an RDMA_ERROR with rdma_err 99", 0, {99, 0, 0});
  discarded(Level::must, "error-0", "8166-4.5-g", "an RDMA_ERROR with rdma_err 0", 0, {0, 0, 0});
  discarded(Level::must, "truncated-err-vers", "8166-4.5-g", "an ERR_VERS without the highest version", 0,
            {kErrVers, 1});
  discarded(Level::must, "no-error-code", "8166-4.5-g", "an RDMA_ERROR without rdma_err", 0, {});
  discarded(Level::robustness, "unknown-xid", "", "ERR_CHUNK with an XID that is not in use", 0xffffffff,
            {kErrChunk, 0, 0});
}

}  // namespace rpcrdma::conform::client
